"""A slow, obvious device written from shared/SPEC.md alone, which imports nothing else of Deniably.

Because it shares no line with the code that devices run, an agreement between the two is evidence
for both: ``tests/spec`` writes the test vectors with it, and the audit compares devices with it.
"""
