"""Between the sockets and the application: slow clients hold connections, but no threads."""
