"""The mixer: takes sealed envelopes from devices, makes one batch of them when their survey is
closed, and passes it on to the survey's server. It cannot read a report.

What one network stores is bounded, by codes or by bytes a day, and a batch is in memory once.
"""
