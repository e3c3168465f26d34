"""The runner: verdicts, caching, waves and processes, on both simulators."""

import os
import re
import select
import signal
from pathlib import Path

import pytest

import eightfold.sim.simulator.build
import eightfold.sim.simulator.runner
import eightfold.sim.simulator.sources
from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.common.progress import Progress
from eightfold.sim.simulator import simulators, toolchain, waves
from eightfold.sim.simulator.build import BuildFailed, Verilog, build_model
from eightfold.sim.simulator.cache import one_word
from eightfold.sim.simulator.limits import VARIABLES, Limits, limits
from eightfold.sim.simulator.runner import BenchFailed, Simulation, run_bench
from eightfold.sim.simulator.simulators import IcarusRunner, make_runner
from eightfold.sim.simulator.toolchain import tool_environment, verilator_root
from eightfold.sim.simulator.waves import missing_for_fst
from tests.support.hardware.faulty_stage import Fault, FaultyStage

BENCHES = IMPORT_ROOT / "tests" / "support" / "hardware"


def run(simulator, testcase="passes_words_on", bench="stage_bench", **options):
    settings = {"fault": Fault.NONE.value, "idle": 0.3, "stall": 0.4, "words": 200}
    settings |= options.pop("parameters", {})
    return run_bench(
        FaultyStage,
        bench,
        simulator,
        parameters=settings,
        testcase=testcase,
        python_path=[BENCHES],
        **options,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("idle", "stall", "seed"), [(0, 0, 0), (0.5, 0, 1), (0, 0.5, 2), (0.5, 0.5, 3)]
)
@pytest.mark.usual("idle", "stall")
def test_passes_a_correct_stage(simulator, idle, stall, seed):
    result = run(simulator, seed=seed, parameters={"idle": idle, "stall": stall})
    assert result.tests == ("passes_words_on",)
    assert (result.report["taken"], result.report["sent"]) == (208, 208)
    assert result.report["seed"] == seed


@pytest.mark.slow
def test_reads_after_an_edge_are_from_before_it(simulator):
    run(simulator, "reads_after_an_edge_are_from_before_it")


def test_drivers_keep_up_with_a_word_per_cycle(simulator):
    run(simulator, "a_word_per_cycle")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault.MOVES_PAYLOAD, r"o: payload moved while stalled, after word \d+: "),
        (Fault.DROPS_VALID, r"o: valid dropped before ready, after word \d+"),
        (Fault.LOSES_WORD, r"o: word 5 of 208 differs: got 6, expected 5; seed 7"),
        (Fault.CHANGES_WORD, r"o: word 5 of 208 differs: got 4, expected 5; seed 7"),
        (Fault.REPEATS, r"o: word \d+ of 208 differs: got"),
        (
            Fault.HANGS,
            r"no transfer on any stream for 500 cycles: "
            r"i valid=1 ready=0 after 0 words; o valid=0 ready=[01] after 0 words",
        ),
    ],
)
@pytest.mark.usual("fault")
def test_reports_a_fault(simulator, fault, message, seed):
    with pytest.raises(BenchFailed, match=message) as failure:
        run(simulator, seed=seed, parameters={"fault": fault.value})
    text = str(failure.value)
    assert f"stage_bench on {simulator}, seed 7: passes_words_on failed: " in text
    log = Path(text.rpartition("log: ")[2])
    assert "passes_words_on failed" in log.read_text()


def test_reports_a_word_too_many(simulator):
    with pytest.raises(BenchFailed, match="o: a word too many after 8: got 7; seed 0"):
        run(simulator, parameters={"fault": Fault.REPEATS.value, "idle": 0, "words": 0})


@pytest.mark.usual(names=["icarus"])
def test_reports_the_values_of_an_assertion(simulator):
    with pytest.raises(BenchFailed, match=r"failed: assert 3 == 4\s.*where 3 = len"):
        run(simulator, "expects_too_much")


def test_reports_a_bench_that_cannot_be_loaded(simulator):
    with pytest.raises(BenchFailed, match=r"the simulation ended early[\s\S]*no_such_bench"):
        run(simulator, bench="no_such_bench")


def test_reports_that_no_test_matches(simulator):
    with pytest.raises(ValueError, match="no test was run"):
        run(simulator, "no_such_test")


@pytest.mark.slow
@pytest.mark.usual(names=["icarus"])
def test_second_run_does_not_build(simulator, monkeypatch):
    run(simulator)

    def build_again(*arguments):
        raise AssertionError("built again")

    monkeypatch.setattr(eightfold.sim.simulator.build, "_compile", build_again)
    monkeypatch.setattr(eightfold.sim.simulator.sources.verilog, "from_rtlil", build_again)
    run(simulator, seed=1)


