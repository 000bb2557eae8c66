"""Answers as bytes."""

import gzip

import pytest
import yaml

from apiserver.http.answers import Answer, compressed, failure, rendered
from apiserver.http.errors import NotAcceptableError
from apiserver.http.negotiation import Encoding
from apiserver.http.status import Status

LARGE = b'{"a":"' + b"x" * 200_000 + b'"}'


def an_answer(body: bytes) -> Answer:
    """Return an answer with a body."""
    return Answer(content_type="application/json", body=(body,))


def joined(*pieces: bytes, encoding: Encoding = Encoding.JSON, pretty: bool = False) -> bytes:
    """Return a body in pieces as it goes out."""
    return b"".join(rendered(pieces, encoding, pretty=pretty))


def test_json_goes_out_as_it_is_kept() -> None:
    """Contract 3.30: compact, unless somebody reads it."""
    assert joined(b'{"a":', b"[1]}\n") == b'{"a":[1]}\n'
    assert joined(b'{"a":', b"[1]}\n", pretty=True) == b'{\n  "a": [\n    1\n  ]\n}\n'


def test_yaml_says_the_same() -> None:
    """Contract 3.2."""
    body = joined('{"a":{"b":[1,"gr\u00fcn",'.encode(), b"true]}}\n", encoding=Encoding.YAML)
    assert yaml.safe_load(body) == {"a": {"b": [1, "gr\u00fcn", True]}}
    assert body == "a:\n  b:\n  - 1\n  - gr\u00fcn\n  - true\n".encode()


def test_yaml_of_a_large_body_is_refused() -> None:
    """It takes a thousand times as long as JSON, and everybody would wait for it."""
    largest = b'"' + b"x" * 65533 + b'"\n'
    assert yaml.safe_load(joined(largest[:-1], encoding=Encoding.YAML)) == "x" * 65533
    with pytest.raises(NotAcceptableError) as caught:
        joined(b" ", largest, encoding=Encoding.YAML)
    assert str(caught.value) == (
        "the answer is too large for application/yaml, ask for application/json"
    )
    assert joined(b" ", largest) == b" " + largest


@pytest.mark.parametrize("accepts", ["gzip", "deflate, gzip;q=0.5", "br,gzip"])
def test_a_large_body_is_compressed_for_who_takes_gzip(accepts: str) -> None:
    """Contract 3.32."""
    answer = compressed(an_answer(LARGE), accepts)
    assert gzip.decompress(b"".join(answer.body)) == LARGE
    assert answer.size < len(LARGE)
    assert "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n" in answer.headers


@pytest.mark.parametrize(
    ("body", "accepts"),
    [(LARGE, ""), (LARGE, "identity, x-gzip"), (b"x" * 131072, "gzip"), (b"", "gzip")],
)
def test_other_bodies_go_out_as_they_are(body: bytes, accepts: str) -> None:
    """Contract 3.32: a body of 128 KiB or less is not worth it."""
    answer = an_answer(body)
    assert compressed(answer, accepts) is answer


def test_who_is_told_to_retry_is_told_in_a_header_too() -> None:
    """Contract 5.1."""
    answer = failure(Status(code=429, reason="TooManyRequests", message="x", retry_after=3))
    assert "Retry-After: 3\r\n" in answer.headers
    assert b'"retryAfterSeconds":3' in answer.body[0]
    assert "Retry-After" not in failure(Status(code=400, reason="", message="x")).headers
