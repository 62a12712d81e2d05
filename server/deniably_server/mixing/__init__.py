"""The mixer: takes sealed envelopes from devices, and makes one batch of them when their survey is
closed. It knows no survey's server, and cannot read a report."""
