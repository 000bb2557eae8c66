"""The clients of kube-apiserver: one for each identity, made once the port listens."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from apiserver.cli.serve_config import ServeConfig
from apiserver.kube.late import LateAPI

if TYPE_CHECKING:
    from apiserver.kube.client import KubeClient


class Clients:
    """As whom objects are read, callers are proven, and rights are asked for."""

    def __init__(self, config: ServeConfig) -> None:
        """Make nothing yet: what is asked until then is not reached."""
        self.sources = LateAPI()
        self.authentication = LateAPI()
        self.authorization = LateAPI()
        self._kubeconfigs = (
            (self.sources, config.kubeconfig),
            (self.authentication, config.authentication.kubeconfig),
            (self.authorization, config.authorization.kubeconfig),
        )
        self._made: dict[Path | None, KubeClient] = {}

    async def connect(self) -> None:
        """Make the clients, in a thread. Raises ConfigurationError."""
        for late, kubeconfig in self._kubeconfigs:
            if kubeconfig not in self._made:
                self._made[kubeconfig] = await asyncio.to_thread(_load, kubeconfig)
            late.use(self._made[kubeconfig])

    async def close(self) -> None:
        """Close all connections."""
        for client in self._made.values():
            await client.close()


def _load(kubeconfig: Path | None) -> "KubeClient":
    # A quarter of a second: the port must not wait for it.
    from apiserver.kube.client import load_client

    return load_client(kubeconfig)
