"""Simulates people, the reports of their devices, and whole runs of a survey, for planning and
tests. Nothing here protects anybody's answers."""
