"""What a name alone tells: of classes, of tenants and of the tree."""

import pytest

from storage.model.names import (
    is_class_name,
    is_tenant_namespace,
    parent_by_name,
)


@pytest.mark.parametrize("name", ["a", "l40s", "l40s-24q", "a--b", "a" * 40])
def test_a_class_name_is_a_dns_label_of_at_most_forty_characters(name: str) -> None:
    """D11 and the rule of domain 2.2."""
    assert is_class_name(name)


@pytest.mark.parametrize(
    "name", ["", "A", "1a", "-a", "a-", "a.b", "a_b", "a\n", "é", "a" * 41, "a٣"]
)
def test_what_could_not_be_an_alias_is_no_class_name(name: str) -> None:
    """D11: without dots, ASCII alone, a letter first."""
    assert not is_class_name(name)


@pytest.mark.parametrize("name", ["tenant-root", "tenant-a", "tenant-1", "tenant-a-b-c"])
def test_a_tenant_namespace_is_known_by_its_name(name: str) -> None:
    """Domain 2.4: recorded or not."""
    assert is_tenant_namespace(name)


@pytest.mark.parametrize(
    "name",
    ["", "tenant", "tenant-", "tenant-A", "tenant-a-", "tenant-a--b", "default", "xtenant-a"],
)
def test_anything_else_is_no_tenant(name: str) -> None:
    """Domain 2.4: no pool, no budget."""
    assert not is_tenant_namespace(name)


@pytest.mark.parametrize(
    ("namespace", "parent"),
    [
        ("tenant-root", None),
        ("tenant-a", "tenant-root"),
        ("tenant-a-b", "tenant-a"),
        ("tenant-a-b-c", "tenant-a-b"),
    ],
)
def test_cutting_the_last_word_gives_the_parent(namespace: str, parent: str | None) -> None:
    """Domain 2.4: a dash in a namespace separates levels."""
    assert parent_by_name(namespace) == parent
