"""What a stub of kube-apiserver holds: objects of some resources, one revision line, a history."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

Value = dict[str, Any]
Place = tuple[str, str]  # namespace, name

#: Fields that the stub can select by.
_FIELDS: Final = ("metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "type")


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that the stub serves."""

    prefix: str  # of the path, up to and with the version
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def path(self) -> str:
        """The path over all namespaces."""
        return f"{self.prefix}/{self.plural}"

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return self.prefix.removeprefix("/apis/").removeprefix("/api/")


_CRD: Final = "/apis/gpu.cozystack.io/v1alpha1"
CLASSES: Final = Resource(_CRD, "gpuclasses", "GPUClass", namespaced=False)
TENANTS: Final = Resource(_CRD, "gputenants", "GPUTenant", namespaced=False)
RELEASES: Final = Resource("/apis/helm.toolkit.fluxcd.io/v2", "helmreleases", "HelmRelease")
QUOTAS: Final = Resource("/api/v1", "resourcequotas", "ResourceQuota")
KUBEVIRTS: Final = Resource("/apis/kubevirt.io/v1", "kubevirts", "KubeVirt")
VMIS: Final = Resource("/apis/kubevirt.io/v1", "virtualmachineinstances", "VirtualMachineInstance")
PODS: Final = Resource("/api/v1", "pods", "Pod")
NODES: Final = Resource("/api/v1", "nodes", "Node", namespaced=False)
SECRETS: Final = Resource("/api/v1", "secrets", "Secret")
CONFIG_MAPS: Final = Resource("/api/v1", "configmaps", "ConfigMap")
ALL: Final = (
    *(CLASSES, TENANTS, RELEASES, QUOTAS, KUBEVIRTS),
    *(VMIS, PODS, NODES, SECRETS, CONFIG_MAPS),
)


@dataclass(frozen=True, slots=True)
class Stored:
    """One object in one version."""

    place: Place
    version: int
    payload: bytes
    fields: Mapping[str, str]
    labels: Mapping[str, str]

    def partial(self) -> bytes:
        """Return its metadata alone."""
        metadata = json.loads(self.payload)["metadata"]
        return partial(metadata)


def partial(metadata: Value) -> bytes:
    """Return metadata as an object of its own."""
    return msgspec.json.encode(
        {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    )


@dataclass(frozen=True, slots=True)
class Happened:
    """One entry of the history of a resource."""

    version: int
    before: Stored | None
    after: Stored | None  # None: it has gone, `last` is its last state
    last: Stored


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a request asks for."""

    namespace: str = ""
    clauses: tuple[tuple[str, bool, str], ...] = ()  # (field, whether equal, value)
    labels: tuple[tuple[str, bool, str], ...] = ()

    def takes(self, stored: Stored) -> bool:
        """Whether an object is one of them."""
        if self.namespace and stored.place[0] != self.namespace:
            return False
        return all(
            (stored.fields.get(name, "") == value) == equal for name, equal, value in self.clauses
        ) and all((stored.labels.get(name) == value) == equal for name, equal, value in self.labels)


def clauses(selector: str) -> tuple[tuple[str, bool, str], ...]:
    """Read a selector of equalities and inequalities."""
    found = []
    for part in filter(None, selector.split(",")):
        name, _, value = part.partition("=")
        equal = not name.endswith("!")
        found.append((name.removesuffix("!"), equal, value.removeprefix("=")))
    return tuple(found)


@dataclass(slots=True)
class Shelf:
    """One resource's objects and what happened to them."""

    resource: Resource
    objects: dict[Place, Stored] = field(default_factory=dict)
    history: list[Happened] = field(default_factory=list)
    compacted: int = 0  # versions below it cannot be resumed from


class Store:
    """All resources; each change takes the next version of one line."""

    def __init__(self, resources: tuple[Resource, ...] = ALL, first_version: int = 1000) -> None:
        self.version = first_version
        self.shelves = {resource: Shelf(resource) for resource in resources}

    def put(self, resource: Resource, value: Value) -> Happened:
        """Create or replace an object; its version becomes the line's next."""
        self.version += 1
        stored = self._stored(resource, value)
        shelf = self.shelves[resource]
        happened = Happened(self.version, shelf.objects.get(stored.place), stored, stored)
        shelf.objects[stored.place] = stored
        shelf.history.append(happened)
        return happened

    def load(self, resource: Resource, value: Value) -> None:
        """Hold an object that was there before anybody looked."""
        self.version += 1
        stored = self._stored(resource, value)
        self.shelves[resource].objects[stored.place] = stored
        self.shelves[resource].compacted = self.version

    def delete(self, resource: Resource, name: str, namespace: str = "") -> Happened:
        """Delete an object."""
        self.version += 1
        shelf = self.shelves[resource]
        before = shelf.objects.pop((namespace, name))
        value = json.loads(before.payload)
        happened = Happened(self.version, before, None, self._stored(resource, value))
        shelf.history.append(happened)
        return happened

    def forget_history(self, resource: Resource) -> None:
        """Make every version from before now too old to resume from."""
        self.version += 1
        self.shelves[resource].history.clear()
        self.shelves[resource].compacted = self.version

    def selected(self, resource: Resource, selection: Selection) -> Iterator[Stored]:
        """Yield the objects that are asked for, by place."""
        objects = self.shelves[resource].objects
        return (objects[place] for place in sorted(objects) if selection.takes(objects[place]))

    def since(self, resource: Resource, version: int) -> list[Happened]:
        """Return what happened after a version. Raises ExpiredError."""
        shelf = self.shelves[resource]
        if version < shelf.compacted:
            raise ExpiredError
        return [each for each in shelf.history if each.version > version]

    def _stored(self, resource: Resource, value: Value) -> Stored:
        metadata = {**value["metadata"], "resourceVersion": str(self.version)}
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **value}
        whole["metadata"] = metadata
        return Stored(
            place=(metadata.get("namespace", ""), metadata["name"]),
            version=self.version,
            payload=msgspec.json.encode(whole),
            fields={name: _text(whole, name) for name in _FIELDS},
            labels=metadata.get("labels") or {},
        )


class ExpiredError(Exception):
    """A version is too old to resume from."""


def event_of(happened: Happened, selection: Selection) -> tuple[str, Stored] | None:
    """Return what a watcher with a selection is told: type and object."""
    was = happened.before is not None and selection.takes(happened.before)
    now = happened.after is not None and selection.takes(happened.after)
    if now:
        return ("MODIFIED" if was else "ADDED"), happened.last
    return ("DELETED", happened.last) if was else None


def _text(value: Value, name: str) -> str:
    at: Any = value
    for part in name.split("."):
        at = at.get(part) if isinstance(at, dict) else None
    return at if isinstance(at, str) else ""
