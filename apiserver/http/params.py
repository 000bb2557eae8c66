"""Query parameters of get and list: decoded, then checked together (contract 4.1 to 4.16)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from apiserver.http.errors import BadRequestError, Cause, InvalidOptionsError
from apiserver.http.forms import Form
from apiserver.http.query import Query, boolean, first, integer
from apiserver.http.selection import Selectors
from storage.views.quoting import excerpt, quoted
from storage.views.selectors import (
    FieldSelector,
    InvalidSelectorError,
    LabelSelector,
)

#: What a field selector may name.
FIELDS: Final = ("metadata.name", "metadata.namespace")

_REVISION: Final = re.compile(r"[1-9][0-9]*", re.ASCII)
_REVISION_LIMIT: Final = 1 << 64
_REVISION_MAX_LENGTH: Final = 20

_MATCH: Final = "resourceVersionMatch"
_SEND: Final = "sendInitialEvents"
_EXACT: Final = "Exact"
_NOT_OLDER_THAN: Final = "NotOlderThan"

_ROWS: Final = {
    "": Form.TABLE_METADATA,
    "Metadata": Form.TABLE_METADATA,
    "Object": Form.TABLE_OBJECT,
    "None": Form.TABLE_NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What a list asks for; `limit` is checked and then not needed, everything is sent."""

    labels: LabelSelector
    fields: FieldSelector
    watch: bool
    minimum: int  # the answer is at or after this revision; 0: any
    exact: bool  # the answer is as of that revision, none other

    @property
    def selective(self) -> bool:
        """Whether a selector may leave something out."""
        return bool(self.labels.requirements or self.fields.terms)


def get_options(query: Query) -> int:
    """Return the revision that a single object's answer must be at or after; 0: any.

    Raises BadRequestError.
    """
    if boolean(query, "export"):
        raise BadRequestError(
            "the export parameter, deprecated since v1.14, is no longer supported"
        )
    return _revision(first(query, "resourceVersion"))


def list_options(query: Query, selectors: Selectors | None) -> ListOptions:
    """Decode and check the parameters of a list or watch; `selectors` are those that it has.

    Raises BadRequestError, and InvalidOptionsError where rules between parameters are broken.
    """
    selectors = selectors or Selectors()
    if selectors.fault:
        raise BadRequestError(selectors.fault)
    watch = bool(boolean(query, "watch"))
    limit = integer(query, "limit") or 0
    integer(query, "timeoutSeconds")  # for watches; refused here like there
    causes = tuple(_watch_causes(query) if watch else _list_causes(query))
    if causes:
        raise InvalidOptionsError(causes)
    try:
        selectors.fields.require_known(FIELDS)
    except InvalidSelectorError as error:
        raise BadRequestError(str(error)) from None
    if limit < 0:
        raise BadRequestError(f"limit must not be negative: {limit}")
    _refuse_continue(query)
    return ListOptions(
        labels=selectors.labels,
        fields=selectors.fields,
        watch=watch,
        minimum=0 if watch else _revision(first(query, "resourceVersion")),
        exact=first(query, _MATCH) == _EXACT,
    )


def table_form(query: Query) -> Form:
    """Return the form of a Table's rows. Raises BadRequestError."""
    value = first(query, "includeObject")
    if value not in _ROWS:
        raise BadRequestError(
            "Unable to convert to Table as requested: includeObject: Invalid value:"
            f" {quoted(excerpt(value))}: must be 'Metadata', 'Object', 'None', or empty"
        )
    return _ROWS[value]


def _refuse_continue(query: Query) -> None:
    """Raise BadRequestError for every token: lists are sent whole, so none was ever given out."""
    if not first(query, "continue"):
        return
    if first(query, "resourceVersion") not in ("", "0"):
        raise BadRequestError("specifying resource version is not allowed when using continue")
    raise BadRequestError("invalid continue token: continue key is not valid")


def _revision(text: str) -> int:
    if text in ("", "0"):
        return 0
    if not _REVISION.fullmatch(text):
        raise _invalid_revision(text, "invalid syntax")
    revision = int(text) if len(text) <= _REVISION_MAX_LENGTH else _REVISION_LIMIT
    if revision >= _REVISION_LIMIT:
        raise _invalid_revision(text, "value out of range")
    return revision


def _invalid_revision(text: str, why: str) -> BadRequestError:
    value = quoted(excerpt(text))
    return BadRequestError(
        f"invalid resource version: resourceVersion: Invalid value: {value}:"
        f" strconv.ParseUint: parsing {value}: {why}"
    )


def _list_causes(query: Query) -> Iterator[Cause]:
    match, revision = first(query, _MATCH), first(query, "resourceVersion")
    if match:
        if not revision:
            yield _forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided")
        if first(query, "continue"):
            yield _forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")
        if match not in (_EXACT, _NOT_OLDER_THAN):
            yield _unsupported(match, _EXACT, _NOT_OLDER_THAN, "")
        if match == _EXACT and revision == "0":
            yield _forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"')
    if _SEND in query:
        yield _forbidden(_SEND, f"{_SEND} is forbidden for list")


def _watch_causes(query: Query) -> Iterator[Cause]:
    match = first(query, _MATCH)
    if _SEND in query and match != _NOT_OLDER_THAN:
        yield _forbidden(_MATCH, f"{_SEND} requires setting {_MATCH} to {_NOT_OLDER_THAN}")
    if match:
        if _SEND not in query:
            yield _forbidden(_MATCH, f"{_MATCH} is forbidden for watch unless {_SEND} is provided")
        if match != _NOT_OLDER_THAN:
            yield _unsupported(match, _NOT_OLDER_THAN)
        if first(query, "continue"):
            yield _forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided")


def _forbidden(field: str, text: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {text}")


def _unsupported(match: str, *supported: str) -> Cause:
    values = ", ".join(map(quoted, supported))
    text = f"Unsupported value: {quoted(excerpt(match))}: supported values: {values}"
    return Cause(_MATCH, "FieldValueNotSupported", text)
