"""What a survey's reports say: one document of figures, sentences and what fake reports could do.

Knows no store and no page, so a notebook and a server show the same.
"""
