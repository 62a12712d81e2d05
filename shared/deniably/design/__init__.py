"""Which mechanism, and how much epsilon: the best for what an author asks."""
