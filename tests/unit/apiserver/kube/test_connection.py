"""Kubeconfigs and what a pod is given."""

import asyncio
import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
import trustme
from fakes.stub_api import kubeconfig

from apiserver.kube.client import load_client
from apiserver.kube.connection import Connection, from_kubeconfig, in_cluster
from apiserver.kube.errors import ConfigurationError


@pytest.fixture
def ca_file(tmp_path: Path) -> Path:
    """A CA."""
    path = tmp_path / "ca.crt"
    trustme.CA().cert_pem.write_to_path(path)
    return path


def written(directory: Path, value: object) -> Path:
    """Write a kubeconfig."""
    path = directory / "kubeconfig"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def read(directory: Path, value: object) -> Connection:
    """Read what is written as a kubeconfig."""
    return from_kubeconfig(written(directory, value), time.monotonic)


def header(connection: Connection) -> str | None:
    """Return what a request would say."""
    return asyncio.run(connection.credentials.header())


def a_config(ca_file: Path, **user: Any) -> dict[str, Any]:
    """Return a kubeconfig as a value."""
    value: dict[str, Any] = json.loads(kubeconfig("https://127.0.0.1:6443", ca_file, **user))
    return value


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"token": "t\n"}, "Bearer t"),
        ({"token": "t", "tokenFile": "token"}, "Bearer from-file"),
        ({"username": "u", "password": "p"}, "Basic " + base64.b64encode(b"u:p").decode()),
        ({"client-certificate": "zq"}, None),
    ],
    ids=["token", "token with a newline", "file before token", "password", "certificate"],
)
def test_a_user_is_what_the_kubeconfig_says(
    tmp_path: Path, ca_file: Path, user: dict[str, Any], sent: str | None
) -> None:
    """A token file wins over a token and is relative to the kubeconfig, as in client-go."""
    (tmp_path / "token").write_text("from-file\n")
    if "client-certificate" in user:
        (tmp_path / "us.pem").write_bytes(ca_file.read_bytes())
        user = {"client-certificate": "us.pem", "client-key": "us.pem"}
    connection = read(tmp_path, a_config(ca_file, **user))
    assert connection.configuration.host == "https://127.0.0.1:6443"
    assert header(connection) == sent
    if sent is None:
        assert connection.configuration.cert_file == str(tmp_path / "us.pem")


def test_certificates_may_be_written_into_the_kubeconfig(tmp_path: Path, ca_file: Path) -> None:
    """As most are: no file of ours is needed beside it."""
    value = a_config(ca_file)
    data = base64.b64encode(ca_file.read_bytes()).decode()
    value["clusters"][0]["cluster"] = {
        "server": "https://127.0.0.1:6443",
        "certificate-authority-data": data,
    }
    name = read(tmp_path, value).configuration.ssl_ca_cert
    assert name is not None
    assert Path(name).read_bytes() == ca_file.read_bytes()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda value: None, "Expected `object`"),
        (lambda value: {**value, "current-context": "zq"}, "there is no context 'zq'"),
        (
            lambda value: {k: v for k, v in value.items() if k != "current-context"},
            "current-context",
        ),
        (lambda value: {**value, "clusters": []}, "there is no cluster 'stub'"),
        (lambda value: {**value, "users": []}, "there is no user 'us'"),
        (lambda value: {**value, "contexts": "zq"}, "contexts"),
        (lambda value: server(value, "zq"), "its server is no URL"),
        (lambda value: user(value, {"auth-provider": {"name": "oidc"}}), "auth-provider"),
        (lambda value: user(value, {"token": "t", "as": "admin"}), "as of a user"),
        (lambda value: user(value, {"token": "a b"}), "the token of its user is none"),
        (lambda value: user(value, {"exec": {"command": "x"}}), "apiVersion"),
        (lambda value: user(value, {"exec": "zq"}), "exec"),
        (lambda value: user(value, {"client-certificate": "absent.pem"}), "absent.pem"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why(
    tmp_path: Path, ca_file: Path, change: Any, says: str
) -> None:
    """One sentence for the operator, before anything is asked."""
    value = change(a_config(ca_file))
    with pytest.raises(ConfigurationError) as raised:
        read(tmp_path, value)
    assert says in str(raised.value)
    assert str(tmp_path / "kubeconfig") in str(raised.value)


def server(value: dict[str, Any], url: str) -> dict[str, Any]:
    """Return a kubeconfig with another server."""
    value["clusters"][0]["cluster"]["server"] = url
    return value


def user(value: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    """Return a kubeconfig with another user."""
    value["users"][0]["user"] = members
    return value


def test_what_is_no_kubeconfig_says_so(tmp_path: Path) -> None:
    """A file that is not there, is no text or no YAML."""
    with pytest.raises(ConfigurationError, match="No such file"):
        from_kubeconfig(tmp_path / "absent", time.monotonic)
    (tmp_path / "kubeconfig").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="not YAML"):
        from_kubeconfig(tmp_path / "kubeconfig", time.monotonic)
    with pytest.raises(ConfigurationError, match="not YAML"):
        read(tmp_path, "{")


def test_a_ca_that_is_none_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    """It is of no use to wait for a handshake."""
    (tmp_path / "ca.crt").write_text("zq")
    path = written(tmp_path, a_config(tmp_path / "ca.crt"))
    with pytest.raises(ConfigurationError, match="certificates"):
        load_client(path)


def test_a_pod_finds_its_service_account(tmp_path: Path, ca_file: Path) -> None:
    """The address from the environment, token and CA from files; an IPv6 address in brackets."""
    (tmp_path / "token").write_text("t\n")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    connection = in_cluster(time.monotonic, tmp_path, environ)
    assert connection.configuration.host == "https://[fd00::1]:443"
    assert connection.configuration.ssl_ca_cert == str(ca_file)
    assert header(connection) == "Bearer t"


@pytest.mark.parametrize("missing", ["environment", "token", "ca"])
def test_outside_of_a_pod_a_kubeconfig_is_asked_for(
    tmp_path: Path, ca_file: Path, missing: str
) -> None:
    """What is missing is said, with what to give instead."""
    (tmp_path / "token").write_text("t")
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    if missing == "environment":
        environ = {}
    elif missing == "token":
        (tmp_path / "token").unlink()
    else:
        ca_file.unlink()
    with pytest.raises(ConfigurationError, match="no --kubeconfig is given"):
        in_cluster(time.monotonic, tmp_path, environ)
