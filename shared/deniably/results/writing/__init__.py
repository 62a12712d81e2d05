"""Writes what a paper needs to say about a survey: sentences, methods, citations, and items that
have to be disclosed.

``publication`` puts the parts together. Pages, exported folders and the library take them from
there, so that all say the same.
"""
