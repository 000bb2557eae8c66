"""Ways to decide what a user may do, and the order in which they are asked (contract 7.1)."""
