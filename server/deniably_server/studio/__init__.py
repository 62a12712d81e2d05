"""Serves the studio: pages where authors write, check, sign and publish surveys in the browser."""
