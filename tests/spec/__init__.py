"""The maker of shared/vectors, from the independent reference in shared/deniably/reference.

What no device needs, the register and report sets, has its reference here.
"""
