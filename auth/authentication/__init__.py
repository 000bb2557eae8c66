"""Ways to prove an identity, and the order in which they are tried (contract 6.1)."""
