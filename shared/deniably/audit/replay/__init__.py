"""Replays a device: its real code answers with tapped random bytes, and a reference says what must
come of the same answers and bytes. Each difference is a proof, with a witness."""
