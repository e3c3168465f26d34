"""What is said of a runtime is said of the files that are loaded, whatever else is installed."""

import base64
import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from eightfold.run.reference.oracle import Oracle, OracleAborted
from eightfold.run.report.result import verdict
from eightfold.run.session import Session
from tests.support.models.single import moved

FAKE = {
    "ai_edge_litert/__init__.py": '__version__ = "2.3.0"\n',
    "ai_edge_litert/interpreter.py": """
import numpy as np

class OpResolverType:
    BUILTIN_REF = None
    def __class_getitem__(cls, name):
        return None

class Interpreter:
    def __init__(self, **options):
        self.tensors = {}
    def allocate_tensors(self):
        pass
    def set_tensor(self, index, array):
        self.tensors[index] = array
    def invoke(self):
        self.tensors[1] = self.tensors[0]
    def get_tensor(self, index):
        return self.tensors[index]
""",
}


def install(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Put files into a folder, as a package that pip has installed there."""
    lines = []
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{file},sha256={digest.decode()},{len(text)}\n")
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(lines))


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the child's Python looks into before all others."""
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return tmp_path


def loaded() -> str:
    with Oracle() as oracle:
        return oracle.loaded


def test_a_nightly_that_is_loaded_is_named(beside: Path) -> None:
    install(beside, "ai-edge-litert-nightly", "2.4.0.dev9", FAKE)
    assert loaded() == "ai-edge-litert-nightly 2.4.0.dev9"


@pytest.mark.parametrize("last", ["release", "nightly"])
def test_of_two_packages_the_one_whose_files_lie_there_is_named(beside: Path, last: str) -> None:
    changed = {name: f"{text}# of the nightly\n" for name, text in FAKE.items()}
    packages = {
        "release": ("ai-edge-litert", "2.3.0", FAKE),
        "nightly": ("ai-edge-litert-nightly", "2.4.0.dev9", changed),
    }
    install(beside, *packages[{"release": "nightly", "nightly": "release"}[last]])
    install(beside, *packages[last])
    assert loaded() == " ".join(packages[last][:2])


@pytest.mark.slow
def test_files_that_no_package_brought_as_they_are_have_their_hash(beside: Path) -> None:
    install(beside, "ai-edge-litert", "2.3.0", FAKE)
    (beside / "ai_edge_litert" / "interpreter.py").write_text("Interpreter = None\n")
    first = loaded()
    assert first.startswith("ai_edge_litert 2.3.0, SHA-256 ")
    (beside / "ai_edge_litert" / "interpreter.py").write_text("Interpreter = 1\n")
    assert loaded() != first


def test_a_runtime_that_cannot_be_loaded_is_one_line(beside: Path) -> None:
    install(beside, "ai-edge-litert", "2.3.0", {"ai_edge_litert/__init__.py": ""})
    with Oracle() as oracle, pytest.raises(OracleAborted, match="No module named 'ai_edge_litert"):
        oracle.loaded  # noqa: B018


def test_a_run_says_which_module_it_was_compared_with(beside: Path) -> None:
    install(beside, "ai-edge-litert-nightly", "2.4.0.dev9", FAKE)
    with Session(backend="golden") as session:
        result = session.run(
            moved("RELU", (4,), (4,)), {0: np.arange(4, dtype=np.int8)}, compare=True
        )
    assert result.provenance
    assert result.provenance.versions["litert"] == "ai-edge-litert-nightly 2.4.0.dev9"
    assert "equals LiteRT's kernels (ai-edge-litert-nightly 2.4.0.dev9)" in verdict(result)


def test_what_is_installed_is_named_by_its_package() -> None:
    package, version = loaded().split()
    assert package.startswith("ai-edge-litert")
    assert version[0].isdecimal()


@pytest.mark.tflm
def test_a_package_is_named_as_pip_takes_it() -> None:
    """Its own metadata say ``tflite_micro``."""
    with Oracle("tflm") as oracle:
        assert oracle.loaded.startswith("tflite-micro ")
        assert oracle.runtime.version(oracle.loaded)[0].isdecimal()
