"""``python -m lab.formal.child NAME``: a proof in a process of its own, its end as JSON."""

import json
import sys
from dataclasses import asdict

from lab.formal.proofs import BY_NAME


def main(name: str) -> None:
    """Prove what has a name, and print how it ends."""
    print(json.dumps(asdict(BY_NAME[name].prove())))


if __name__ == "__main__":
    main(*sys.argv[1:])
