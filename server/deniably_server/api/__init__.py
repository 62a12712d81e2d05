"""What is asked for over HTTP: by devices, authors, operators, and people with a browser."""
