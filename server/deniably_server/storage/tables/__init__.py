"""What the rows of a table mean: statements in the words of both databases, each within a
transaction that its caller has begun."""
