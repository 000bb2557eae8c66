"""How kube-apiserver is reached: from a kubeconfig, or from what every pod is given.

The kubernetes package reads both, but for credentials that change (see `credentials`).
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException
from kubernetes.aio.config.exec_provider import ExecProvider
from kubernetes.aio.config.incluster_config import InClusterConfigLoader
from kubernetes.aio.config.kube_config import ConfigNode, KubeConfigLoader

from apiserver.kube.credentials import (
    Credentials,
    FixedCredentials,
    PluginCredentials,
    TokenFile,
    is_token,
)
from apiserver.kube.errors import ConfigurationError

#: Where a pod finds its service account.
SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")

#: Members of a user that would change who asks, and that are not served: better none than another.
_UNSERVED: Final = ("auth-provider", "as", "as-uid", "as-groups", "as-user-extra")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A server and how to prove who asks."""

    configuration: Configuration
    credentials: Credentials


class _Named(msgspec.Struct):
    name: str


class _Context(msgspec.Struct):
    cluster: str
    user: str = ""


class _NamedContext(_Named):
    context: _Context


class _Cluster(msgspec.Struct):
    server: str


class _NamedCluster(_Named):
    cluster: _Cluster


class _NamedUser(_Named):
    user: dict[str, Any] | None = None


class _Kubeconfig(msgspec.Struct):
    current: str = msgspec.field(name="current-context")
    contexts: list[_NamedContext]
    clusters: list[_NamedCluster]
    users: list[_NamedUser] | None = None


def from_kubeconfig(path: Path, clock: Callable[[], float]) -> Connection:
    """Read a kubeconfig's current context; not on an event loop. Raises ConfigurationError."""
    try:
        value = yaml.safe_load(path.read_text("utf-8"))
        config = msgspec.convert(value, _Kubeconfig)
    except OSError as error:
        raise ConfigurationError(f"kubeconfig {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"kubeconfig {path}: it is not YAML") from error
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"kubeconfig {path}: {error}") from error
    context = _named(config.contexts, config.current, path, "context").context
    server = _named(config.clusters, context.cluster, path, "cluster").cluster.server
    if not server.startswith(("https://", "http://")):
        raise ConfigurationError(f"kubeconfig {path}: its server is no URL")
    user: dict[str, Any] = {}
    if context.user:
        user = _named(config.users or [], context.user, path, "user").user or {}
    served = {key: each for key, each in user.items() if key not in ("exec", "tokenFile")}
    value["users"] = [{"name": context.user, "user": served}]
    for member in _UNSERVED:
        if user.get(member):
            raise ConfigurationError(f"kubeconfig {path}: {member} of a user is not supported")
    configuration = Configuration()
    try:
        loader = KubeConfigLoader(config_dict=value, config_base_path=str(path.parent.absolute()))
        asyncio.run(loader.load_and_set(configuration))
    except (ConfigException, ValueError, TypeError, OSError) as error:
        raise ConfigurationError(f"kubeconfig {path}: {error}") from error
    fixed = configuration.api_key.pop("BearerToken", None)
    return Connection(
        configuration=configuration, credentials=_credentials(user, fixed, path, clock)
    )


def in_cluster(
    clock: Callable[[], float],
    directory: Path = SERVICE_ACCOUNT,
    environ: Mapping[str, str] = os.environ,
) -> Connection:
    """Read what a pod is given. Raises ConfigurationError."""
    configuration = Configuration()
    token = directory / "token"
    loader = InClusterConfigLoader(
        token_filename=str(token),
        cert_filename=str(directory / "ca.crt"),
        try_refresh_token=False,
        environ=environ,
    )
    try:
        loader.load_and_set(configuration)
    except (ConfigException, OSError, ValueError) as error:
        raise ConfigurationError(
            f"not in a pod with a service account, and no --kubeconfig is given: {error}"
        ) from error
    configuration.api_key.clear()
    return Connection(configuration=configuration, credentials=TokenFile(token, clock))


def _credentials(
    user: Mapping[str, Any], fixed: str | None, path: Path, clock: Callable[[], float]
) -> Credentials:
    """Return what a user of a kubeconfig proves itself with. Raises ConfigurationError."""
    if plugin := user.get("exec"):
        try:
            provider = ExecProvider(ConfigNode("exec", plugin))
        except (ConfigException, TypeError, KeyError) as error:
            raise ConfigurationError(f"kubeconfig {path}: {error}") from error
        return PluginCredentials(provider.run, clock)
    if token_file := user.get("tokenFile"):
        return TokenFile(path.parent / str(token_file), clock)
    if fixed is not None and not is_token(fixed.partition(" ")[2].strip()):
        raise ConfigurationError(f"kubeconfig {path}: the token of its user is none")
    return FixedCredentials(fixed.strip() if fixed else None)


def _named(values: list[Any], name: str, path: Path, what: str) -> Any:
    for value in values:
        if value.name == name:
            return value
    raise ConfigurationError(f"kubeconfig {path}: there is no {what} {name!r}")
