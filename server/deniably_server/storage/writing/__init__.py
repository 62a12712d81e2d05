"""Runs the transactions that the server begins by itself: storing waiting reports, and erasing the
order of closed surveys."""
