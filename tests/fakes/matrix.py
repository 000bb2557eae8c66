"""The expected answers of the sample cluster, as kubectl prints them."""

from typing import Any, Final

import yaml
from fakes.demo import SAMPLES

_EXPECTED, _MATRIX = yaml.safe_load_all((SAMPLES / "90-expected-options.yaml").read_text())

#: Namespace, class, free, fit, remaining, entitlement, requestable, startable, reason.
ROWS: Final[list[list[Any]]] = _MATRIX["matrix"][1:]

#: Items of the list that tenant-acme gets, without what is opaque.
ITEMS: Final[list[dict[str, Any]]] = [
    item | {"metadata": {k: v for k, v in item["metadata"].items() if k != "resourceVersion"}}
    for item in _EXPECTED["items"]
]

_OFFERS: Final = {"h200": ("passthrough", 8), "l40s": ("passthrough", 4), "l40s-24q": ("vgpu", 1)}


def printed_rows() -> list[list[str]]:
    """Return the cells of `kubectl get gpuclassoptions -A`, sorted."""
    return sorted(
        [namespace, name, mode, *map(str, (free, most, left, asked, start)), reason]
        for namespace, name, free, _, left, _, asked, start, reason in ROWS
        for mode, most in [_OFFERS[name]]
    )
