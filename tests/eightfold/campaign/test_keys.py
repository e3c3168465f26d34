"""Keys of a farm: for the user alone, and the commands that use them."""

import shlex
import ssl
from pathlib import Path

import pytest

from eightfold.campaign.farm import farm_commands, make_keys, security_of
from eightfold.common.errors import InputError


def test_keys_are_the_users_alone(tmp_path: Path) -> None:
    keys = tmp_path / "new" / "keys"
    make_keys(keys)
    assert keys.stat().st_mode & 0o777 == 0o700
    for name in ("cert.pem", "key.pem"):
        assert (keys / name).stat().st_mode & 0o777 == 0o600
    security = security_of(keys)
    assert security.require_encryption
    for role in ("scheduler", "worker", "client"):
        for arguments in (security.get_connection_args(role), security.get_listen_args(role)):
            assert arguments["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    assert f"--scheduler tls://HOST:8786 --keys {keys}" in farm_commands(keys)


def test_a_folder_with_a_space_is_quoted_in_commands() -> None:
    scheduler, worker, run = farm_commands(Path("my keys")).splitlines()
    for command in (scheduler, worker):
        assert "--tls-cert 'my keys/cert.pem' --tls-key 'my keys/key.pem'" in command
    assert run.endswith("--keys 'my keys'")


def test_a_scheduler_listens_where_its_workers_look_for_it_and_nowhere_else() -> None:
    scheduler, worker, run = map(shlex.split, farm_commands(Path("keys")).splitlines())
    host = scheduler[scheduler.index("--host") + 1]
    assert f"tls://{host}:8786" in worker
    assert f"tls://{host}:8786" in run


def test_keys_are_not_written_over(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys")
    before = (tmp_path / "keys" / "key.pem").read_bytes()
    with pytest.raises(InputError, match="keys: cannot be made: File exists; name a new folder"):
        make_keys(tmp_path / "keys")
    assert (tmp_path / "keys" / "key.pem").read_bytes() == before


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys")
    (tmp_path / "keys" / "key.pem").chmod(0o640)
    with pytest.raises(InputError, match="others can read the key; chmod 600 "):
        security_of(tmp_path / "keys")


def test_a_folder_without_keys_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file or directory; eightfold campaign keys DIR"):
        security_of(tmp_path)


def test_a_damaged_key_is_one_line(tmp_path: Path) -> None:
    make_keys(tmp_path / "keys")
    (tmp_path / "keys" / "cert.pem").write_text("cut")
    with pytest.raises(InputError, match="is no key with its certificate"):
        security_of(tmp_path / "keys")