def test_another_design_is_built_again(monkeypatch, simulator):
    built = []
    monkeypatch.setattr(
        eightfold.sim.simulator.build, "_compile", lambda *arguments: built.append(arguments[2].top)
    )
    monkeypatch.setattr(
        eightfold.sim.simulator.build, "RECIPE", object.__hash__(built)
    )  # a key nobody has used
    told = []
    build_model(FaultyStage, simulator, on_progress=told.append)
    assert built == ["eightfold_faulty_stage"]
    words = f"compiling eightfold_faulty_stage with {simulator.capitalize()}"
    assert told == [Progress(0, None, words)]


@pytest.mark.slow
@pytest.mark.usual(names=["icarus"])
def test_waves_are_written_only_on_request(simulator, tmp_path, monkeypatch):
    monkeypatch.setenv("WAVES", "1")  # cocotb's own switch must not matter
    monkeypatch.chdir(tmp_path)
    run(simulator)
    assert not list(tmp_path.rglob("*"))
    run(simulator, trace=tmp_path / "folder" / "stage.vcd")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files == [tmp_path / "folder" / "stage.vcd"]
    assert "$enddefinitions" in files[0].read_text()


def is_fst(path):
    """Return whether a file begins with the header of FST: block type 0, 329 bytes long."""
    return path.read_bytes()[:9] == b"\0" + (329).to_bytes(8, "big")


@pytest.mark.slow  # where it can be written, compiles the simulator's library anew
def test_waves_in_fst_where_the_simulator_can(simulator, tmp_path):
    trace = tmp_path / "stage.fst"
    if needed := missing_for_fst(simulator):
        with pytest.raises(InputError, match=re.escape(f"trace {trace}: {needed}; or name a .vcd")):
            run(simulator, trace=trace)
        assert not trace.exists()
        return
    run(simulator, trace=trace)
    assert is_fst(trace)


def test_missing_libraries_of_fst_are_one_clear_line(monkeypatch):
    monkeypatch.setattr(waves, "links", lambda library: False)
    text = (
        "trace a.fst: Verilator needs liblz4-dev and zlib1g-dev for FST: "
        "apt-get install liblz4-dev zlib1g-dev; or name a .vcd file"
    )
    with pytest.raises(InputError, match=f"^{re.escape(text)}$"):
        run("verilator", trace=Path("a.fst"))


def test_a_library_that_is_not_there_does_not_link(monkeypatch):
    monkeypatch.setattr(waves, "_HEADERS", {"c": "stdio.h", "d": "no_such_header.h"})
    assert waves.links("c")
    assert not waves.links("d")


def test_only_models_with_waves_have_another_key(simulator, monkeypatch):
    keys = []
    monkeypatch.setattr(
        eightfold.sim.simulator.build, "cached", lambda kind, key, make: keys.append(key)
    )
    source = Path(__file__)
    design = Verilog("stage", (source,))
    for form in (None, "vcd", "fst"):
        build_model(design, simulator, waves=form)
    assert len(set(keys)) == 3


def test_rejects_a_trace_of_another_format(simulator):
    with pytest.raises(InputError, match=r"trace waves\.lxt: waves are \.vcd or \.fst"):
        run(simulator, trace=Path("waves.lxt"))


def test_progress_reaches_the_caller(simulator, tmp_path):
    told = []

    def on_progress(progress):
        told.append(progress)
        (tmp_path / str(progress.done)).touch()

    run(simulator, "reports_progress", parameters={"seen": str(tmp_path)}, on_progress=on_progress)
    simulated = [progress for progress in told if progress.total]  # before that, what is built
    assert simulated == [Progress(step, 3, f"step {step}") for step in range(3)]


@pytest.mark.slow
@pytest.mark.usual(names=["icarus"])
def test_simulations_at_once_do_not_meet(simulator):
    model = build_model(FaultyStage, simulator)
    settings = {"fault": 0, "idle": 0.3, "stall": 0.3, "words": 500}
    simulations = [
        Simulation(
            model,
            "stage_bench",
            parameters=settings,
            seed=seed,
            testcase="passes_words_on",
            python_path=[BENCHES],
        )
        for seed in (1, 2)
    ]
    reports = [simulation.wait().report for simulation in simulations]
    assert [report["seed"] for report in reports] == [1, 2]
    assert reports[0]["folder"] != reports[1]["folder"]
    assert not any(Path(report["folder"]).exists() for report in reports)


def test_a_running_simulation_can_be_stopped(simulator):
    build_model(FaultyStage, simulator)
    with pytest.raises(KeyboardInterrupt):
        run(simulator, "never_ends", on_progress=interrupt)


def interrupt(progress):
    raise KeyboardInterrupt


