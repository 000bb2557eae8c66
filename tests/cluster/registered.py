"""Our server as its manifests register it: the real ones, but for where it listens.

No kubelet runs its Deployment: it is a process here, as the ServiceAccount of the manifests, with
exactly the rights that they give. Its Service names localhost, since Endpoints refuse loopback.
"""

import base64
import os
import signal
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml
from cluster.balancer import is_ready
from cluster.control_plane.cluster import HOST, ControlPlane
from cluster.control_plane.pki import Authority
from cluster.control_plane.processes import Program, free_port, wait_until
from fakes.manifests import with_ca

ROOT: Final = Path(__file__).parents[2]
CRDS: Final = ROOT / "manifests" / "crds"
OTHER_CRDS: Final = ROOT / "tests" / "data" / "crds"
NAMESPACE: Final = "gpuclass-system"
SERVICE: Final = "gpuclass-apiserver"
API_SERVICE: Final = "v1alpha1.options.gpu.cozystack.io"
GROUP_VERSION: Final = "/apis/options.gpu.cozystack.io/v1alpha1"

#: What is not applied as it is.
_REPLACED: Final = ("Deployment", "Service", "APIService", "CustomResourceDefinition")


@dataclass(slots=True)
class Replica:
    """One process of ours."""

    port: int
    program: Program

    def start(self) -> None:
        """Start it."""
        self.program.start()

    def stop(self, number: int = signal.SIGTERM) -> int | None:
        """End it; return its exit code."""
        return self.program.stop(number)


@dataclass(slots=True)
class Registration:
    """Everything of ours in a control plane, and the processes behind it."""

    control_plane: ControlPlane
    directory: Path
    serving_ca: Authority = field(init=False)
    replicas: list[Replica] = field(default_factory=list)
    _api_service: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.serving_ca = Authority("serving", self.directory)
        self.new_serving_pair()

    def new_serving_pair(self) -> None:
        """Make our serving pair anew; it is read again while we run."""
        names = ("localhost", HOST, f"{SERVICE}.{NAMESPACE}.svc")
        self.serving_ca.serving("serving", *names)

    def install(self, *, others: bool = True) -> None:
        """Apply CRDs and rights; `others` are the CRDs of KubeVirt and whom we read besides."""
        self.control_plane.kubectl("apply", "-k", str(CRDS), "--server-side")
        if others:
            self.control_plane.kubectl("apply", "-f", str(OTHER_CRDS), "--server-side")
        manifests = with_ca(self.directory, self.serving_ca.file.read_bytes())
        installed = manifests / "overlays" / "own-ca"
        built = self.control_plane.kubectl("kustomize", str(installed))
        documents = [each for each in yaml.safe_load_all(built) if each]
        first = [each for each in documents if each["kind"] == "Namespace"]
        rest = [each for each in documents if each["kind"] not in ("Namespace", *_REPLACED)]
        self.control_plane.apply(*first)
        self.control_plane.apply(*rest)
        self._api_service = next(each for each in documents if each["kind"] == "APIService")
        self.control_plane.kubectl(
            *("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        )

    def register(self, port: int) -> None:
        """Have kube-apiserver send the group's requests to a port of loopback."""
        spec = {"type": "ExternalName", "externalName": "localhost"}
        ports = [{"name": "https", "port": port, "protocol": "TCP"}]
        metadata = {"name": SERVICE, "namespace": NAMESPACE}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
        self.control_plane.apply(service | {"spec": spec | {"ports": ports}})
        self.control_plane.apply(self.api_service(port))

    def api_service(self, port: int) -> dict[str, Any]:
        """Return the APIService of the manifests, for this port and our CA."""
        document: dict[str, Any] = yaml.safe_load(yaml.safe_dump(self._api_service))
        spec = document["spec"]
        spec.pop("insecureSkipTLSVerify", None)
        spec["service"]["port"] = port
        spec["caBundle"] = base64.b64encode(self.serving_ca.file.read_bytes()).decode()
        return document

    def add_replica(self, *flags: str) -> Replica:
        """Start one more process of ours, on a port of its own."""
        kubeconfig = self.control_plane.kubeconfig_of_account(NAMESPACE, SERVICE)
        port = free_port()
        command = [
            *(sys.executable, "-m", "apiserver", "serve"),
            *(f"--secure-port={port}", f"--bind-address={HOST}"),
            f"--tls-cert-file={self.directory / 'serving.crt'}",
            f"--tls-private-key-file={self.directory / 'serving.key'}",
            *(
                f"--{each}kubeconfig={kubeconfig}"
                for each in ("", "authentication-", "authorization-")
            ),
            "--capacity-tick=0s",
            *flags,
        ]
        log = self.directory / f"replica-{len(self.replicas)}.log"
        replica = Replica(port, Program("gpuclass-apiserver", command, log, dict(os.environ)))
        replica.start()
        self.replicas.append(replica)
        return replica

    def wait_until_ready(self, *replicas: Replica) -> None:
        """Wait until processes of ours are ready, as a Service waits before it sends anything."""
        for replica in replicas:
            wait_until("ready", partial(is_ready, replica.port), 30, replica.program)

    def wait_until_available(self, seconds: float = 30.0) -> None:
        """Wait until kube-apiserver finds the APIService available."""
        program = self.replicas[0].program if self.replicas else None
        wait_until("APIService Available", self.available, seconds, program)

    def available(self) -> bool:
        """Whether kube-apiserver finds the APIService available."""
        shown = self.control_plane.get("apiservice", API_SERVICE)
        conditions = shown.get("status", {}).get("conditions", ())
        return any(each["type"] == "Available" and each["status"] == "True" for each in conditions)

    def stop(self) -> None:
        """End every process of ours."""
        for replica in self.replicas:
            replica.stop()

    def remove(self) -> None:
        """Take the APIService away, so that nothing of the cluster waits for us."""
        self.control_plane.kubectl("delete", "apiservice", API_SERVICE, "--ignore-not-found")
