"""What can be wrong before anything is asked; apart, since it is caught without the package."""


class ConfigurationError(Exception):
    """Nothing to connect with; the text says what is wrong, for the operator."""
