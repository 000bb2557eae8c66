"""`gpuclass-apiserver serve`: the port first, then the cluster behind it (design 9).

Discovery is served from the first moment on. Everything else follows in the background: what cannot
be reached yet is 401 or 503, and readiness waits for it, for a time.
"""

import asyncio
import logging
import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import uvloop

from apiserver.cli.api import api_services
from apiserver.cli.certificates import new_pair, still_serves
from apiserver.cli.flags import PROGRAM
from apiserver.cli.process import PortError, listen, stop_on_signals
from apiserver.cli.reading import ConfigError
from apiserver.cli.real_cluster import RealCluster
from apiserver.cli.serve_config import ServeConfig, ServingConfig
from apiserver.http.limits import InFlight
from apiserver.kube.errors import ConfigurationError
from apiserver.ops.logs import AccessLog, set_up_logging
from apiserver.ops.serving import Ending, Lifecycle, Listening
from apiserver.ops.tls import PairError, PairFiles, ServingTLS, TLSSettings

logger = logging.getLogger(__name__)

_FLAG: Final = "--secure-port"


def serve(config: ServeConfig, typed: Mapping[str, Sequence[str]]) -> int:
    """Serve until SIGINT or SIGTERM and return 0; 1 where a port or a cluster cannot be had.

    Raises ConfigError for certificates that cannot be served with.
    """
    set_up_logging(sys.stderr)
    for name, values in typed.items():
        logger.info("FLAG: --%s=%s", name, ",".join(values))
    cluster = RealCluster(config)
    tls = _tls(config.serving, cluster)
    failures: Sequence[BaseException] = ()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            runner.run(_serve(config, cluster, tls))
        except* (PortError, ConfigurationError) as errors:
            failures = _leaves(errors)
    for failure in failures:
        sys.stderr.write(f"{PROGRAM}: {failure}\n")
    return 1 if failures else 0


async def _serve(config: ServeConfig, cluster: RealCluster, tls: ServingTLS) -> None:
    stopped = stop_on_signals()
    access_log = AccessLog(sys.stderr.write, asyncio.get_running_loop().call_later)
    lifecycle, requests, serving = Lifecycle(), config.requests, config.serving
    services = api_services(
        cluster,
        access_log,
        lifecycle,
        in_flight=InFlight(read_only=requests.read_only, mutating=requests.mutating),
        request_seconds=requests.seconds,
    )
    ending = Ending(
        lifecycle=lifecycle,
        idle=services.in_flight.idle,
        grace_seconds=requests.shutdown_delay,
        finish_seconds=requests.seconds,
        turn_away=requests.shutdown_send_retry_after,
    )
    listening = Listening(
        host=serving.address,
        port=serving.port,
        context=tls.listening,
        port_sharing=serving.port_sharing,
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            async with listen(_FLAG, listening, services, ending) as (port, server):
                logger.info("serving", extra={"port": port})
                # A connection from before there was a CA has no certificate to be known by.
                tls.on_asking = server.renew_connections
                cluster.on_trust(tls.reload)
                followers = [
                    tasks.create_task(cluster.follow(), name="follow cluster"),
                    tasks.create_task(tls.follow(config.waits.reload), name="follow certificates"),
                ]
                await stopped.wait()
            # Until the last request was answered its figures are kept current.
            for follower in followers:
                follower.cancel()
    finally:
        access_log.flush()
        await cluster.close()


def _tls(config: ServingConfig, cluster: RealCluster) -> ServingTLS:
    pair = config.pair or _self_signed(config)
    settings = TLSSettings(
        pair=pair, further=config.further_pairs, minimum=config.minimum, ciphers=config.ciphers
    )
    try:
        return ServingTLS(settings, cluster.client_cas)
    except PairError as error:
        flag = "tls-cert-file" if error.files == pair else "tls-sni-cert-key"
        raise ConfigError((f"--{flag}: {error}",)) from error
    except ssl.SSLError as error:
        problem = f"--tls-cipher-suites: OpenSSL has none of them here: {error}"
        raise ConfigError((problem,)) from error


def _self_signed(config: ServingConfig) -> PairFiles:
    """Return the pair in --cert-dir, made if it is not there or cannot be used any more."""
    directory = config.cert_dir
    pair = PairFiles(directory / "apiserver.crt", directory / "apiserver.key")
    now = datetime.now(UTC)
    try:
        names = (config.external_hostname,) if config.external_hostname else ()
        if not _is_usable(pair, now, names):
            directory.mkdir(parents=True, exist_ok=True)
            ca, certificate, key = new_pair(now, *names)
            _write(pair.key, key)
            _write(pair.certificate, certificate + ca)
            logger.info("self-signed serving certificate made", extra={"directory": directory})
    except OSError as error:
        problem = f"--cert-dir: {directory} cannot be used: {error.strerror}"
        raise ConfigError((problem,)) from error
    return pair


def _is_usable(pair: PairFiles, now: datetime, names: Sequence[str]) -> bool:
    if not (pair.certificate.is_file() and pair.key.is_file()):
        return False
    chain = pair.certificate.read_bytes()
    marker = b"-----END CERTIFICATE-----\n"
    certificate, found, ca = chain.partition(marker)
    return still_serves(ca, certificate + found, pair.key.read_bytes(), now, *names)


def _write(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Sequence[BaseException]:
    """Return the errors in a group, however deep."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found.extend(_leaves(error) if isinstance(error, BaseExceptionGroup) else (error,))
    return found
