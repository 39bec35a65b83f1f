"""The systemd unit: its command starts a daemon, its exit codes are those that the daemon has."""
import configparser
import os
import shlex
import shutil
import subprocess

import pytest
from daemon import Daemon
from harness import DONE, FORBIDDEN, USAGE, binary


class _Unit(configparser.RawConfigParser):
    def optionxform(self, optionstr):
        return optionstr


@pytest.fixture
def service():
    unit = _Unit()
    assert unit.read(os.path.join(os.path.dirname(binary()), "layover.service"))
    return unit["Service"]


def test_its_command_starts_a_daemon(service, home, tmp_path):
    os.mkdir(tmp_path / "layover")
    command = shlex.split(service["ExecStart"].replace("%S/layover", home.path).replace("%L", str(tmp_path)))
    assert os.path.basename(command[0]) == "layover" and command[1:4] == ["--home", home.path, "serve"]
    with Daemon(home, *command[4:]) as daemon:
        assert home.try_call("serve").code == FORBIDDEN
        assert daemon.end() == DONE
    assert os.path.exists(tmp_path / "layover" / "events")
    assert home.try_call("serve", "--nothing").code == USAGE
    assert service["RestartPreventExitStatus"].split() == [str(USAGE), str(FORBIDDEN)]
    assert service["SuccessExitStatus"] == "85"
    assert int(service["TimeoutStopSec"]) > int(command[command.index("--grace") + 1])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd here")
def test_systemd_understands_it(tmp_path):
    with open(os.path.join(os.path.dirname(binary()), "layover.service"), encoding="utf-8") as file:
        text = file.read()
    lines = [f"ExecStart={binary()} serve" if line.startswith("ExecStart=") else line for line in text.splitlines()]
    path = tmp_path / "layover.service"
    path.write_text("\n".join(line for line in lines if not line.startswith("Documentation=")) + "\n")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "layover.service" in line and "User" not in line]
    assert not complaints, done.stderr
