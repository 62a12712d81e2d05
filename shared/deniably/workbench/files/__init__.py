"""The files that a closed survey is handed over in: its reports, its design, and scripts."""
