"""The server's pages of results without a server: rendered from a tally file into a folder."""