def test_an_interrupt_ends_all_that_was_started(tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    runner = make_runner("icarus", waves=None)
    runner.env = dict(os.environ)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    before = signal.signal(signal.SIGUSR1, interrupt)
    # A grandchild holds the pipe open until it is ended.
    script = f"(kill -USR1 {os.getpid()}; exec sleep 600) > {pipe} & wait"
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(KeyboardInterrupt):
            runner.execute(["sh", "-c", script], tmp_path, None)
    finally:
        signal.signal(signal.SIGUSR1, before)
    ended, _, _ = select.select([reader], [], [], 60)
    os.close(reader)
    assert ended, "a process lives on"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("a.cpp: fine\ncc1plus: fatal error: out of luck\nmake: *** [a.o]", "fatal error: out of"),
        ("%Error: ports.vlt:3: no such port\n%Error: Exiting", "ports.vlt:3: no such port"),
        ("one\ntwo", "two"),
        ("", "no output"),
    ],
)
def test_a_tool_that_fails_is_one_clear_line(monkeypatch, tmp_path, said, told):
    def build(*_, log_file, **__):
        log_file.write_text(said)
        raise RuntimeError("make ended with status 2")

    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path))
    monkeypatch.setattr(IcarusRunner, "build", build)
    source = tmp_path / "stage.v"
    source.write_text("module stage ();\nendmodule\n")
    with pytest.raises(InputError, match=told) as raised:
        build_model(Verilog("stage", (source,)), "icarus")
    text = str(raised.value)
    assert isinstance(raised.value, BuildFailed)
    assert text.startswith("icarus cannot build stage: make ended with status 2: ")
    assert "\n" not in text
    assert Path(text.rpartition("log: ")[2]).read_text() == said


def test_a_trace_that_cannot_be_written_is_one_clear_line(monkeypatch):
    monkeypatch.setattr(eightfold.sim.simulator.runner, "build_model", None)  # known before
    with pytest.raises(InputError, match="trace /dev/null/a.vcd: cannot be written: "):
        run("icarus", trace=Path("/dev/null/a.vcd"))


def test_runs_without_a_path(monkeypatch):
    monkeypatch.delenv("PATH")
    assert tool_environment()["PATH"].endswith(os.defpath)
    make_runner("icarus", waves=None)._set_env_common()  # cocotb's, which adds to the variable


@pytest.mark.slow  # compiles the simulator's library for makefiles that no other test has
@pytest.mark.usual(names=["icarus"])
def test_everything_may_lie_in_folders_with_blanks(simulator, monkeypatch, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    for module, name, real in (
        (toolchain, "verilator_root", verilator_root()),
        (simulators, "libs_dir", simulators.libs_dir.parent),
    ):
        link = folder / real.name
        link.symlink_to(real)
        value = (lambda link=link: one_word(link)) if name == "verilator_root" else link / "libs"
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("cocotb_tools.config.libs_dir", folder / "cocotb" / "libs")
    monkeypatch.setattr("cocotb_tools.config.share_dir", folder / "cocotb" / "share")
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)
    run(simulator, trace=Path("the waves.vcd"))
    assert "$enddefinitions" in (folder / "the waves.vcd").read_text()


@pytest.mark.parametrize(
    ("name", "trace", "line"),
    [
        ("icarus", None, "iverilog is not installed: apt-get install iverilog"),
        ("verilator", Path("a.fst"), r"apt-get install perl make g\+\+$"),
        ("modelsim", None, "simulator modelsim: unknown; use one of verilator"),
    ],
)
def test_what_is_missing_or_unknown_is_one_clear_line(monkeypatch, name, trace, line):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=line):
        run(name, trace=trace)


@pytest.mark.slow
@pytest.mark.usual(names=["icarus"])
def test_a_bench_that_runs_for_ever_is_ended_by_cycles(simulator, monkeypatch):
    monkeypatch.setenv("EIGHTFOLD_LIMIT_CYCLES", "200")
    with pytest.raises(
        BenchFailed, match="stage_bench on .*, seed 7: waits_for_ever failed: .* 200 c"
    ):
        run(simulator, "waits_for_ever", seed=7)
    run(simulator, "may_take_longer")


@pytest.mark.slow
@pytest.mark.usual(names=["icarus"])
def test_a_bench_in_which_time_stands_still_is_ended_by_cpu_time(simulator, monkeypatch):
    monkeypatch.setenv("EIGHTFOLD_LIMIT_SECONDS", "2")
    with pytest.raises(BenchFailed, match="stage_bench on .*, seed 7: .* after 2 s of CPU time"):
        run(simulator, "hangs", seed=7)


@pytest.mark.parametrize("variable", VARIABLES.values())
@pytest.mark.parametrize("text", ["0", "-1", "1.5", "ten", "\u0663"])
def test_a_limit_is_a_number(variable, text, monkeypatch):
    monkeypatch.setenv(variable, text)
    with pytest.raises(InputError, match=f"^{variable}={text}: set it to a whole number"):
        limits()


def test_there_is_a_limit_unless_another_one_is_set(monkeypatch):
    for variable in VARIABLES.values():
        monkeypatch.delenv(variable, raising=False)
    assert limits() == Limits()
    monkeypatch.setenv("EIGHTFOLD_LIMIT_CYCLES", "5")
    assert limits() == Limits(cycles=5)
