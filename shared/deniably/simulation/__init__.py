"""Many devices at once, for planning and tests: nobody's answers are protected here."""
