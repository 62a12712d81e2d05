"""What crafted reports can do, and whether they show."""
