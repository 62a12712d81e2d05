"""What the reports say: figures, sentences, tests, pictures."""
