"""What HTTP needs throughout, and the pages for people."""
