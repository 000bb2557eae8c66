"""What rooms may import and hold, beyond what import contracts can say."""

import ast
import sys
from pathlib import Path

import pytest
import yaml
from fakes.demo import ROOT

from storage.model.names import OPTIONS_GROUP

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


def test_oa_02_no_crd_has_the_group_of_the_computed_resources() -> None:
    """OA-02: the same path served twice makes /openapi/v2 fail for everyone (design 2, D7)."""
    manifests = sorted((ROOT / "manifests").rglob("*.yaml"))
    assert manifests
    for file in manifests:
        for document in yaml.safe_load_all(file.read_text()):
            if isinstance(document, dict) and document["kind"] == "CustomResourceDefinition":
                assert document["spec"]["group"] != OPTIONS_GROUP, file
