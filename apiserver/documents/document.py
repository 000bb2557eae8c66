"""Constant documents: bytes made once, and the tag that clients ask with (contract 1.12, 2.4)."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Document:
    """One body that never changes while the process lives."""

    body: bytes
    content_type: str
    etag: str  # the value of the ETag header, its quotes included


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """All constant documents."""

    plain: Mapping[str, Document]  # by path, without a trailing slash
    aggregated_discovery: Document  # of /apis, for who asks for version 2 of discovery


def document(body: bytes, content_type: str) -> Document:
    """Return the document; its tag is the SHA-512 of the body in upper-case hexadecimal digits."""
    return Document(body, content_type, f'"{hashlib.sha512(body).hexdigest().upper()}"')


#: Of a port that has none.
NO_DOCUMENTS: Final = Documents(plain={}, aggregated_discovery=document(b"", "text/plain"))
