"""What is kept, and where: one store, whatever database it stands on; everything else of the
server asks ``store``."""
