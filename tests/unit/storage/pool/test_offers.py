"""What each class is beside the others and KubeVirt's table."""

from dataclasses import replace

import pytest
from fakes.worlds import RESOURCE, a_class, a_kubevirt, a_view

from storage.model.snapshot import Drop, Known, Put, Source
from storage.pool.view import PoolView

K = "l40s"


def test_a_class_is_offered_under_its_name() -> None:
    """Design 2: one option for each class that is not being deleted, sorted."""
    view = a_view(a_class("b"), a_class("a"), a_class("c", terminating=True), a_kubevirt())
    assert view.offers() == ("a", "b")
    assert view.offer("c") is None
    assert view.offer("nothing") is None
    assert view.gpu_class("c") is not None
    assert view.gpu_class("nothing") is None


@pytest.mark.parametrize("terminating", [False, True])
def test_two_classes_on_one_resource_conflict_terminating_or_not(terminating: bool) -> None:
    """E15: a class that is being deleted still has its resource name."""
    view = a_view(a_class(K), a_class("other", terminating=terminating), a_kubevirt())
    assert _conflict(view)
    view.apply(Put(a_class("other", "nvidia.com/other", terminating=terminating)))
    assert not _conflict(view)
    view.apply(Put(a_class("other", terminating=terminating)))
    assert _conflict(view)
    view.apply(Drop(Source.CLASSES, "other"))
    assert not _conflict(view)


def test_a_resource_is_permitted_by_the_object_that_counts() -> None:
    """KV-02: by PCI row or mediated, edits at once; no object permits nothing."""
    view = a_view(a_class(K))
    seen = [_permitted(view)]
    older = replace(a_kubevirt("a.com/x"), name="older", created="2020-01-01T00:00:00Z")
    for kubevirt in (
        a_kubevirt("a.com/x"),
        a_kubevirt("a.com/x", mediated=(RESOURCE,)),
        a_kubevirt(RESOURCE),
        a_kubevirt(RESOURCE, selector="10DE"),
        a_kubevirt(RESOURCE),
        older,
    ):
        view.apply(Put(kubevirt))
        seen.append(_permitted(view))
    view.apply(Drop(Source.KUBEVIRT, "kubevirt/older"))
    seen.append(_permitted(view))
    assert seen == [False, False, True, True, False, True, False, True]


@pytest.mark.parametrize("source", [Source.KUBEVIRT, Source.CLASSES])
def test_whether_it_is_permitted_is_unknown_while_classes_or_kubevirt_are(source: Source) -> None:
    """Domain 4.3, ClassUnknown: nothing stale is shown as if it were fresh."""
    view = a_view(a_class(K), a_kubevirt())
    view.apply(Known(source, False))
    assert _permitted(view) is None
    assert not view.offers_readable
    assert view.take_changed().offers == {K}
    view.apply(Known(source, True))
    assert _permitted(view) is True
    assert view.offers_readable


def _conflict(view: PoolView) -> bool:
    offer = view.offer(K)
    assert offer is not None
    return offer.conflict


def _permitted(view: PoolView) -> bool | None:
    offer = view.offer(K)
    assert offer is not None
    return offer.permitted
