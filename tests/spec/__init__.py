"""A slow, obvious reference of shared/SPEC.md, and the maker of shared/vectors.

Written from the specification alone; it imports nothing of Deniably, so that an agreement with
it says something.
"""
