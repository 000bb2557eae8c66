"""Which resource names are GPUs, which are offered, and which class one stands for (domain 5.4).

Options ask what is offered; the names of GPUs are for admission, which is built on this room.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from storage.model.objects import GPUClass, KubeVirt, PCIRow
from storage.model.snapshot import Policy

#: PCI vendors whose permitted devices are taken for GPUs: NVIDIA and AMD; others make much else.
_GPU_VENDORS: Final = frozenset({"10DE", "1002"})

_SELECTOR: Final = re.compile(r"(?P<vendor>[0-9A-Fa-f]{4}):[0-9A-Fa-f]{4}")


def governing(kubevirts: Iterable[KubeVirt]) -> KubeVirt | None:
    """Return the KubeVirt object that counts where there are several: the oldest, then by name."""
    return min(kubevirts, key=lambda each: (each.created, each.name, each.namespace), default=None)


def offered(kubevirt: KubeVirt | None) -> frozenset[str]:
    """Return the resource names of the permitted devices: domain's offered(R).

    No object and no table both offer nothing; what KubeVirt itself makes of an absent table is no
    permission (domain 5.3, step 5).
    """
    if kubevirt is None:
        return frozenset()
    pci = (row.resource_name for row in kubevirt.pci if _vendor(row) is not None)
    return frozenset((*pci, *kubevirt.mediated))


def gpu_names(
    classes: Iterable[GPUClass], kubevirt: KubeVirt | None, policy: Policy
) -> frozenset[str]:
    """Return every resource name that is a GPU's: domain's gpuNames.

    The hoster's exclusions never take out a class's. A NIC or an NVSwitch may be permitted as well,
    so a PCI row alone does not make its device a GPU.
    """
    named_by_class = frozenset(gpu_class.resource_name for gpu_class in classes)
    found = {*policy.gpu_resource_names, *_gpu_rows(kubevirt)}
    return named_by_class | (found - policy.not_gpu_resource_names)


def class_of(resource: str, classes: Iterable[GPUClass]) -> GPUClass | None:
    """Return the class that a resource name stands for, if it is exactly one."""
    found = [gpu_class for gpu_class in classes if gpu_class.resource_name == resource]
    return found[0] if len(found) == 1 else None


def _gpu_rows(kubevirt: KubeVirt | None) -> Iterator[str]:
    if kubevirt is not None:
        yield from kubevirt.mediated
        yield from (row.resource_name for row in kubevirt.pci if _vendor(row) in _GPU_VENDORS)


def _vendor(row: PCIRow) -> str | None:
    """Return the vendor of a row's selector in upper case; None: malformed, so the row is void."""
    parts = _SELECTOR.fullmatch(row.vendor_selector)
    return None if parts is None else parts["vendor"].upper()
