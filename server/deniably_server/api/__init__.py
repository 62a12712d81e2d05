"""The HTTP interface: what devices, authors and operators ask for."""
