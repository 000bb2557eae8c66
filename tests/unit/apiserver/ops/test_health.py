"""Health checks, in upstream's format."""

import logging

import pytest

from apiserver.ops.health import Check, Health


def a_health(*, synced: bool = True, alive: bool = True) -> Health:
    """Return health with one check of liveness and one of readiness."""
    return Health(
        live=[Check("loop", lambda: None if alive else "stuck in 10.0.0.1")],
        ready=[Check("informer-sync", lambda: None if synced else "nodes of zq-node not listed")],
    )


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_a_healthy_server_says_ok(path: str) -> None:
    """Contract 9.1: two letters, unless more is asked for."""
    assert a_health().report(path, excluded=(), verbose=False) == (True, "ok")


def test_verbose_lists_every_check() -> None:
    """Contract 9.1."""
    assert a_health().report("/readyz", excluded=(), verbose=True) == (
        True,
        "[+]ping ok\n[+]loop ok\n[+]informer-sync ok\nreadyz check passed\n",
    )


def test_a_failure_lists_every_check_and_withholds_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Contract 9.1: the reason is for the log; everybody may read the answer."""
    with caplog.at_level(logging.WARNING):
        report = a_health(synced=False).report("/readyz", excluded=(), verbose=False)
    assert report == (
        False,
        "[+]ping ok\n[+]loop ok\n[-]informer-sync failed: reason withheld\nreadyz check failed\n",
    )
    assert vars(caplog.records[0])["faults"] == {"informer-sync": "nodes of zq-node not listed"}


def test_liveness_does_not_depend_on_a_source() -> None:
    """Contract 9.3: a restart would cure nothing."""
    health = a_health(synced=False)
    assert health.report("/livez", excluded=(), verbose=False)[0]
    assert health.report("/healthz", excluded=(), verbose=False)[0]
    assert not a_health(alive=False).report("/livez", excluded=(), verbose=False)[0]
    assert not a_health(alive=False).report("/readyz", excluded=(), verbose=False)[0]


def test_checks_can_be_left_out() -> None:
    """Contract 9.2."""
    assert a_health(synced=False).report(
        "/readyz", excluded=("informer-sync", "loop"), verbose=True
    ) == (
        True,
        "[+]ping ok\n[+]loop excluded: ok\n[+]informer-sync excluded: ok\nreadyz check passed\n",
    )


def test_names_that_are_no_checks_are_told_back() -> None:
    """Contract 9.2: a typing error in a probe must not go unnoticed."""
    text = a_health().report("/livez", excluded=("x", "informer-sync"), verbose=True)[1]
    assert (
        "warn: some health checks cannot be excluded: no matches for"
        ' "informer-sync", "x"\nlivez check passed\n'
    ) in text


def test_a_name_that_is_no_check_is_told_back_in_part() -> None:
    """Anybody may ask for health, with a name of any length."""
    text = a_health().report("/livez", excluded=("y" * 100_000,), verbose=True)[1]
    assert f'no matches for "{"y" * 128}..."\n' in text


def test_each_check_has_a_path() -> None:
    """Contract 9.2."""
    health = a_health(synced=False)
    assert sorted(health.paths) == [
        *("/healthz", "/healthz/loop", "/healthz/ping"),
        *("/livez", "/livez/loop", "/livez/ping"),
        *("/readyz", "/readyz/informer-sync", "/readyz/loop", "/readyz/ping"),
    ]
    assert health.report("/readyz/loop", excluded=(), verbose=True) == (True, "ok")
    well, text = health.report("/readyz/informer-sync", excluded=(), verbose=True)
    assert not well
    assert text == "internal server error: reason withheld\n"
