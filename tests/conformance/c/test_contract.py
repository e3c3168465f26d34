"""A contract in C gives what the contract gives."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.c import contract_files
from eightfold.conformance.judge.contracts import contract_cases
from eightfold.conformance.profile import Profile
from tests.support.golden_c.library import compiler

MAIN = """#include <stdio.h>
#include "eightfold_contract.h"
int main(void) {
    int c[6];
    while (scanf("%d %d %d %d %d %d", c, c + 1, c + 2, c + 3, c + 4, c + 5) == 6)
        printf("%d\\n", eightfold_contract(c[0], c[1], c[2], c[3], c[4], c[5]));
}
"""


def kept(contract: str) -> Profile:
    return Profile.from_dict({"name": "mine", "contract": contract})


@pytest.mark.parametrize(
    "contract",
    [
        "second_half_up",
        "one_rounding_half_up",
        "one_rounding_half_away and relu_at_0",
        "first_nudge_shifted and second_half_away_and_even",
        "scaled_16",
    ],
)
def test_a_contract_in_c_gives_its_results(contract: str, tmp_path: Path) -> None:
    for name, content in contract_files(kept(contract)).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "main.c").write_text(MAIN)
    words = [compiler(), "-std=c99", "-o", "run", "main.c", "eightfold_contract.c"]
    subprocess.run(words, cwd=tmp_path, check=True)
    cases = contract_cases("requantizer", kept(contract), seed=4)
    text = "\n".join(" ".join(map(str, row)) for row in zip(*cases.inputs.values(), strict=True))
    done = subprocess.run(
        [tmp_path / "run"], input=text, capture_output=True, text=True, check=True
    )
    np.testing.assert_array_equal(np.array(done.stdout.split(), int), cases.results["result"])


def test_what_is_not_written_in_c_is_said() -> None:
    with pytest.raises(InputError, match="clamp wraps is not written in C"):
        contract_files(kept("clamp_wraps"))
