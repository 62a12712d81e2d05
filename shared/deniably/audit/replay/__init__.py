"""Replays a device: its real code answers, the random bytes that it takes are recorded, and a
reference computes what must come of the same answers and bytes. Each difference is a proof, with a
witness."""
