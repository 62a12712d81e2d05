"""Whose survey it is, and who may answer it: signatures, the register, tickets signed blindly."""
