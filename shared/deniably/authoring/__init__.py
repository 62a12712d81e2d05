"""What an author writes becomes a published survey: checked, planned, with exact weights."""
