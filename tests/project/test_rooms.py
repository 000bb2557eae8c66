"""What the rooms of the pure core may import, beyond what import contracts can say."""

import ast
import sys
from pathlib import Path

import pytest
from fakes.demo import ROOT

PURE = sorted(
    file.relative_to(ROOT)
    for room in ("model", "pool")
    for file in (ROOT / "storage" / room).glob("*.py")
)


@pytest.mark.parametrize("file", PURE, ids=str)
def test_the_calculation_imports_the_standard_library_only(file: Path) -> None:
    """Whoever checks it against the specification needs nothing else (design 3)."""
    roots = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add((node.module or "").partition(".")[0])
    assert roots <= sys.stdlib_module_names | {"storage"}
    assert "asyncio" not in roots
