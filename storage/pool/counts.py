"""Counts by name, as ledgers keep them: what has come down to nothing is not kept."""


def add(counts: dict[str, int], name: str, count: int) -> None:
    """Add to the count of a name; negative takes away. A name without a count has 0."""
    total = counts.get(name, 0) + count
    if total:
        counts[name] = total
    else:
        counts.pop(name, None)
