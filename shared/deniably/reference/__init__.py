"""A slow, obvious device written from shared/SPEC.md alone; imports nothing of Deniably.

Because it shares no line with the code that devices run, an agreement with it says something:
``tests/spec`` makes the vectors from it, and the audit compares devices with it.
"""
