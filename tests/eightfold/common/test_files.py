"""Files take the place of others when they are complete, and not before."""

import errno
import os
from pathlib import Path
from typing import IO

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import write_file, write_files


def half(file: IO[bytes]) -> None:
    """Write a part, and find the disk full."""
    file.write(b"half")
    file.flush()
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_text_bytes_and_functions_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    write_files(
        {folder / "a": "µ\n", folder / "b": b"\x00", folder / "c": lambda file: file.write(b"c")}
    )
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert written == {"a": "µ\n".encode(), "b": b"\x00", "c": b"c"}


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("good")
    with pytest.raises(InputError, match=f"{path}: cannot be written: No space left on device$"):
        write_file(path, half)
    assert path.read_text() == "good"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupt_leaves_what_was_there(tmp_path: Path) -> None:
    def interrupted(file: IO[bytes]) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "out", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_files_that_belong_together_are_written_all_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "commands.bin", tmp_path / "model.bin"
    first.write_text("old")
    with pytest.raises(InputError, match=r"model\.bin: cannot be written"):
        write_files({first: "new", second: half})
    assert first.read_text() == "old"
    assert list(tmp_path.iterdir()) == [first]


def test_links_permissions_and_long_names_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / ("long" * 63), tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path.name)
    write_file(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_file(tmp_path / "out", "new")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_devices_and_pipes_are_written_to_as_they_are(tmp_path: Path) -> None:
    read, write = os.pipe()
    write_file(Path(f"/dev/fd/{write}"), "through")
    os.close(write)
    with open(read, "rb") as file:
        assert file.read() == b"through"
    with pytest.raises(InputError, match="/dev/full: cannot be written: No space left on device"):
        write_file(Path("/dev/full"), "never")
    assert Path("/dev/full").is_char_device()


def test_a_folder_in_its_place_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path}: cannot be written: Is a directory"):
        write_file(tmp_path, "text")
