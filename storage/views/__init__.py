"""What is told: the published state of the calculation as the resources that clients read."""
