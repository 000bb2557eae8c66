"""A control plane on loopback: etcd, kube-apiserver, kube-controller-manager, and kubectl to it.

No kubelet runs: nodes and pods are objects that tests write. Endpoints refuse loopback addresses,
so a Service in here is of type ExternalName and names localhost.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from cluster.control_plane.assets import assets_directory
from cluster.control_plane.pki import Authority, Pair, token_keys
from cluster.control_plane.processes import Program, free_port, wait_until

HOST: Final = "127.0.0.1"
KUBECTL: Final = Path(sys.executable).with_name("kubectl")
PROXY_NAME: Final = "front-proxy-client"
MASTERS: Final = "system:masters"
_ISSUER: Final = "https://kubernetes.default.svc"
_CONTROLLERS: Final = (
    "namespace-controller",
    "garbage-collector-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "clusterrole-aggregation-controller",
)
#: Its taint would stay on every node: no kubelet takes it away. Tokens of pods nobody needs.
_NOT_WANTED: Final = ("ServiceAccount", "TaintNodesByCondition")


@dataclass(slots=True)
class ControlPlane:
    """One control plane; its state is in the directory."""

    directory: Path
    ca: Authority = field(init=False)
    front_proxy: Authority = field(init=False)
    port: int = field(init=False)
    etcd: Program = field(init=False)
    api_server: Program = field(init=False)
    controller_manager: Program = field(init=False)
    _admin: Path = field(init=False)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ca = Authority("cluster", self.directory)
        self.front_proxy = Authority("front-proxy", self.directory)
        self.port = free_port()
        self.new_serving_pair()
        self.new_proxy_pair()
        binaries, etcd_port, peer_port = assets_directory(), free_port(), free_port()
        keys = token_keys(self.directory)
        self.etcd = self._program(binaries, "etcd", self._etcd_flags(etcd_port, peer_port))
        self.api_server = self._program(
            binaries, "kube-apiserver", self._api_server_flags(etcd_port, keys)
        )
        self._admin = self.kubeconfig("admin", group=MASTERS)
        self.controller_manager = self._program(
            binaries, "kube-controller-manager", self._controller_manager_flags(keys)
        )

    @property
    def url(self) -> str:
        """Where kube-apiserver listens."""
        return f"https://{HOST}:{self.port}"

    def start(self) -> None:
        """Start everything, and wait until it serves."""
        try:
            self.etcd.start()
            self.api_server.start()
            self.wait_until_ready()
            self.controller_manager.start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything, the last started first."""
        for program in (self.controller_manager, self.api_server, self.etcd):
            program.stop()

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Wait until kube-apiserver says that it is ready."""

        def ready() -> bool:
            return self.try_kubectl("get", "--raw", "/readyz").returncode == 0

        wait_until("kube-apiserver is ready", ready, seconds, self.api_server)

    def new_serving_pair(self) -> Pair:
        """Make kube-apiserver's serving pair anew; it is read again while it runs."""
        names = ("localhost", HOST, "kubernetes.default.svc")
        return self.ca.serving("kube-apiserver", *names)

    def new_proxy_pair(self) -> Pair:
        """Make the pair anew by which kube-apiserver proves itself to extension servers."""
        return self.front_proxy.client("front-proxy", user=PROXY_NAME)

    def kubeconfig(self, user: str, *, group: str | None = None) -> Path:
        """Write the kubeconfig of a user with a client certificate; files in it are by path."""
        pair = self.ca.client(f"client-{user}", user=user, group=group)
        credentials = {
            "client-certificate": str(pair.certificate),
            "client-key": str(pair.key),
        }
        return self.write_kubeconfig(user, credentials)

    def kubeconfig_of_account(self, namespace: str, name: str) -> Path:
        """Write the kubeconfig of a service account, with its token as a file of its own."""
        token = self.directory / f"{namespace}-{name}.token"
        token.write_text(self.kubectl("create", "token", name, "-n", namespace, "--duration=12h"))
        return self.write_kubeconfig(f"{namespace}-{name}", {"tokenFile": str(token)})

    def write_kubeconfig(self, user: str, credentials: dict[str, str]) -> Path:
        """Write a kubeconfig with these credentials."""
        server = {"server": self.url, "certificate-authority": str(self.ca.file)}
        file = self.directory / f"{user}.kubeconfig"
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": server}],
            "users": [{"name": user, "user": credentials}],
            "contexts": [{"name": user, "context": {"cluster": "tests", "user": user}}],
            "current-context": user,
        }
        file.write_text(yaml.safe_dump(document))
        return file

    def kubectl(self, *arguments: str, stdin: str | None = None, user: Path | None = None) -> str:
        """Run kubectl as admin, or by another kubeconfig; return its output, or fail."""
        done = self.try_kubectl(*arguments, stdin=stdin, user=user)
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout

    def try_kubectl(
        self, *arguments: str, stdin: str | None = None, user: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run kubectl, whatever comes of it."""
        return subprocess.run(
            [KUBECTL, "--cache-dir", self.directory / "kubectl-cache", *arguments],
            env=os.environ | {"KUBECONFIG": str(user or self._admin)},
            cwd=self.directory,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def apply(self, *documents: dict[str, Any]) -> None:
        """Apply objects as admin."""
        self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))

    def get(self, *arguments: str) -> dict[str, Any]:
        """Return what `kubectl get -o json` gives to admin."""
        found: dict[str, Any] = json.loads(self.kubectl("get", "-o", "json", *arguments))
        return found

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        user: str = "admin",
    ) -> tuple[int, bytes]:
        """Send one request as a user who has a kubeconfig; return status and body as they are."""
        sent = urllib.request.Request(  # noqa: S310  # our own address
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": content_type},
        )
        context = ssl.create_default_context(cafile=str(self.ca.file))
        certificate = self.ca.directory / f"client-{user}.crt"
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        try:
            with urllib.request.urlopen(sent, context=context, timeout=60) as answer:  # noqa: S310
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def write(self, method: str, path: str, body: object, **options: Any) -> dict[str, Any]:
        """Write an object as admin; return it as it is then. Fails where it is refused."""
        code, answer = self.request(method, path, body, **options)
        assert code in (200, 201), f"{method} {path}: {code} {answer.decode()}"
        written: dict[str, Any] = json.loads(answer)
        return written

    def ca_bundle(self) -> str:
        """Return what is trusted as the cluster's CA, as a caBundle has it."""
        return base64.b64encode(self.ca.file.read_bytes()).decode()

    def _program(self, binaries: Path, name: str, flags: Sequence[str]) -> Program:
        command = (str(binaries / name), *flags)
        return Program(name, command, self.directory / f"{name}.log")

    def _etcd_flags(self, port: int, peer_port: int) -> tuple[str, ...]:
        client, peer = f"http://{HOST}:{port}", f"http://{HOST}:{peer_port}"
        return (
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        )

    def _api_server_flags(self, etcd_port: int, keys: Pair) -> tuple[str, ...]:
        here = self.directory
        return (
            f"--etcd-servers=http://{HOST}:{etcd_port}",
            f"--bind-address={HOST}",
            f"--advertise-address={HOST}",
            f"--secure-port={self.port}",
            # The default one refuses a loopback address.
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--cert-dir={here}",
            f"--tls-cert-file={here / 'kube-apiserver.crt'}",
            f"--tls-private-key-file={here / 'kube-apiserver.key'}",
            f"--client-ca-file={self.ca.file}",
            f"--service-account-issuer={_ISSUER}",
            f"--service-account-key-file={keys.certificate}",
            f"--service-account-signing-key-file={keys.key}",
            f"--requestheader-client-ca-file={self.front_proxy.file}",
            f"--requestheader-allowed-names={PROXY_NAME}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-uid-headers=X-Remote-Uid",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={here / 'front-proxy.crt'}",
            f"--proxy-client-key-file={here / 'front-proxy.key'}",
            "--authorization-mode=RBAC",
            f"--disable-admission-plugins={','.join(_NOT_WANTED)}",
        )

    def _controller_manager_flags(self, keys: Pair) -> tuple[str, ...]:
        return (
            f"--kubeconfig={self._admin}",
            "--leader-elect=false",
            f"--bind-address={HOST}",
            f"--secure-port={free_port()}",
            f"--cert-dir={self.directory / 'controller-manager'}",
            f"--service-account-private-key-file={keys.key}",
            f"--root-ca-file={self.ca.file}",
            f"--controllers={','.join(_CONTROLLERS)}",
            "--v=2",  # from here on it says what it monitors
        )
