"""What is asked of the reference: its answers are the vectors."""
