"""Chooses mechanisms and plans surveys: the best mechanism, people, margins and epsilon."""
