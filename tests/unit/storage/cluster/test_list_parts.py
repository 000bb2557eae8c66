"""Lists that are told in parts, and feeds that are let go."""

from typing import Any

import pytest
from fakes.objects import a_class, a_node, a_secret, in_json
from hypothesis import given
from hypothesis import strategies as st

from storage.cluster.cache import ClusterCache
from storage.cluster.decode import decode
from storage.cluster.decoded import Ref
from storage.cluster.kinds import Kind
from storage.cluster.list_watch import (
    Bookmark,
    Changed,
    Event,
    Feed,
    Forgotten,
    Gone,
    ListBegan,
    Listed,
    ListEnded,
)
from storage.cluster.tenants import GPUTenantReader
from storage.model.snapshot import Change, Drop, Known, Licenses, Put, Source

NODES = Feed(Kind.NODE)
BEGAN, ENDED = ListBegan(NODES), ListEnded(NODES)


class Told:
    """A cache and its clock."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.cache = ClusterCache(
            tenants=GPUTenantReader(), clock=lambda: self.now, stale_after=180
        )

    def tell(self, *events: Event) -> list[Change]:
        """Tell of events; return all changes."""
        return [change for event in events for change in self.cache.apply(event)]

    def nodes(self) -> dict[str, bool]:
        """Return the nodes that are held, and whether each is cordoned."""
        return {node.name: node.unschedulable for node in self.cache.snapshot().nodes}


def node(name: str, *, cordoned: bool = False) -> Changed:
    """Return what tells of a node."""
    value: dict[str, Any] = a_node(name, spec={"unschedulable": cordoned})
    return Changed(NODES, decode(Kind.NODE, in_json(value)))


def test_a_first_list_is_believed_from_its_end() -> None:
    """Parts of it say nothing about what is not in them (design 9)."""
    told = Told()
    changes = told.tell(BEGAN, node("a"), node("b"))
    assert Known(Source.NODES, True) not in changes
    assert not told.cache.was_listed(NODES)
    assert told.tell(ENDED) == [Known(Source.NODES, True)]
    assert told.cache.was_listed(NODES)
    assert set(told.nodes()) == {"a", "b"}


def test_what_a_later_list_does_not_tell_has_gone_at_its_end() -> None:
    """A delete that was missed is made up for, and what is unchanged makes no change (PC-05)."""
    told = Told()
    told.tell(BEGAN, node("a"), node("b"), node("c"), ENDED)
    changed = node("c", cordoned=True)
    assert told.tell(BEGAN, node("b"), changed) == [Put(changed.object.value)]  # type: ignore[arg-type]
    assert set(told.nodes()) == {"a", "b", "c"}
    assert told.tell(ENDED) == [Drop(Source.NODES, "a")]
    assert told.nodes() == {"b": False, "c": True}
    assert told.cache.objects()[Kind.NODE] == 2


def test_a_list_that_was_not_ended_is_void() -> None:
    """What it left out is still there, what it told is not lost (410 on a continue token)."""
    told = Told()
    told.tell(BEGAN, node("a"), node("b"), ENDED)
    assert told.tell(BEGAN, node("b"), BEGAN, node("b"), node("a"), ENDED) == []
    assert set(told.nodes()) == {"a", "b"}


def test_a_stale_feed_is_believed_again_from_the_end_of_its_list() -> None:
    """While it is listed anew it holds what may have gone (design 9)."""
    told = Told()
    told.tell(BEGAN, node("a"), ENDED)
    told.now += 181
    assert told.cache.expire(told.now) == (Known(Source.NODES, False),)
    assert told.tell(BEGAN, node("a")) == []
    assert told.cache.ages(told.now)[Kind.NODE] == 181
    assert told.tell(ENDED) == [Known(Source.NODES, True)]
    assert told.cache.ages(told.now)[Kind.NODE] == 0


def test_a_whole_list_ends_one_in_parts() -> None:
    """A resource that went while it was listed holds nothing."""
    told = Told()
    told.tell(BEGAN, node("a"), ENDED, BEGAN, node("b"))
    told.tell(Listed(NODES, ()))
    assert told.nodes() == {}
    told.tell(node("c"), Bookmark(NODES))
    assert set(told.nodes()) == {"c"}


@pytest.mark.parametrize("listing", [False, True])
def test_what_goes_while_a_list_is_told_has_gone(listing: bool) -> None:
    """An end of one object counts in the middle of a list too."""
    told = Told()
    told.tell(BEGAN, node("a"), *([] if listing else [ENDED]))
    told.tell(Gone(NODES, Ref("", "a")))
    assert told.nodes() == {}


NAMES = st.sampled_from("abcd")
STATES = st.dictionaries(NAMES, st.booleans())


@given(STATES, st.lists(STATES, max_size=2), STATES)
def test_a_list_in_parts_leads_to_the_same_as_a_whole_one(
    before: dict[str, bool], voided: list[dict[str, bool]], after: dict[str, bool]
) -> None:
    """Whatever was held and whatever lists were broken off: the end is the list, and only it."""
    told = Told()
    told.tell(BEGAN, *(node(name, cordoned=value) for name, value in before.items()), ENDED)
    for state in (*voided, after):
        told.tell(BEGAN, *(node(name, cordoned=value) for name, value in state.items()))
    told.tell(ENDED)
    assert told.nodes() == after
    assert told.cache.objects()[Kind.NODE] == len(after)
    assert told.tell(BEGAN, *(node(n, cordoned=v) for n, v in after.items()), ENDED) == []


def test_a_feed_that_is_let_go_leaves_nothing() -> None:
    """A license that no class gives any more costs nothing, and its age is nobody's (design 2)."""
    told = Told()
    feed = Feed(Kind.SECRET, "license")
    gpu_class = decode(Kind.GPU_CLASS, in_json(a_class(license={"secretName": "license"})))
    secret = decode(Kind.SECRET, in_json(a_secret("tenant-a", "license")))
    told.tell(Listed(Feed(Kind.GPU_CLASS), (gpu_class,)), Listed(feed, (secret,)))
    assert told.cache.license_secrets() == {"license"}
    assert told.tell(Forgotten(feed)) == [Licenses("license", None)]
    assert told.cache.objects()[Kind.SECRET] == 0
    assert told.cache.ages(told.now)[Kind.SECRET] is None
    assert told.tell(Forgotten(feed)) == []
