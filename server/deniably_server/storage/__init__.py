"""Stores what the server keeps: ``store`` is the one interface; everything else of the server uses
it for data."""
