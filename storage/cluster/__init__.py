"""What the cluster holds: wire shapes decoded to the model, and one cache of them (design 2, 3)."""
