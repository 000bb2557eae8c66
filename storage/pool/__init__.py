"""The calculation of domain section 3. Pure; the standard library and storage.model only."""
