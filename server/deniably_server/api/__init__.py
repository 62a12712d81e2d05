"""The views: HTTP for devices, authors, analysts and operators, and pages for browsers. A view
reads a request, calls the rooms below and answers."""
