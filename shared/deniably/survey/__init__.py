"""The published definition of a survey, and the report that answers it."""
