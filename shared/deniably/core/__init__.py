"""Bytes and exact numbers, and the one door of randomness; knows no survey."""
