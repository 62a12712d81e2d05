"""A respondent's device: its memory, its ledger and its trust. Pure: nothing is sent or stored."""
