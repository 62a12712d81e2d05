"""Bytes, exact numbers and the one source of randomness; knows no survey."""
