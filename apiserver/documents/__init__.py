"""Discovery and OpenAPI: built once at start, the same bytes on every replica."""
