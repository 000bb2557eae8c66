"""Who is asking, and may they: identities and decisions, without HTTP and without a client."""
