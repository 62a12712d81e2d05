"""The command line for people who write surveys or run a server."""
