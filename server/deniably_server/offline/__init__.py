"""Writes the server's pages of results into a folder, from a tally file and without a server."""
