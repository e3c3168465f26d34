"""Every proof, by the file of the hardware that it is about."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict

from lab.formal import arithmetic, commands, memory, streams
from lab.formal.proof import Proof


def _by_file(*proofs: Proof) -> Mapping[str, tuple[Proof, ...]]:
    files = dict.fromkeys(proof.file for proof in proofs)
    return {file: tuple(proof for proof in proofs if proof.file == file) for file in files}


PROOFS: Mapping[str, tuple[Proof, ...]] = _by_file(
    *streams.PROOFS, *arithmetic.PROOFS, *commands.PROOFS, *memory.PROOFS
)
"""The proofs of each file, whose numbers among these are their cases' seeds in a campaign."""

BY_NAME: Mapping[str, Proof] = {proof.name: proof for proofs in PROOFS.values() for proof in proofs}
"""The same by their names."""


def main(name: str) -> None:
    print(json.dumps(asdict(BY_NAME[name].prove())))


if __name__ == "__main__":
    main(*sys.argv[1:])
