"""What is true and what is told: domain types, calculation, the cluster's objects, views."""
