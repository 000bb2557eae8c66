"""`gpuclass-apiserver demo`: both ports over an embedded cluster, until a signal (design 11)."""

import asyncio
import logging
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final

import uvloop

import apiserver
from apiserver.cli.api import api_services, probe_services
from apiserver.cli.config import DemoConfig
from apiserver.cli.embedded import EmbeddedCluster
from apiserver.cli.flags import PROGRAM
from apiserver.cli.process import PortError, listen, stop_on_signals
from apiserver.cli.state import Credential, Endpoints, StateDirectory
from apiserver.http.services import Services
from apiserver.ops.logs import AccessLog, set_up_logging
from apiserver.ops.serving import Ending, Lifecycle, Listening
from apiserver.ops.tls import serving_context

logger = logging.getLogger(__name__)

_HOST: Final = "127.0.0.1"

#: The tenant that the documentation speaks of.
_TENANT: Final = "tenant-acme"


def demo(config: DemoConfig) -> int:
    """Serve until SIGINT or SIGTERM and return 0; 1 where a port cannot be had.

    Raises ConfigError for files that cannot be served, and for a state directory that cannot be
    written.
    """
    set_up_logging(sys.stderr)
    cluster = EmbeddedCluster(config.directory or shipped_directory(), config)
    with (
        closing(StateDirectory(config.state_dir)) as state,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        state.prepare(datetime.now(UTC))
        try:
            runner.run(_serve(cluster, state, config))
        except PortError as error:
            sys.stderr.write(f"{PROGRAM}: {error}\n")
            return 1
    return 0


def shipped_directory() -> Path:
    """Return the folder with the demo's data: of the wheel, else of the checkout."""
    packaged = Path(str(files(apiserver) / "demo_data"))
    return packaged if packaged.is_dir() else Path(apiserver.__file__).parents[1] / "manifests/demo"


async def _serve(cluster: EmbeddedCluster, state: StateDirectory, config: DemoConfig) -> None:
    stopped = stop_on_signals()
    access_log = AccessLog(sys.stderr.write, asyncio.get_running_loop().call_later)
    api, admission = Lifecycle(), Lifecycle()
    services = api_services(cluster, access_log, api)
    probes = probe_services(cluster, access_log, admission)
    try:
        async with (
            _listening("--secure-port", config.secure_port, services, state, api) as port,
            _listening(
                "--admission-secure-port", config.admission_secure_port, probes, state, admission
            ) as admission_port,
        ):
            endpoints = Endpoints(
                server=f"https://{_HOST}:{port}", admission=f"https://{_HOST}:{admission_port}"
            )

            def write_kubeconfig() -> None:
                users = [Credential(each.user.name, each.token) for each in cluster.users]
                state.write_kubeconfig(endpoints.server, users)

            write_kubeconfig()
            state.write_endpoints(endpoints)
            logger.info("serving", extra=asdict(endpoints))
            if sys.stdout.isatty():
                sys.stdout.write(_what_to_type(cluster, state))
                sys.stdout.flush()
            await _follow(cluster, write_kubeconfig, stopped)
    finally:
        access_log.flush()


@asynccontextmanager
async def _listening(
    flag: str, port: int, services: Services, state: StateDirectory, lifecycle: Lifecycle
) -> AsyncIterator[int]:
    """Listen on loopback while the block runs, and give it the port. Raises PortError."""
    context = serving_context(state.certificate_file, state.key_file)
    listening = Listening(host=_HOST, port=port, context=context)
    ending = Ending(lifecycle=lifecycle, idle=services.in_flight.idle)
    async with listen(flag, listening, services, ending) as (taken, _):
        yield taken


async def _follow(
    cluster: EmbeddedCluster, on_users: Callable[[], None], stopped: asyncio.Event
) -> None:
    """Keep the cluster current until the stop; a task that fails ends the process."""
    async with asyncio.TaskGroup() as tasks:
        followers = [
            tasks.create_task(cluster.follow_files(on_users), name="follow files"),
            tasks.create_task(cluster.follow_clock(), name="follow clock"),
        ]
        await stopped.wait()
        for follower in followers:
            follower.cancel()


def _what_to_type(cluster: EmbeddedCluster, state: StateDirectory) -> str:
    """Return three lines for a shell, and what they are for."""
    beside = Path(sys.executable).with_name("kubectl")
    kubectl = shlex.join(
        [str(beside) if beside.exists() else "kubectl", "--kubeconfig", str(state.kubeconfig_file)]
    )
    namespaces = cluster.published.tenants()
    namespace = _TENANT if _TENANT in namespaces or not namespaces else namespaces[0]
    return (
        "Serving. In another terminal:\n\n"
        f"  {kubectl} get gpuclassoptions -n {namespace}\n"
        f"  {kubectl} get gpuclassoffers\n"
        f"  {kubectl} explain gpuclassoptions.status\n\n"
        f"Users are contexts: {', '.join(each.user.name for each in cluster.users) or 'none'}."
        " Ctrl-C ends it.\n"
    )
