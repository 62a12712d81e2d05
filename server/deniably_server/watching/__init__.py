"""What operators may see of a server: the access log, metrics and health."""
