"""From a closed survey to a published table, figure and model.

Knows neither storage nor web pages: it works on a survey and on the reports it collected.
"""
