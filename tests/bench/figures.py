"""A measured number beside the bar that it is held to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number; `at_most` tells on which side of the bar it must be."""

    name: str
    value: float
    unit: str
    bar: float
    at_most: bool = True

    @property
    def ratio(self) -> float:
        """The value as a multiple of its bar."""
        return self.value / self.bar

    @property
    def ok(self) -> bool:
        """Whether the bar is kept."""
        return self.value <= self.bar if self.at_most else self.value >= self.bar

    def __str__(self) -> str:
        """Return the line that a bench prints."""
        side = "at most" if self.at_most else "at least"
        return (
            f"{'ok  ' if self.ok else 'MISS'} {self.name}: {self.value:.3g} {self.unit}"
            f" ({side} {self.bar:g}, {self.ratio:.2f} of the bar)"
        )
