"""Reads and writes the files of a closed survey: its reports, its design, its codebook, and
scripts."""
