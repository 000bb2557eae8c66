"""A stub of kube-apiserver in a process of its own, for what measures time: it has its own lock.

The child holds a world of one size, writes a kubeconfig into a directory, and ends with its stdin.
It takes each token for a user of that name, allows everything, 2 ms after it was asked, and trusts
the front proxy whose certificate is in the directory too. Lines on stdin are orders: `pod N`,
`churn PER_SECOND`, `expire`, `requests`, `status`; a line answers each.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import trustme
from bench.world import Size, a_world
from fakes.stub_api import Authority, StubAPI, kubeconfig, running
from fakes.stub_reviews import Spec, StubReviews
from fakes.stub_store import CONFIG_MAPS, PODS, VMIS
from fakes.wire_worlds import load_world, pod_object

from storage.model.objects import Pod
from storage.model.snapshot import ClusterSnapshot

REVIEW_SECONDS: Final = 0.002

_PROXY: Final = "front-proxy-client"
_TRUST: Final = {
    "requestheader-allowed-names": json.dumps([_PROXY]),
    "requestheader-username-headers": '["X-Remote-User"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
}


class StubProcess:
    """The parent's end."""

    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        self.kubeconfig = directory / "kubeconfig"
        self.ca_file = directory / "ca.crt"
        #: The front proxy's certificate with its key.
        self.proxy_file = directory / "front-proxy.pem"
        self._process = process

    def order(self, text: str) -> dict[str, Any]:
        """Give an order and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@contextmanager
def stub_process(size: Size, directory: Path) -> Iterator[StubProcess]:
    """Run a stub with the world of a size while the block runs."""
    command = [sys.executable, "-m", "fakes.stub_process", size.name, str(directory)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": f"{root / 'tests'}:{root}", "PATH": "/usr/bin:/bin"},
    ) as process:
        stub = StubProcess(process, directory)
        stub.order("status")  # answered once it serves
        try:
            yield stub
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)


class Orders:
    """The child's end."""

    def __init__(self, stub: StubAPI, reviews: StubReviews, world: ClusterSnapshot) -> None:
        self._stub = stub
        self._reviews = reviews
        self._pods = world.pods
        self._churned = 0
        self._churn: asyncio.Task[None] | None = None

    def take(self, text: str) -> dict[str, Any]:
        """Do what a line says."""
        word, *rest = text.split()
        match word:
            case "pod":
                self._change(int(rest[0]))
            case "churn":
                if self._churn is not None:
                    self._churn.cancel()
                self._churn = asyncio.get_running_loop().create_task(self._go_on(int(rest[0])))
            case "expire":
                for resource in (PODS, VMIS):
                    self._stub.expire_watches(resource)
            case "requests":
                return {"requests": self._requests()}
        tokens, accesses = len(self._reviews.tokens), len(self._reviews.accesses)
        return {
            "reads": len(self._stub.calls) - tokens - accesses,
            "tokens": tokens,
            "accesses": accesses,
            "watches": len(self._stub.watches),
            "churned": self._churned,
            "connections": self._stub.connections(),
        }

    def _requests(self) -> list[dict[str, Any]]:
        """Return what was read so far, as it was asked for."""
        return [
            {"path": call.path, "query": dict(call.query), "accept": call.accept}
            for call in self._stub.calls
            if call.method == "GET"
        ]

    def _change(self, number: int) -> None:
        """Let a pod end, or run again."""
        pod: Pod = self._pods[number % len(self._pods)]
        value = pod_object(pod)
        stored = self._stub.store.shelves[PODS].objects[pod.namespace, pod.name]
        ended = stored.fields["status.phase"] == "Succeeded"
        value["status"]["phase"] = "Running" if ended else "Succeeded"
        self._stub.put(PODS, value)

    async def _go_on(self, per_second: int) -> None:
        while per_second:
            for _ in range(max(per_second // 10, 1)):
                self._change(self._churned)
                self._churned += 1
            await asyncio.sleep(0.1)


def _user(spec: Spec) -> Spec:
    return {"authenticated": True, "user": {"username": spec["token"]}}


def _trust_front_proxy(stub: StubAPI, file: Path) -> None:
    """Say whom to trust, and leave that one's certificate and key."""
    ca = trustme.CA(key_type=trustme.KeyType.ECDSA)
    leaf = ca.issue_cert(common_name=_PROXY, key_type=trustme.KeyType.ECDSA)
    leaf.private_key_and_cert_chain_pem.write_to_path(file)
    data = {**_TRUST, "requestheader-client-ca-file": ca.cert_pem.bytes().decode()}
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    stub.load(CONFIG_MAPS, [{"metadata": metadata, "data": data}])


async def _main(size: Size, directory: Path) -> None:
    world = a_world(size.value)
    stub = StubAPI()
    load_world(stub, world)
    stub.bookmark_seconds = 5.0
    reviews = StubReviews(
        stub,
        token=_user,
        access=lambda _: {"allowed": True},
        before=partial(asyncio.sleep, REVIEW_SECONDS),
    )
    _trust_front_proxy(stub, directory / "front-proxy.pem")
    authority = Authority.new(directory)
    orders = Orders(stub, reviews, world)
    async with running(stub, authority) as url:
        (directory / "kubeconfig").write_text(kubeconfig(url, authority.ca_file))
        while text := await asyncio.to_thread(sys.stdin.readline):
            sys.stdout.write(json.dumps(orders.take(text)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_main(Size[sys.argv[1]], Path(sys.argv[2])))
