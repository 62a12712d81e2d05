"""What is asked for over HTTP, by devices, authors, analysts, operators and people with a browser:
each view reads a request, asks the rooms below and answers."""
