"""The mixer: takes sealed envelopes from devices, and makes one batch of them when their survey is
closed. It cannot read a report."""
