"""Options to Config."""

from pathlib import Path

import pytest

from apiserver.cli.commands import run
from apiserver.cli.config import CAPACITY_DETAILS, TENANT_SOURCES, DemoConfig, demo_config
from apiserver.cli.flags import parse
from apiserver.cli.reading import ConfigError
from storage.cluster.tenants import READERS
from storage.pool.verdict import CapacityDetail


def config_of(*arguments: str) -> DemoConfig:
    """What `demo` would run with."""
    line = parse(["demo", *arguments])
    return demo_config(line.directory, line.flags())


def test_the_defaults_are_those_of_the_help() -> None:
    """Without a flag the demo serves its own data on the ports that the README names."""
    config = config_of()
    assert config.directory is None
    assert config.state_dir == Path(".demo")
    assert (config.secure_port, config.admission_secure_port) == (8443, 8444)
    assert config.options.capacity_tick_ms == 10_000
    assert (config.options.capacity_detail, config.options.tenant_source) == ("full", "gputenants")
    assert not config.options.admission_disabled


def test_every_flag_is_taken(tmp_path: Path) -> None:
    """`--flag=value` and `--flag value` both work (contract 11.9)."""
    config = config_of(
        *("--admission-disabled", str(tmp_path), "--state-dir=s", "--secure-port", "0"),
        *("--admission-secure-port=0", "--capacity-tick=0s", "--capacity-detail=none"),
        "--tenant-source=cozystack",
    )
    assert (config.directory, config.state_dir) == (tmp_path, Path("s"))
    assert (config.secure_port, config.admission_secure_port) == (0, 0)
    assert config.options.capacity_tick_ms == 0
    assert (config.options.capacity_detail, config.options.tenant_source) == ("none", "cozystack")
    assert config.options.admission_disabled


def test_all_problems_are_told_at_once() -> None:
    """Nobody fixes flags one start at a time."""
    with pytest.raises(ConfigError) as caught:
        config_of(
            *("/does/not/exist", "--secure-port=65536", "--admission-secure-port=x"),
            *("--capacity-tick=ten", "--capacity-detail=some", "--tenant-source=elsewhere"),
            "--admission-disabled=maybe",
        )
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "DIR",
        "--secure-port",
        "--admission-secure-port",
        "--capacity-tick",
        "--capacity-detail",
        "--tenant-source",
        "--admission-disabled",
    ]


def test_a_tick_over_an_hour_and_one_port_for_both_are_refused() -> None:
    """Figures that never change, and a port that cannot be taken twice, are mistakes."""
    with pytest.raises(ConfigError, match="at most 1h"):
        config_of("--capacity-tick=61m")
    with pytest.raises(ConfigError, match="are the same"):
        config_of("--admission-secure-port=8443")


def test_the_choices_of_flags_are_those_that_there_are() -> None:
    """A member that is added elsewhere must not be refused here, or end in a KeyError."""
    assert set(CAPACITY_DETAILS) == {detail.value for detail in CapacityDetail}
    assert set(TENANT_SOURCES) == set(READERS)


def test_problems_end_with_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts tell a wrong command line from a failure."""
    assert run(["demo", "--secure-port=no", "--capacity-tick=-1s"]) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("gpuclass-apiserver: --secure-port: 'no'")
    assert told[1].startswith("gpuclass-apiserver: --capacity-tick: '-1s'")


def test_an_unknown_flag_is_told_with_the_other_problems(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Flags are never guessed from their first letters."""
    assert run(["demo", "--state=x", "--capacity-tick=5x", "--frob"]) == 2
    told = capsys.readouterr().err
    assert "--state=x: no such flag" in told
    assert "--frob: no such flag" in told
    assert "--capacity-tick: '5x'" in told


@pytest.mark.parametrize("arguments", [[], ["serv"], ["demo", "--secure-port"]])
def test_a_command_line_that_cannot_be_read_is_exit_code_2_with_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The usage says what could have been typed."""
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    assert ended.value.code == 2
    assert "usage: gpuclass-apiserver" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--help"], ["demo", "--help"], ["serve", "--help"], ["--version"]]
)
def test_help_and_version_are_exit_code_0(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Help is an answer, not a failure."""
    with pytest.raises(SystemExit) as ended:
        run(arguments)
    assert ended.value.code == 0
    assert "gpuclass-apiserver" in capsys.readouterr().out
