"""From a tally to estimates with honest margins; sees counts and no answer."""
