"""Whatever a reader may be shown of closed reports, before any page, file or notebook.

Each module with the name of a kind makes the exhibit of a document; pages, CSV, figures for papers
and notebooks take it from there.
"""
