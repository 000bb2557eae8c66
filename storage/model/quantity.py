"""Kubernetes quantities as exact numbers: upstream's grammar, without its floats.

Owns reading alone; nothing here is ever written as a quantity. The grammar is that of
apimachinery's `resource.Quantity`: a signed decimal number, then one suffix: binary SI, decimal SI
or a decimal exponent.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

#: Largest magnitude that upstream can express; what is beyond counts as this.
MAX_QUANTITY: Final = (1 << 63) - 1

#: Longest text that is looked at: more digits than that say nothing and cost time.
MAX_LENGTH: Final = 64

_GRAMMAR: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
    r"(?:[eE](?P<exponent>[+-]?[0-9]{1,3})|(?P<suffix>[numkMGTPE]|[KMGTPE]i)?)"
)

_SCALES: Final[Mapping[str, Fraction]] = {
    **{suffix: Fraction(10) ** (3 * power) for power, suffix in enumerate("num", start=-3)},
    **{suffix: Fraction(10) ** (3 * power) for power, suffix in enumerate("kMGTPE", start=1)},
    **{f"{prefix}i": Fraction(1 << 10 * power) for power, prefix in enumerate("KMGTPE", start=1)},
}


class InvalidQuantityError(ValueError):
    """The text is no quantity. It carries nothing of the text, which may be anybody's."""


def parse_quantity(text: str) -> Fraction:
    """Return the exact value, cut off at `MAX_QUANTITY` in magnitude as upstream does.

    No white space, no digits but ASCII's, exponents of at most three digits: a larger one could
    only be cut off or vanish, but would first be built. Raises InvalidQuantityError.
    """
    parts = _GRAMMAR.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if parts is None:
        raise InvalidQuantityError
    value = Fraction(parts["number"].removesuffix("."))
    if parts["exponent"] is not None:
        value *= Fraction(10) ** int(parts["exponent"])
    elif parts["suffix"] is not None:
        value *= _SCALES[parts["suffix"]]
    return max(min(value, Fraction(MAX_QUANTITY)), Fraction(-MAX_QUANTITY))
