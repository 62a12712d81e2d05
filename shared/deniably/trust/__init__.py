"""Proves whose survey it is and who may answer it: signatures, the public register and tickets,
which are signed blindly."""
