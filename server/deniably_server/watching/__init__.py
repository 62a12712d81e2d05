"""What an operator may know: a log, counts, health."""
