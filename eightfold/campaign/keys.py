"""Keys by which the machines of a farm know each other: whoever reaches a scheduler runs code."""

import os
import shlex
import stat
from pathlib import Path

from distributed.security import Security

from eightfold.common.errors import InputError

CERTIFICATE, KEY = "cert.pem", "key.pem"


def make_keys(folder: Path) -> None:
    """Make a key and its certificate, which is good for a year, in a new folder.

    All of a farm share them: scheduler, workers, and who runs campaigns. Only the user can read the
    folder (0700). Raises `InputError` if the folder is there already, or cannot be made.
    """
    made = Security.temporary()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        for name, text in ((CERTIFICATE, made.tls_client_cert), (KEY, made.tls_client_key)):
            number = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(number, "w", encoding="ascii") as file:
                file.write(str(text))
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}; name a new folder") from None


def security_of(folder: Path) -> Security:
    """Return the keys of `make_keys`, for connections that are authenticated and encrypted.

    Raises `InputError` if the folder has none, or others can read the key.
    """
    certificate, key = (str((folder / name).absolute()) for name in (CERTIFICATE, KEY))
    try:
        mode = os.stat(key).st_mode
        os.stat(certificate)
    except OSError as error:
        raise InputError(
            f"--keys {folder}: {error.strerror}; eightfold campaign keys DIR makes keys"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(f"--keys {folder}: others can read the key; chmod 600 {key}")
    made = Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_cert": certificate for role in _ROLES},
        **{f"tls_{role}_key": key for role in _ROLES},
    )
    try:
        made.get_connection_args("client")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(
            f"--keys {folder}: is no key with its certificate: {reason}; eightfold campaign keys "
            "DIR makes new ones"
        ) from None
    return made


_ROLES = ("scheduler", "worker", "client")


def farm_commands(folder: Path) -> str:
    """Return the commands that start a farm with the keys in a folder."""
    certificate, key = (shlex.quote(str(folder / name)) for name in (CERTIFICATE, KEY))
    tls = f"--tls-ca-file {certificate} --tls-cert {certificate} --tls-key {key}"
    return "\n".join(
        [
            # Its pages, which it cannot leave out, are none, and on the loopback.
            "env DASK_TEMPORARY_DIRECTORY=$(mktemp -d) "
            "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES=[] dask scheduler --protocol tls "
            f"--host HOST --no-dashboard --dashboard-address 127.0.0.1:0 {tls}",
            f"dask worker tls://HOST:8786 --nthreads 1 --local-directory $(mktemp -d) "
            f"--worker-class eightfold.campaign.farm.Worker {tls}",
            "eightfold campaign run SUITE --scheduler tls://HOST:8786 "
            f"--keys {shlex.quote(str(folder))}",
        ]
    )
