"""The definitions of domain 2.4, 3 and 4.3, written down a second time as plainly as can be.

Nothing is kept and nothing is fast: every question walks the whole snapshot. It shares the domain
types with what it is compared to, and no rule.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from storage.model.names import is_tenant_namespace, parent_by_name
from storage.model.objects import GPUClass, KubeVirt, Mode, Node, TenantRecord
from storage.model.snapshot import ClusterSnapshot, Policy, Source


@dataclass(frozen=True)
class NaiveOption:
    """An option in the words of domain 4; everything as text and numbers."""

    budget: str
    remaining: int | None
    entitlement: str
    license: str
    free: int | None
    largest: int | None
    reasons: tuple[str, ...]
    requestable_count: int | None
    startable: str
    startable_count: int | None


class Naive:
    """The answers for one snapshot."""

    def __init__(self, world: ClusterSnapshot, policy: Policy) -> None:
        self.world = world
        self.policy = policy

    # 2.4: the tree

    def records(self, n: str) -> list[TenantRecord]:
        return [record for record in self.world.tenants if record.namespace == n]

    def stated_parents(self, n: str) -> set[str]:
        if n == "tenant-root":
            return set()
        stated = {record.parent for record in self.records(n)} or {None}
        return {parent_by_name(n) or "" if parent is None else parent for parent in stated}

    def parents(self, n: str) -> set[str]:
        return {parent for parent in self.stated_parents(n) if is_tenant_namespace(parent)}

    def above(self, n: str) -> set[str]:
        """Everything that is reached from n by parents; n itself only on a loop."""
        found: set[str] = set()
        border = self.parents(n)
        while border:
            found |= border
            border = {p for each in border for p in self.parents(each)} - found
        return found

    def unclear(self, n: str) -> bool:
        records = self.records(n)
        return (
            len(records) > 1
            or any(not record.readable for record in records)
            or n in self.above(n)
            or self.parents(n) != self.stated_parents(n)
        )

    def ambiguous(self, n: str) -> bool:
        return any(self.unclear(each) for each in self.above(n) | {n})

    def namespaces(self) -> set[str]:
        """Every tenant namespace that has a record, uses something, or lies above such a one."""
        named = {record.namespace for record in self.world.tenants}
        named |= {vmi.namespace for vmi in self.world.vmis}
        named |= {pod.namespace for pod in self.world.pods}
        named = {n for n in named if is_tenant_namespace(n)}
        return named | {each for n in named for each in self.above(n)}

    # 3.2: usage

    def usage(self, n: str, k: str) -> int:
        resource = next((c.resource_name for c in self.world.classes if c.name == k), None)
        uids = {vmi.uid for vmi in self.world.vmis if vmi.namespace == n}
        total = 0
        for vmi in self.world.vmis:
            if vmi.namespace != n or vmi.final or not vmi.readable:
                continue
            raw = sum(device == resource for device in vmi.devices)
            if not vmi.annotated:
                total += raw
            elif vmi.entries is not None:
                total += sum(entry.count for entry in vmi.entries if entry.class_name == k)
            else:
                names = {f"class-{k}-{i}" for i in range(100)}
                total += max(raw, sum(name in names for name in vmi.unit_names))
        for pod in self.world.pods:
            late = pod.charged_until_ms is not None and self.world.now_ms > pod.charged_until_ms
            if pod.namespace == n and not pod.final and not late and pod.vmi_uid not in uids:
                total += sum(count for name, count in pod.requests if name == resource)
        return total

    def unread(self, n: str) -> bool:
        vmis = any(not v.readable and not v.final for v in self.world.vmis if v.namespace == n)
        return vmis or any(
            not p.readable and not p.final for p in self.world.pods if p.namespace == n
        )

    # 3.3: pools

    def stated(self, n: str, k: str) -> list[int]:
        """The budgets that the records of n state for k."""
        return [units for r in self.records(n) for name, units in r.budgets if name == k]

    def roots(self, n: str, k: str, on_the_way: frozenset[str] = frozenset()) -> set[str]:
        if n in on_the_way:
            return set()
        records = self.records(n)
        found = {n} if self.stated(n, k) else set()
        if not records or any(not r.readable or k not in dict(r.budgets) for r in records):
            for parent in self.parents(n):
                found |= self.roots(parent, k, on_the_way | {n})
        return found

    def roots_of_parents(self, n: str, k: str) -> set[str]:
        return {root for parent in self.parents(n) for root in self.roots(parent, k)}

    def counted_in(self, n: str, k: str) -> set[str]:
        """The roots whose `used` n adds to."""
        also = self.roots_of_parents(n, k) if self.ambiguous(n) else set()
        return self.roots(n, k) | also

    def carve(self, r: str, k: str) -> int:
        return sum(
            max(self.stated(c, k))
            for c in self.namespaces() - {r}
            if self.stated(c, k) and r in self.roots_of_parents(c, k)
        )

    def carve_told(self, r: str, k: str) -> bool:
        return not any(
            r in self.roots_of_parents(c, k)
            for c in self.namespaces()
            if any(not record.budget_readable for record in self.records(c))
        )

    def used(self, r: str, k: str) -> int:
        return sum(self.usage(n, k) for n in self.namespaces() if r in self.counted_in(n, k))

    def subtree(self, a: str, k: str) -> int:
        return sum(self.usage(n, k) for n in self.below(a))

    def below(self, a: str) -> set[str]:
        return {n for n in self.namespaces() if n == a or a in self.above(n)}

    def budget_of(self, r: str, k: str) -> int:
        return max(self.stated(r, k))

    def shared(self, r: str, k: str) -> int:
        return max(self.budget_of(r, k) - self.carve(r, k), 0)

    def overcommit(self, r: str, k: str) -> int:
        return max(self.carve(r, k) - self.budget_of(r, k), 0)

    def remaining(self, r: str, k: str) -> int | None:
        """What is left for members of a root whose place is clear; None: it cannot be told."""
        members = [n for n in self.namespaces() if r in self.counted_in(n, k)]
        if any(self.unread(n) for n in members) or not self.carve_told(r, k):
            return None
        left = max(self.shared(r, k) - self.used(r, k), 0)
        for a in self.above(r):
            if not self.stated(a, k):
                continue
            if any(self.unread(n) for n in self.below(a)):
                return None
            left = min(left, max(self.budget_of(a, k) - self.subtree(a, k), 0))
        return left

    def budgets_told(self, n: str) -> bool:
        return all(r.budget_readable for each in self.above(n) | {n} for r in self.records(each))

    def budget(self, n: str, k: str) -> tuple[str, int | None]:
        if not is_tenant_namespace(n):
            return "Unbounded", None
        if Source.TENANTS not in self.world.known:
            return "Unknown", None
        if self.ambiguous(n):
            return "Ambiguous", None
        if not self.budgets_told(n):
            return "Unknown", None
        roots = self.roots(n, k)
        if not roots:
            return "Unbounded", None
        (root,) = roots
        if not {Source.VMIS, Source.PODS} <= self.world.known:
            return "Unknown", None
        left = self.remaining(root, k)
        return ("Unknown", None) if left is None else ("Bounded", left)

    def entitlement(self, n: str, c: GPUClass) -> str:
        if c.mode is Mode.PASSTHROUGH:
            return "NotRequired"
        if not is_tenant_namespace(n):
            return "Missing"
        if Source.TENANTS not in self.world.known:
            return "Unknown"
        records = self.records(n)
        granted = records and all(c.name in record.entitlements for record in records)
        return "Granted" if granted else "Missing"

    def license(self, n: str, c: GPUClass) -> str:
        if c.license_secret is None:
            return "NotRequired"
        namespaces = self.world.licenses.get(c.license_secret)
        if namespaces is None:
            return "Unknown"
        return "Ready" if n in namespaces else "Missing"

    # 3.4: capacity

    def eligible(self, n: Node, c: GPUClass) -> bool:
        if n.unschedulable or n.deleting or not n.ready or not n.kubevirt_schedulable:
            return False
        for taint in n.taints:
            tolerated = [
                t
                for t in c.tolerations
                if t.key == taint.key
                and (not t.effect or t.effect == taint.effect)
                and (t.exists or t.value == taint.value)
            ]
            if taint.effect != "PreferNoSchedule" and not tolerated:
                return False
        return True

    def free(self, n: Node, resource: str) -> int:
        there = [pod for pod in self.world.pods if pod.node == n.name and not pod.final]
        if any(not pod.readable for pod in there):
            return 0
        held = sum(dict(pod.requests).get(resource, 0) for pod in there)
        return max(dict(n.allocatable).get(resource, 0) - held, 0)

    def capacity(self, c: GPUClass) -> tuple[int | None, int | None]:
        if not {Source.NODES, Source.PODS} <= self.world.known:
            return None, None
        if any(pod.astray and not pod.final for pod in self.world.pods):
            return None, None
        fit = [n for n in self.world.nodes if self.eligible(n, c)]
        free = [self.free(n, c.resource_name) for n in fit]
        return sum(free), max(free, default=0)

    # 4.3: the option

    def kubevirt(self) -> KubeVirt | None:
        return next(
            iter(sorted(self.world.kubevirts, key=lambda each: (each.created, each.name))), None
        )

    def permitted(self, resource: str) -> bool:
        kubevirt = self.kubevirt()
        if kubevirt is None:
            return False
        hexadecimal = set("0123456789abcdefABCDEF")
        rows = [
            row.resource_name
            for row in kubevirt.pci
            if len(row.vendor_selector) == 9
            and row.vendor_selector[4] == ":"
            and set(row.vendor_selector[:4] + row.vendor_selector[5:]) <= hexadecimal
        ]
        return resource in rows or resource in kubevirt.mediated

    def reasons(self, n: str, c: GPUClass) -> Iterable[str]:
        state, left = self.budget(n, c.name)
        readable = {Source.CLASSES, Source.KUBEVIRT} <= self.world.known
        if not readable:
            yield "ClassUnknown"
        if state == "Ambiguous":
            yield "TenantAmbiguous"
        if state == "Unknown":
            yield "BudgetUnknown"
        if self.policy.admission_disabled:
            yield "AdmissionDisabled"
        if sum(other.resource_name == c.resource_name for other in self.world.classes) > 1:
            yield "ResourceNameConflict"
        if readable and not self.permitted(c.resource_name):
            yield "ResourceNotPermitted"
        yield from self.tenant_reasons(n, c)
        if left is not None and left < min(self.counts(c)):
            yield "BudgetExhausted"

    def tenant_reasons(self, n: str, c: GPUClass) -> Iterable[str]:
        if self.entitlement(n, c) == "Missing":
            yield "NotEntitled"
        if self.license(n, c) == "Unknown":
            yield "LicenseUnknown"
        if self.license(n, c) == "Missing":
            yield "LicenseNotReady"

    def counts(self, c: GPUClass) -> list[int]:
        return [
            n for n in range(1, c.max_count + 1) if not c.allowed_counts or n in c.allowed_counts
        ]

    def option(self, n: str, k: str) -> NaiveOption | None:
        """The option with everything shown; None: there is no such offer."""
        c = next((each for each in self.world.classes if each.name == k), None)
        if c is None or c.terminating:
            return None
        state, left = self.budget(n, k)
        free, largest = self.capacity(c)
        reasons = tuple(self.reasons(n, c))
        asked: int | None
        if not reasons:
            fitting = [count for count in self.counts(c) if left is None or count <= left]
            asked = max(fitting)
        else:
            asked = None if reasons[0].endswith(("Unknown", "Ambiguous")) else 0
        startable, start = self.startable(c, asked, bool(reasons), largest)
        return NaiveOption(
            budget=state,
            remaining=left,
            entitlement=self.entitlement(n, c),
            license=self.license(n, c),
            free=free,
            largest=largest,
            reasons=reasons or ("Allowed",),
            requestable_count=asked,
            startable=startable,
            startable_count=start,
        )

    def startable(
        self, c: GPUClass, asked: int | None, refused: bool, largest: int | None
    ) -> tuple[str, int | None]:
        if asked is None:
            return "RequestableUnknown", None
        if refused:
            return "NotRequestable", 0
        if largest is None:
            return "CapacityUnknown", None
        fitting = [count for count in self.counts(c) if count <= min(asked, largest)]
        return ("Fits", max(fitting)) if fitting else ("NoCapacity", 0)
