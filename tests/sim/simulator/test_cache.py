"""The cache of builds: made once, complete or not there."""

import errno
import os
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from eightfold.sim.simulator.cache import (
    MANIFEST,
    _unusable,
    _writable,
    cache_directory,
    cached,
    check_room,
    content_key,
    is_one_word,
    is_private,
    is_sound,
    one_word,
    private_folder,
)
from lab.mutants.scratch import Scratch


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
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "whole"]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The system's folder for temporary files, this test's own."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    private_folder.cache_clear()
    yield tmp_path / "temporary"
    private_folder.cache_clear()


def make_file(folder):
    (folder / "file").write_text("complete")


def refuse(folder):
    raise AssertionError(f"{folder} is made again")


def test_a_cache_that_cannot_be_written_is_replaced_and_said_once(monkeypatch, own_cache, caplog):
    monkeypatch.setenv("EIGHTFOLD_CACHE", "/dev/null/cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_cache / "home"))
    for key in ("one", "two"):
        folder = cached("kind", key, make_file)
        assert folder == own_cache / "home" / "eightfold" / "kind" / key
        assert (folder / "file").exists()
    (message,) = caplog.messages
    assert message == (
        f"eightfold: /dev/null/cache: cannot be written: Not a directory; builds are kept in "
        f"{own_cache}/home/eightfold"
    )


def test_a_user_without_any_place_has_one_as_long_as_a_process_runs(monkeypatch, temporary, caplog):
    monkeypatch.setenv("EIGHTFOLD_CACHE", "/dev/null/cache")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/home")
    folder = cached("kind", "key", make_file)
    assert folder.is_relative_to(temporary)
    assert private_folder().stat().st_mode & 0o777 == 0o700
    (message,) = caplog.messages
    assert message.endswith(f"{private_folder()} until this ends; EIGHTFOLD_CACHE chooses a folder")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720])
def test_a_cache_that_others_can_write_is_not_used(monkeypatch, own_cache, caplog, mode):
    shared = own_cache / "shared"
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_cache / "home"))
    assert cached("kind", "key", make_file) == shared / "kind" / "key"
    assert shared.stat().st_mode & 0o777 == 0o700
    shared.chmod(mode)
    _writable.cache_clear()
    assert cached("kind", "key", make_file).is_relative_to(own_cache / "home")
    assert "others can write to it (chmod go-w), or it is somebody else's" in caplog.text
    assert shared.stat().st_mode & 0o7777 == mode  # it may be anything of the user's


@pytest.fixture
def no_umask():
    """Nothing of a mode is taken away."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_nothing_of_a_cache_follows_the_umask(own_cache):
    modes = {}

    def make(folder):
        modes["partial"] = folder.stat().st_mode & 0o777

    cached("kind", "key", make)
    modes |= {name: (own_cache / name).stat().st_mode & 0o777 for name in ("kind", "kind/key.lock")}
    assert modes == {"partial": 0o700, "kind": 0o700, "kind/key.lock": 0o600}


def test_builds_that_others_can_replace_are_not_used(own_cache):
    made = cached("kind", "key", make_file)
    made.parent.chmod(0o770)
    line = f"{own_cache}/kind: others can write to it (chmod go-w), or it is somebody else's"
    with pytest.raises(InputError, match=re.escape(line)):
        cached("kind", "key", refuse)
    made.parent.chmod(0o700)
    assert cached("kind", "key", refuse) == made


def test_no_lock_is_a_link(own_cache):
    precious = own_cache / "precious"
    precious.write_text("precious")
    (own_cache / "kind").mkdir()
    (own_cache / "kind" / "key.lock").symlink_to(precious)
    with pytest.raises(InputError, match="kind/key: cannot be made"):
        cached("kind", "key", make_file)
    assert precious.read_text() == "precious"


@pytest.mark.usefixtures("no_umask")
def test_no_scratch_follows_the_umask(own_cache):
    root = own_cache / "checkout"
    root.mkdir()
    with Scratch(root) as scratch:
        place = scratch.tree.parent
        found = [place.parent, place, place / "cache", own_cache / "verilator-runtime"]
        assert [path.stat().st_mode & 0o777 for path in found] == [0o700] * 4
    (own_cache / "mutants").chmod(0o777)
    with pytest.raises(InputError, match="mutants: others can write to it"):
        Scratch(root)


def test_what_is_somebody_elses_is_not_trusted_but_for_roots(monkeypatch, own_cache):
    made = cached("kind", "key", make_file)
    owner = os.stat(own_cache).st_uid
    monkeypatch.setattr("os.getuid", lambda: owner + 1)
    monkeypatch.setattr("eightfold.sim.simulator.cache.ROOT", owner)
    assert is_private(own_cache)
    assert is_sound(made)
    monkeypatch.setattr("eightfold.sim.simulator.cache.ROOT", owner + 2)
    assert not is_private(own_cache)
    assert not is_sound(made)
    assert _unusable(own_cache) == "others can write to it (chmod go-w), or it is somebody else's"


DAMAGE = {
    "changed": lambda folder: (folder / "file").write_text("changed"),
    "missing": lambda folder: (folder / "file").unlink(),
    "added": lambda folder: (folder / "more").touch(),
    "added below": lambda folder: ((folder / "sub").mkdir(), (folder / "sub" / "more").touch()),
    "a link": lambda folder: (
        (folder / "file").rename(folder.parent / "away"),
        (folder / "file").symlink_to(folder.parent / "away"),
    ),
    "writable": lambda folder: (folder / "file").chmod(0o666),
    "folder writable": lambda folder: folder.chmod(0o777),
    "no manifest": lambda folder: (folder / MANIFEST).unlink(),
    "no JSON": lambda folder: (folder / MANIFEST).write_text("{"),
    "another manifest": lambda folder: (folder / MANIFEST).write_text("[]"),
    "cut": lambda folder: (folder / MANIFEST).write_text(""),
    "no folder": lambda folder: (shutil.rmtree(folder), folder.write_text("")),
    "linked": lambda folder: (
        folder.rename(folder.with_name("away")),
        folder.symlink_to(folder.with_name("away")),
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_build_that_is_not_as_it_was_made_is_made_again(name):
    made = cached("kind", "key", make_file)
    assert cached("kind", "key", refuse) == made
    DAMAGE[name](made)
    assert cached("kind", "key", make_file) == made
    assert (made / "file").read_text() == "complete"
    assert sorted(path.name for path in made.iterdir()) == ["file", MANIFEST]


def test_a_cache_that_cannot_be_written_is_read(monkeypatch, own_cache, caplog):
    made = cached("kind", "key", make_file)
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
    assert places[0].parent == private_folder()
    assert private_folder().parent == temporary
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


def test_a_private_folder_cannot_be_known_before(temporary, monkeypatch):
    (temporary / f"eightfold-{os.getuid()}").symlink_to(temporary)
    folder = private_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_folder() == folder
    private_folder.cache_clear()
    assert private_folder() != folder
    monkeypatch.setattr("eightfold.sim.simulator.cache.ELSEWHERE", ())
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    private_folder.cache_clear()
    with pytest.raises(InputError, match="no folder for temporary files: set TMPDIR"):
        private_folder()


def test_key_depends_on_every_part():
    keys = {content_key(*parts) for parts in [("a", "b"), ("ab",), ("a", 1), ("a", "1"), ()]}
    assert len(keys) == 5


def test_a_checkout_keeps_its_builds_in_its_build_folder(monkeypatch):
    monkeypatch.delenv("EIGHTFOLD_CACHE")
    assert cache_directory() == IMPORT_ROOT / "build" / "sim"
