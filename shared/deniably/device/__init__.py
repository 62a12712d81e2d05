"""What a respondent's device remembers, spends and trusts. Pure: nothing is sent or stored."""
