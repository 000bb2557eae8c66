"""Where feeds are read, over a server that is never reached."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import pytest

from apiserver.kube.api import API, CALL_SECONDS, Reply, Stream, UnreachableError
from apiserver.kube.list_watch import KubeUpstream
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import Feed
from storage.cluster.upstream import UnreachableUpstreamError, Upstream


class Nobody:
    """A server that is not there; whatever is asked of it is kept."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        accept: str = "application/json",
        seconds: float = CALL_SECONDS,
    ) -> Reply:
        """Give no answer."""
        self.asked.append(path)
        raise UnreachableError("zq")

    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = "application/json",
        silence_seconds: float = 90.0,
    ) -> AbstractAsyncContextManager[Stream]:
        """Give no answer."""
        self.asked.append(path)
        raise UnreachableError("zq")


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.SECRET])
async def test_each_kind_has_its_path_and_no_answer_is_told_as_such(kind: Kind) -> None:
    """Storage knows neither paths nor what went wrong in between."""
    api: API = (nobody := Nobody())
    upstream: Upstream = KubeUpstream(api)
    with pytest.raises(UnreachableUpstreamError):
        await upstream.page(Feed(kind), "", limit=1, seconds=1)
    assert nobody.asked[0].startswith(f"/apis/{kind.group}/" if kind.group else "/api/v1/")


async def test_secrets_are_asked_for_by_name_or_not_at_all() -> None:
    """A list over all of them is a fault of ours, never a request (design 2)."""
    nobody = Nobody()
    upstream = KubeUpstream(nobody)
    with pytest.raises(ValueError, match="one name"):
        await upstream.page(Feed(Kind.SECRET), "", limit=1, seconds=1)
    with pytest.raises(ValueError, match="one name"):
        async with upstream.watch(Feed(Kind.SECRET), None, silence_seconds=1, seconds=1):
            pass
    assert nobody.asked == []
