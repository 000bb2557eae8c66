"""Keys of objects: what a source tells two of them apart by."""

import pytest
from fakes.worlds import a_class, a_kubevirt, a_node, a_pod, a_tenant, a_vmi

from storage.model.snapshot import Object, Source, key_of


@pytest.mark.parametrize(
    ("obj", "key"),
    [
        (a_class("l40s"), (Source.CLASSES, "l40s")),
        (a_kubevirt(), (Source.KUBEVIRT, "kubevirt/kubevirt")),
        (a_tenant("tenant-a", key="release"), (Source.TENANTS, "release")),
        (a_vmi("tenant-a", name="vm"), (Source.VMIS, "tenant-a/vm")),
        (a_pod("tenant-a", name="pod"), (Source.PODS, "tenant-a/pod")),
        (a_node("zq-node"), (Source.NODES, "zq-node")),
    ],
)
def test_an_object_is_found_again_by_its_source_and_key(
    obj: Object, key: tuple[Source, str]
) -> None:
    """Whoever drops an object names it as whoever put it."""
    assert key_of(obj) == key
