"""The maker of shared/vectors, from the independent reference in shared/deniably/reference.

What no device needs (the register, report sets, what blanks hide) has its reference here.
"""
