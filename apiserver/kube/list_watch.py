"""Where each feed is read at a kube-apiserver: storage's `Upstream` over our requests."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from apiserver.kube.api import API, Stream, UnreachableError
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Feed
from storage.cluster.lists import METADATA_ONLY
from storage.cluster.tenant_objects import QUOTA_NAME
from storage.cluster.upstream import Page, UnreachableUpstreamError
from storage.model.names import CRD_GROUP

_JSON: Final = "application/json"
_METADATA: Final = f"{_JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = f"{_JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_PATHS: Final[Mapping[Kind, str]] = {
    Kind.GPU_CLASS: f"/apis/{CRD_GROUP}/v1alpha1/gpuclasses",
    Kind.GPU_TENANT: f"/apis/{CRD_GROUP}/v1alpha1/gputenants",
    Kind.HELM_RELEASE: "/apis/helm.toolkit.fluxcd.io/v2/helmreleases",
    Kind.RESOURCE_QUOTA: "/api/v1/resourcequotas",
    Kind.KUBEVIRT: "/apis/kubevirt.io/v1/kubevirts",
    Kind.VMI: "/apis/kubevirt.io/v1/virtualmachineinstances",
    Kind.POD: "/api/v1/pods",
    Kind.NODE: "/api/v1/nodes",
    Kind.SECRET: "/api/v1/secrets",
}

#: What the calculation would pass over is not sent at all. An object that is not selected any more
#: comes as DELETED, which a pod that has ended is to the calculation (domain 3.2).
_SELECTORS: Final[Mapping[Kind, Mapping[str, str]]] = {
    Kind.POD: {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"},
    Kind.RESOURCE_QUOTA: {"fieldSelector": f"metadata.name={QUOTA_NAME}"},
    Kind.HELM_RELEASE: {"labelSelector": "apps.cozystack.io/application.kind=Tenant"},
}


class KubeUpstream:
    """A kube-apiserver as reflectors see it: a `storage.cluster.upstream.Upstream`."""

    def __init__(self, api: API) -> None:
        self._api = api

    async def page(self, feed: Feed, token: str, *, limit: int, seconds: float) -> Page:
        """Ask for a page. Raises UnreachableUpstreamError.

        Without a resourceVersion: with 0 the server would ignore the limit.
        """
        query = {**_selectors(feed), "limit": str(limit)}
        if token:
            query["continue"] = token
        accept = _METADATA_LIST if feed.kind in METADATA_ONLY else _JSON
        try:
            reply = await self._api.call(
                "GET", _PATHS[feed.kind], query=query, accept=accept, seconds=seconds
            )
        except UnreachableError as error:
            raise UnreachableUpstreamError from error
        return Page(reply.status, reply.body, reply.retry_after)

    @asynccontextmanager
    async def watch(
        self, feed: Feed, version: str | None, *, silence_seconds: float, seconds: float
    ) -> AsyncIterator["KubeLines"]:
        """Ask for a watch. Entering raises UnreachableUpstreamError."""
        query = {
            **_selectors(feed),
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(max(int(seconds), 1)),
        }
        if version is None:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        else:
            query["resourceVersion"] = version
        opened = self._api.stream(
            _PATHS[feed.kind],
            query=query,
            accept=_METADATA if feed.kind in METADATA_ONLY else _JSON,
            silence_seconds=silence_seconds,
        )
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(opened)
            except UnreachableError as error:
                raise UnreachableUpstreamError from error
            yield KubeLines(stream)


@dataclass(frozen=True, slots=True)
class KubeLines:
    """An open watch."""

    stream: Stream

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.stream.status

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before the next request, where the answer says so."""
        return self.stream.retry_after

    async def lines(self) -> AsyncIterator[Sequence[bytes]]:
        """Yield complete lines. Raises UnreachableUpstreamError."""
        try:
            async for lines in self.stream.lines():
                yield lines
        except UnreachableError as error:
            raise UnreachableUpstreamError from error


def _selectors(feed: Feed) -> Mapping[str, str]:
    if feed.kind in METADATA_ONLY and not feed.name:
        raise ValueError("only objects of one name may be read")
    if feed.name:
        return {"fieldSelector": f"metadata.name={feed.name}"}
    return _SELECTORS.get(feed.kind, {})
