"""Shows operators what they may see of a server: the access log, metrics and health."""
