"""What an operator does to a whole database, by hand: examine, repair, search for traces, move."""
