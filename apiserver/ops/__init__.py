"""Running the server: health, metrics, logs, and the listening socket with its end."""
