"""Models of randomised answers: regression, weights, power, and what they stand on."""
