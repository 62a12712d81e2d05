"""The command line of whoever writes or runs a survey."""
