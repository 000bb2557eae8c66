"""A client of the server under test, and what every error answer must look like."""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

GROUP = "options.gpu.cozystack.io"
GV = f"/apis/{GROUP}/v1alpha1"
ACME = f"{GV}/namespaces/tenant-acme"

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@dataclass(frozen=True)
class Reply:
    """An answer, read whole."""

    code: int
    headers: CIMultiDictProxy[str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The body, which must be a JSON object on a line."""
        value: dict[str, Any] = json.loads(self.body)
        return value


class Client:
    """Sends requests as one user, paths exactly as they are written."""

    def __init__(self, session: aiohttp.ClientSession, port: int, trust: ssl.SSLContext) -> None:
        self.port = port
        self.trust = trust
        self._session = session
        self._origin = f"https://127.0.0.1:{port}"

    async def send(
        self,
        method: str,
        path: str,
        *,
        token: str | None = "admin",
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
    ) -> Reply:
        """Send one request; `token` None: nobody."""
        sent = {"User-Agent": "test/1.0", **(headers or {})}
        if token is not None:
            sent.setdefault("Authorization", f"Bearer {token}")
        url = URL(self._origin + path, encoded=True)
        async with self._session.request(
            method, url, headers=sent, data=data, allow_redirects=False
        ) as response:
            return Reply(response.status, response.headers, await response.read())

    async def get(self, path: str, *, token: str | None = "admin", **headers: str) -> Reply:
        """GET a path; keywords are headers, with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.send("GET", path, token=token, headers=named)


def assert_status(
    reply: Reply,
    code: int,
    reason: str,
    message: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Assert that an answer is a Status and nothing else, and return it."""
    assert reply.code == code, reply.body
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cache-Control"] == "no-cache, private"
    assert reply.headers["Audit-Id"]
    assert "Location" not in reply.headers
    status = reply.json
    assert set(status) - {"details", "reason"} == {
        *("kind", "apiVersion", "metadata", "status", "message", "code"),
    }
    assert (status["kind"], status["apiVersion"], status["metadata"]) == ("Status", "v1", {})
    assert (status["status"], status["code"]) == ("Failure", code)
    assert status.get("reason", "") == reason
    assert b"Traceback" not in reply.body
    if message is not None:
        assert status["message"] == message
    if details is not None:
        assert status["details"] == details
    retry = status.get("details", {}).get("retryAfterSeconds")
    assert reply.headers.get("Retry-After") == (str(retry) if retry else None)
    return status


def parsed(raw: bytes) -> Reply:
    """Return the first answer in what came over a connection."""
    head, _, body = raw.partition(b"\r\n\r\n")
    status_line, *lines = head.decode().split("\r\n")
    headers = CIMultiDict[str]()
    for line in lines:
        name, _, value = line.partition(": ")
        headers.add(name, value)
    length = int(headers.get("Content-Length", "0"))
    return Reply(int(status_line.split()[1]), CIMultiDictProxy(headers), body[:length])
