"""The cache of builds: made once, complete or not there."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from eightfold.files import IMPORT_ROOT
from eightfold.sim.simulator.cache import cache_directory, cached, content_key


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path))
    return tmp_path


def test_two_who_want_the_same_make_it_once():
    made = []
    both_asked = threading.Barrier(2)

    def make(folder):
        made.append(folder)
        time.sleep(0.1)  # the other one is waiting by now
        (folder / "file").write_text("complete")

    def ask(_):
        both_asked.wait()
        return (cached("kind", "key", make) / "file").read_text()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, range(2))) == ["complete"] * 2
    assert len(made) == 1


def test_a_failed_build_is_not_found_later():
    def fail(folder):
        (folder / "half").write_text("")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cached("kind", "key", fail)
    folder = cached("kind", "key", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_key_depends_on_every_part():
    keys = {content_key(*parts) for parts in [("a", "b"), ("ab",), ("a", 1), ("a", "1"), ()]}
    assert len(keys) == 5


def test_a_checkout_keeps_its_builds_in_its_build_folder(monkeypatch):
    monkeypatch.delenv("EIGHTFOLD_CACHE")
    assert cache_directory() == IMPORT_ROOT / "build" / "sim"
