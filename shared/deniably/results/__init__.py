"""The results of a survey: one document of figures, sentences and the harm fake reports could do.

Knows neither storage nor web pages, so a notebook and a server show the same results.
"""
