"""The cache of builds: made once, complete or not there."""

import errno
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from eightfold.errors import InputError
from eightfold.files import IMPORT_ROOT
from eightfold.sim.simulator.cache import (
    _writable,
    cache_directory,
    cached,
    check_room,
    content_key,
)
from eightfold.sim.simulator.places import is_one_word, one_word, temporary_folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path))
    _writable.cache_clear()
    yield tmp_path
    _writable.cache_clear()  # nobody else is told of places that are gone


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


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The system's folder for temporary files, this test's own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary" / f"eightfold-{os.getuid()}"


def test_a_cache_that_cannot_be_written_is_replaced_and_said_once(monkeypatch, temporary, caplog):
    monkeypatch.setenv("EIGHTFOLD_CACHE", "/dev/null/cache")
    for key in ("one", "two"):
        folder = cached("kind", key, lambda folder: (folder / "file").touch())
        assert folder == temporary / "kind" / key
        assert (folder / "file").exists()
    (message,) = caplog.messages
    assert message == (
        f"eightfold: /dev/null/cache: cannot be written: Not a directory; builds are kept in "
        f"{temporary}"
    )


def test_a_cache_that_cannot_be_written_is_read(monkeypatch, own_cache, caplog):
    made = cached("kind", "key", lambda folder: (folder / "file").touch())
    monkeypatch.setattr("eightfold.sim.simulator.cache._writable", lambda _: 1 / 0)
    assert cached("kind", "key", lambda folder: None) == made
    assert not caplog.messages


def test_a_full_disk_is_one_line(own_cache):
    def fill(folder):
        (folder / "half").touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(InputError) as raised:
        cached("kind", "key", fill)
    assert str(raised.value) == (
        f"{own_cache}/kind/key: cannot be made: No space left on device; EIGHTFOLD_CACHE chooses "
        "another folder for builds"
    )
    assert (cached("kind", "key", lambda folder: None)).exists()


def test_a_full_disk_is_told_instead_of_what_it_made_fail(own_cache, monkeypatch):
    check_room(own_cache, own_cache / "missing")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4096))
    with pytest.raises(InputError, match=f"{own_cache}: No space left on device"):
        check_room(own_cache)


def test_what_is_made_for_a_folder_with_blanks_is_made_elsewhere(monkeypatch, own_cache, temporary):
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(own_cache / "a $cache"))
    places = []

    def make(folder):
        places.append(folder)
        (folder / "file").write_text("complete")

    folder = cached("kind", "key", make)
    assert folder == own_cache / "a $cache" / "kind" / "key"
    assert (folder / "file").read_text() == "complete"
    assert places[0].parent == temporary
    assert not places[0].exists()


def test_a_folder_is_reached_by_one_word(own_cache, temporary):
    assert one_word(own_cache) == own_cache
    folder = own_cache / "a b"
    folder.mkdir()
    (folder / "file").write_text("found")
    link = one_word(folder)
    for _ in range(2):
        assert one_word(folder) == link
        assert is_one_word(link)
        assert (link / "file").read_text() == "found"
    assert one_word(own_cache / "a c") != link


def test_a_temporary_folder_of_somebody_else_is_not_used(temporary, monkeypatch):
    monkeypatch.setattr("eightfold.sim.simulator.places.ELSEWHERE", ())
    temporary.mkdir()
    temporary.chmod(0o777)
    with pytest.raises(InputError, match="no folder for temporary files: set TMPDIR"):
        temporary_folder()
    temporary.chmod(0o700)
    assert temporary_folder() == temporary
    somebody = os.getuid() + 1
    monkeypatch.setattr("os.getuid", lambda: somebody)
    temporary.rename(temporary.with_name(f"eightfold-{somebody}"))
    with pytest.raises(InputError, match="no folder for temporary files: set TMPDIR"):
        temporary_folder()


def test_key_depends_on_every_part():
    keys = {content_key(*parts) for parts in [("a", "b"), ("ab",), ("a", 1), ("a", "1"), ()]}
    assert len(keys) == 5


def test_a_checkout_keeps_its_builds_in_its_build_folder(monkeypatch):
    monkeypatch.delenv("EIGHTFOLD_CACHE")
    assert cache_directory() == IMPORT_ROOT / "build" / "sim"
