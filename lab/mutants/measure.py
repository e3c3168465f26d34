"""``python -m lab.mutants.measure > lab/mutants/seconds.json``: what the tests take."""

import json
import sys

from eightfold.common.files import IMPORT_ROOT
from lab.mutants.judge import Judge


def main() -> None:
    """Run the tests of the hardware one after the other; print CPU seconds by file and share."""
    found: dict[str, dict[str, float]] = {}
    with Judge(IMPORT_ROOT, (), {}) as judge:
        for bench, seconds in judge.measure():
            found.setdefault(bench.path, {})[bench.share] = round(seconds, 1)
            print(f"{seconds:6.1f} s {bench}", file=sys.stderr)
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
