"""Named checks behind /healthz, /livez and /readyz, in upstream's format (contract 9.1 to 9.4)."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from storage.views.quoting import excerpt, quoted

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must be well."""

    name: str
    fault: Callable[[], str | None]  # what is wrong, for the log only; None: all is well


PING = Check("ping", lambda: None)


class Health:
    """The checks of each path.

    Liveness must not depend on a source: a restart would cure nothing.
    """

    def __init__(self, *, live: Sequence[Check], ready: Sequence[Check]) -> None:
        """Take the checks of /livez, and those that /readyz has besides."""
        livez = (PING, *live)
        readyz = (*livez, *ready)
        self._roots = {"/healthz": livez, "/livez": livez, "/readyz": readyz}
        self._checks: Mapping[str, Check] = {
            f"{root}/{check.name}": check
            for root, checks in self._roots.items()
            for check in checks
        }

    @property
    def paths(self) -> Collection[str]:
        """All paths that are answered, those of single checks included."""
        return {*self._roots, *self._checks}

    def report(self, path: str, *, excluded: Sequence[str], verbose: bool) -> tuple[bool, str]:
        """Return whether all is well at one of `paths`, and the text that says so.

        What is wrong stands in the log alone: health is told to everybody.
        """
        if path in self._checks:
            return _single(self._checks[path])
        return _all(path.strip("/"), self._roots[path], frozenset(excluded), verbose=verbose)


def _single(check: Check) -> tuple[bool, str]:
    fault = check.fault()
    if fault is None:
        return True, "ok"
    logger.warning("health check failed", extra={"check": check.name, "fault": fault})
    return False, "internal server error: reason withheld\n"


def _all(
    root: str, checks: Sequence[Check], excluded: frozenset[str], *, verbose: bool
) -> tuple[bool, str]:
    lines = []
    faults: dict[str, str] = {}
    for check in checks:
        fault = None if check.name in excluded else check.fault()
        if fault is not None:
            faults[check.name] = fault
            lines.append(f"[-]{check.name} failed: reason withheld")
        else:
            how = " excluded: ok" if check.name in excluded else " ok"
            lines.append(f"[+]{check.name}{how}")
    unknown = sorted(excluded - {check.name for check in checks})
    if unknown:
        names = ", ".join(quoted(excerpt(name)) for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if faults:
        logger.warning("health checks failed", extra={"path": root, "faults": faults})
        return False, "\n".join((*lines, f"{root} check failed", ""))
    return True, "\n".join((*lines, f"{root} check passed", "")) if verbose else "ok"
