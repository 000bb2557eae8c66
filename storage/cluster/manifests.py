"""From written objects to those that are read, filled in as an API server would (design 11).

What a cluster would have added and files leave out is derived, so that it is the same at every
start: uid, creationTimestamp, the namespace of what lives in one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from storage.cluster.decoded import Ref
from storage.cluster.documents import FileFaultError, PlainObject, Position
from storage.cluster.kinds import Kind, group_of, kind_named

_UID_NAMESPACE: Final = UUID("3d6e5c0a-94a1-5d0b-8a55-0c2c2f6f3a11")
_CREATED: Final = "2000-01-01T00:00:00Z"
_RBAC_GROUP: Final = "rbac.authorization.k8s.io"

#: RBAC kinds that are read, and whether they live in namespaces.
_RBAC_KINDS: Final = {
    "Role": True,
    "RoleBinding": True,
    "ClusterRole": False,
    "ClusterRoleBinding": False,
}


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """What no two objects of a cluster share."""

    kind: str
    ref: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """An object that the server reads."""

    identity: Identity
    kind: Kind | None  # None: of RBAC
    value: Mapping[str, Any]
    payload: bytes  # the value in JSON, as an API server would send it; of a Secret only its place
    position: Position

    @property
    def title(self) -> str:
        """The object as a person is told of it: by name, unless that could tell a node's."""
        name = str(self.identity.ref)
        if _may_tell_a_node(self.kind, self.value) or not name.isprintable():
            return f"this {self.identity.kind}"
        return f"{self.identity.kind} {name}"


def manifest_of(found: PlainObject) -> Manifest | None:
    """Return an object that is read, filled in; None: its kind is not. Raises FileFaultError."""
    kind = kind_named(found.api_version, found.kind)
    if kind is not None:
        namespaced = kind.namespaced
    elif group_of(found.api_version) == _RBAC_GROUP and found.kind in _RBAC_KINDS:
        namespaced = _RBAC_KINDS[found.kind]
    else:
        return None
    metadata = _filled_in(found, namespaced=namespaced)
    # Nothing of a Secret is kept but that it is there (design 2).
    rest = {} if kind is Kind.SECRET else found.value
    value = {**rest, "metadata": metadata}
    identity = Identity(found.kind, Ref(metadata.get("namespace", ""), metadata["name"]))
    return Manifest(
        identity=identity,
        kind=kind,
        value=value,
        payload=_in_json(value, found.position),
        position=found.position,
    )


def _may_tell_a_node(kind: Kind | None, value: Mapping[str, Any]) -> bool:
    """Whether a name could tell a node's (design 2): a kubelet names its own pods after it.

    Here the object is as it was written, so a pod without a node is an unbound one.
    """
    if kind is not Kind.POD:
        return kind is Kind.NODE
    spec = value.get("spec")
    node = spec.get("nodeName") or "" if isinstance(spec, dict) else None
    if not isinstance(node, str):
        return True
    return bool(node) and node in value["metadata"]["name"]


def _filled_in(found: PlainObject, *, namespaced: bool) -> dict[str, Any]:
    metadata = found.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        raise FileFaultError(found.position.fault("metadata.name is required"))
    if not _is_text(name):
        raise FileFaultError(found.position.fault("metadata.name must be text"))
    filled = dict(metadata)
    namespace = filled.pop("namespace", None) or "default"
    if not isinstance(namespace, str) or not _is_text(namespace):
        raise FileFaultError(found.position.fault("metadata.namespace must be text"))
    if namespaced:
        filled["namespace"] = namespace
    place = (found.kind, namespace if namespaced else "", name)
    filled["uid"] = filled.get("uid") or str(uuid5(_UID_NAMESPACE, "/".join(place)))
    filled["creationTimestamp"] = filled.get("creationTimestamp") or _CREATED
    return filled


def _is_text(value: str) -> bool:
    """Whether a string can be written: JSON escapes can make half a character."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _in_json(value: Mapping[str, Any], position: Position) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FileFaultError(position.fault("holds a value that JSON does not have")) from error
