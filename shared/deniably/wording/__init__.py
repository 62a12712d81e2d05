"""Writes what people read, in their language."""
