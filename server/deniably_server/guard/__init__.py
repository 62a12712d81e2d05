"""Who is let in, and how much of whom."""
