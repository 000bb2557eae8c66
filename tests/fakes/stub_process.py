"""A stub of kube-apiserver in a process of its own, for what measures time: it has its own lock.

The child holds a world of one size, writes a kubeconfig into a directory, and ends with its stdin.
Lines on stdin are orders: `pod N`, `churn PER_SECOND`, `expire`, `status`; a line answers each.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.world import Size, a_world
from fakes.stub_api import Authority, StubAPI, kubeconfig, running
from fakes.stub_store import PODS, VMIS
from fakes.wire_worlds import load_world, pod_object

from storage.model.objects import Pod
from storage.model.snapshot import ClusterSnapshot


class StubProcess:
    """The parent's end."""

    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        self.kubeconfig = directory / "kubeconfig"
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

    def __init__(self, stub: StubAPI, world: ClusterSnapshot) -> None:
        self._stub = stub
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
        return {
            "calls": len(self._stub.calls),
            "watches": len(self._stub.watches),
            "churned": self._churned,
            "connections": self._stub.connections(),
        }

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


async def _main(size: Size, directory: Path) -> None:
    world = a_world(size.value)
    stub = StubAPI()
    load_world(stub, world)
    stub.bookmark_seconds = 5.0
    authority = Authority.new(directory)
    orders = Orders(stub, world)
    async with running(stub, authority) as url:
        (directory / "kubeconfig").write_text(kubeconfig(url, authority.ca_file))
        while text := await asyncio.to_thread(sys.stdin.readline):
            sys.stdout.write(json.dumps(orders.take(text)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_main(Size[sys.argv[1]], Path(sys.argv[2])))
