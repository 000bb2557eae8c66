"""Objects as files have them, made real: with a status, an owner, a deletion that has begun.

No kubelet and no KubeVirt runs, so what they would write is written here.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import yaml
from cluster.control_plane.cluster import ControlPlane

Document = dict[str, Any]

#: Kinds by where their objects live, in the order in which they must come: owners first.
PATHS: Final[Mapping[str, str]] = {
    "GPUClass": "/apis/gpu.cozystack.io/v1alpha1/gpuclasses",
    "GPUTenant": "/apis/gpu.cozystack.io/v1alpha1/gputenants",
    "KubeVirt": "/apis/kubevirt.io/v1/namespaces/{}/kubevirts",
    "Node": "/api/v1/nodes",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "VirtualMachineInstance": "/apis/kubevirt.io/v1/namespaces/{}/virtualmachineinstances",
    "Pod": "/api/v1/namespaces/{}/pods",
}

#: What only the API server writes.
_SYSTEM_FIELDS: Final = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_MERGE: Final = "application/merge-patch+json"
#: For a pod that is being deleted: as good as for ever.
_GRACE_SECONDS: Final = 100_000


def documents(files: Iterable[Path]) -> list[Document]:
    """Return the objects of files, in the order in which they must be created."""
    found = [
        document
        for file in files
        for document in yaml.safe_load_all(file.read_text())
        if document and document["kind"] in PATHS
    ]
    order = list(PATHS)
    # A pod that another pod owns comes after it.
    return sorted(found, key=lambda each: (order.index(each["kind"]), _owner_kind(each) == "Pod"))


class RealObjects:
    """What was created, so that owners can be named by the uids that they were given."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._control_plane = control_plane
        self._uids: dict[str, str] = {}  # by the uid in the files
        self._namespaces: set[str] = set()

    def create(self, found: Iterable[Document]) -> None:
        """Create objects, and the namespaces that they live in."""
        for document in found:
            self.create_one(document)

    def create_one(self, document: Document) -> Document:
        """Create one object; return it as the API server has it."""
        metadata = document["metadata"]
        namespace = metadata.get("namespace")
        if namespace:
            self._need_namespace(namespace)
        collection = PATHS[document["kind"]].format(namespace)
        created = self._control_plane.write("POST", collection, self._acceptable(document))
        if "uid" in metadata:
            self._uids[metadata["uid"]] = created["metadata"]["uid"]
        place = f"{collection}/{metadata['name']}"
        if "status" in document:
            status = {"status": document["status"]}
            self._control_plane.write("PATCH", f"{place}/status", status, content_type=_MERGE)
        if "deletionTimestamp" in metadata:
            grace = {"apiVersion": "v1", "kind": "DeleteOptions"}
            body = grace | {"gracePeriodSeconds": _GRACE_SECONDS}
            self._control_plane.write("DELETE", place, body)
        return created

    def _need_namespace(self, name: str) -> None:
        if name in self._namespaces:
            return
        self._namespaces.add(name)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        code, answer = self._control_plane.request("POST", "/api/v1/namespaces", body)
        assert code in (201, 409), answer

    def _acceptable(self, document: Document) -> Document:
        """Return the object as a client may send it."""
        sent = deepcopy(document)
        sent.pop("status", None)
        for name in _SYSTEM_FIELDS:
            sent["metadata"].pop(name, None)
        owners = sent["metadata"].get("ownerReferences", ())
        kept = [owner for owner in owners if owner["uid"] in self._uids]
        for owner in kept:
            owner["uid"] = self._uids[owner["uid"]]
        # An owner that does not exist would have the object collected.
        sent["metadata"]["ownerReferences"] = kept
        if sent["kind"] == "Pod":
            for container in _containers(sent["spec"]):
                container.setdefault("image", "none")
        return sent


def _containers(spec: Document) -> Iterator[Document]:
    for member in ("containers", "initContainers"):
        yield from spec.get(member) or ()


def _owner_kind(document: Document) -> str | None:
    owners = document["metadata"].get("ownerReferences") or ()
    return next((str(owner["kind"]) for owner in owners if owner.get("controller")), None)
