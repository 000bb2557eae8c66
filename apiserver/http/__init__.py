"""The request flow: from a connection's bytes to an answer's, in the order of the contract."""
