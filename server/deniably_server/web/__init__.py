"""What HTTP needs throughout."""
