"""The state directory and its certificates."""

import base64
import json
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from apiserver.cli.certificates import new_pair, still_serves
from apiserver.cli.reading import ConfigError
from apiserver.cli.state import Credential, Endpoints, StateDirectory

NOW = datetime.now(UTC)
USERS = (Credential("admin", "admin-token"), Credential("ada", "ada-token"))
ENDPOINTS = Endpoints(server="https://127.0.0.1:1", admission="https://127.0.0.1:2")


def test_certificates_are_made_once_and_kept(tmp_path: Path) -> None:
    """A kubeconfig made at the first start still works after the tenth (design 11)."""
    state = StateDirectory(tmp_path / "state")
    state.prepare(NOW)
    first = state.ca_file.read_bytes(), state.certificate_file.read_bytes()
    state.prepare(NOW + timedelta(days=30))
    assert (state.ca_file.read_bytes(), state.certificate_file.read_bytes()) == first


@pytest.mark.parametrize("broken", ["serving.crt", "serving.key", "ca.crt"])
def test_a_pair_that_cannot_be_used_is_replaced(tmp_path: Path, broken: str) -> None:
    """A half-deleted or damaged state directory heals at the next start."""
    state = StateDirectory(tmp_path)
    state.prepare(NOW)
    before = state.certificate_file.read_bytes()
    (tmp_path / broken).write_text("damaged")
    state.prepare(NOW)
    assert state.certificate_file.read_bytes() != before
    ssl.create_default_context().load_cert_chain(state.certificate_file, state.key_file)


def test_the_directory_and_the_key_are_for_the_owner_alone(tmp_path: Path) -> None:
    """Tokens and a private key lie here (design 11: mode 0700)."""
    state = StateDirectory(tmp_path / "state")
    state.prepare(NOW)
    state.write_kubeconfig(ENDPOINTS.server, USERS)
    state.write_endpoints(ENDPOINTS)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    for file in (tmp_path / "state").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file.name


def test_the_kubeconfig_has_a_context_per_user_and_the_first_is_current(tmp_path: Path) -> None:
    """`kubectl --context ada` is all it takes to be somebody else (design 11)."""
    state = StateDirectory(tmp_path)
    state.prepare(NOW)
    state.write_kubeconfig(ENDPOINTS.server, USERS)
    config = yaml.safe_load(state.kubeconfig_file.read_text())
    assert config["current-context"] == "admin"
    assert [context["name"] for context in config["contexts"]] == ["admin", "ada"]
    assert config["users"][1] == {"name": "ada", "user": {"token": "ada-token"}}
    (cluster,) = config["clusters"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:1"
    ca = base64.b64decode(cluster["cluster"]["certificate-authority-data"])
    assert ca == state.ca_file.read_bytes()


def test_endpoints_of_an_earlier_run_are_taken_away(tmp_path: Path) -> None:
    """Whoever waits for endpoints.json must not read the ports of a process that has gone."""
    state = StateDirectory(tmp_path)
    state.prepare(NOW)
    state.write_endpoints(ENDPOINTS)
    assert json.loads((tmp_path / "endpoints.json").read_text()) == {
        "server": "https://127.0.0.1:1",
        "admission": "https://127.0.0.1:2",
    }
    StateDirectory(tmp_path / "other").prepare(NOW)
    assert (tmp_path / "endpoints.json").exists()
    state.close()
    state.close()
    StateDirectory(tmp_path).prepare(NOW)
    assert not (tmp_path / "endpoints.json").exists()


def test_a_kubeconfig_without_users_has_no_current_context(tmp_path: Path) -> None:
    """An empty token file is no reason to fail."""
    state = StateDirectory(tmp_path)
    state.prepare(NOW)
    state.write_kubeconfig(ENDPOINTS.server, ())
    assert yaml.safe_load(state.kubeconfig_file.read_text())["current-context"] == ""


def test_the_mode_of_a_directory_that_was_there_stays(tmp_path: Path) -> None:
    """`--state-dir .` must not lock anybody out of what is not ours."""
    (tmp_path / "mine").mkdir(mode=0o755)
    StateDirectory(tmp_path / "mine").prepare(NOW)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o755


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    """It would overwrite what the first one tells of its ports."""
    first = StateDirectory(tmp_path)
    first.prepare(NOW)
    first.write_endpoints(ENDPOINTS)
    with pytest.raises(ConfigError, match="in use by another process"):
        StateDirectory(tmp_path).prepare(NOW)
    assert (tmp_path / "endpoints.json").exists()
    assert first.kubeconfig_file.parent == tmp_path


def test_a_file_in_the_place_of_the_directory_is_told_as_such(tmp_path: Path) -> None:
    """Not as "file exists"."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is not a directory"):
        StateDirectory(tmp_path / "file").prepare(NOW)


def test_what_cannot_be_written_later_is_a_problem_too(tmp_path: Path) -> None:
    """Whatever stands in the way of a file is told with the flag's name."""
    state = StateDirectory(tmp_path)
    state.prepare(NOW)
    (tmp_path / "kubeconfig").mkdir()
    with pytest.raises(ConfigError, match="--state-dir"):
        state.write_kubeconfig(ENDPOINTS.server, USERS)


def test_a_directory_that_cannot_be_written_is_a_problem_of_the_flag(tmp_path: Path) -> None:
    """Exit code 2 with the flag's name, not a traceback."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--state-dir"):
        StateDirectory(tmp_path / "file" / "state").prepare(NOW)


def test_a_pair_is_used_only_while_it_is_valid_and_matches() -> None:
    """Expired, of another CA or of another key: none of these may be served."""
    ca, certificate, key = new_pair(NOW)
    other_ca, other_certificate, other_key = new_pair(NOW)
    assert still_serves(ca, certificate, key, NOW)
    assert not still_serves(ca, certificate, key, NOW + timedelta(days=4000))
    assert not still_serves(ca, certificate, key, NOW - timedelta(days=1))
    assert not still_serves(other_ca, certificate, key, NOW)
    assert not still_serves(ca, other_certificate, other_key, NOW)
    assert not still_serves(ca, certificate, other_key, NOW)
    assert not still_serves(b"", certificate, key, NOW)
    assert not still_serves(ca, certificate, key, NOW, "other.example")
    assert still_serves(*new_pair(NOW, "other.example"), NOW, "other.example")
