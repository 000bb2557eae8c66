"""What follows from an object that was not understood, as a constant sentence (design 2).

It never makes a figure too good. Whoever reads the log learns what to look at first.
"""

from storage.cluster.decoded import DeclaredTenant, TenantQuota, TenantRelease, Value
from storage.model.objects import VMI, KubeVirt, Node, Pod


def consequence(value: Value | None) -> str:
    """Return the sentence for an object by what is believed of it."""
    match value:
        case DeclaredTenant() | TenantRelease():
            return "object not understood, its tenant is treated as ambiguous"
        case TenantQuota():
            return "object not understood, the budgets of its namespace are unknown"
        case KubeVirt():
            return "object not understood, rows of its table of devices are left out"
        case VMI(readable=True):
            return "object not understood, the VMI is charged by its devices and their names"
        case VMI():
            return "object not understood, the budgets of its namespace are unknown"
        case Pod(astray=True):
            return (
                "object not understood, the budgets of its namespace and all free units are unknown"
            )
        case Pod():
            return (
                "object not understood, the budgets of its namespace are unknown "
                "and its node has nothing free"
            )
        case Node():
            return "object not understood, devices of the node are left out"
        case _:
            # A class and a Secret are left out whole.
            return "object not understood, it is left out"
