"""What a paper says of a survey: sentences, methods, citations and what has to be disclosed.

``publication`` puts the parts together. Pages, exported folders and the library read it from there,
so that all of them say the same.
"""
