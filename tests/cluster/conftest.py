"""One control plane for all tests of this tier; without binaries they are skipped, or fail."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster.control_plane.assets import MissingAssetsError, assets_directory
from cluster.control_plane.cluster import ControlPlane
from cluster.real_objects import RealObjects, documents
from cluster.registered import Registration
from fakes.demo import SAMPLES

#: The world that the expected matrix belongs to.
WORLD = ("10", "20", "30", "40", "50", "60", "70")


@contextmanager
def running_control_plane(directory: Path) -> Iterator[ControlPlane]:
    """A control plane that ends with the block."""
    running = ControlPlane(directory)
    running.start()
    try:
        yield running
    finally:
        running.stop()


@contextmanager
def registered(control_plane: ControlPlane, directory: Path) -> Iterator[Registration]:
    """Our manifests, applied; the processes that are added end with the block."""
    registration = Registration(control_plane, directory)
    registration.install()
    try:
        yield registration
    finally:
        registration.stop()


def create_sample_world(control_plane: ControlPlane) -> None:
    """Create the sample cluster as real objects."""
    files = [next(SAMPLES.glob(f"{number}-*.yaml")) for number in WORLD]
    RealObjects(control_plane).create(documents(files))


@pytest.fixture(scope="session")
def assets(request: pytest.FixtureRequest) -> Path:
    """The folder with the binaries."""
    try:
        return assets_directory()
    except MissingAssetsError as error:
        if request.config.getoption("--require-cluster"):
            pytest.fail(f"the cluster tier is required: {error}", pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def control_plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that every test may add to, and none may break."""
    del assets
    with running_control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="session")
def registration(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registration]:
    """The sample world, and one process of ours that serves it."""
    with registered(control_plane, tmp_path_factory.mktemp("registered")) as installed:
        create_sample_world(control_plane)
        replica = installed.add_replica()
        installed.wait_until_ready(replica)
        installed.register(replica.port)
        installed.wait_until_available()
        yield installed


@pytest.fixture(scope="module")
def own_control_plane(
    assets: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A control plane for one module, which may break it."""
    del assets
    with running_control_plane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="module")
def own_registration(
    own_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registration]:
    """The sample world in a control plane for one module; no process of ours runs yet."""
    with registered(own_control_plane, tmp_path_factory.mktemp("registered")) as installed:
        create_sample_world(own_control_plane)
        yield installed
