"""The forms are golden's: of arrays, of one case, and with every choice as the reference has it."""

import numpy as np
import pytest

from eightfold.conformance.judge.forms import FORMS, cases_of, form_of
from tests.support.conformance.requantizations import directed_cases


def test_a_form_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be one of tflite, .*, not 'float'"):
        form_of("float")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.slow
def test_columns_in_the_specs_terms_are_cases(name: str) -> None:
    cases = directed_cases(name, seed=3, count=1)
    sign = -1 if name.startswith("tpu_mlir") else 1
    columns = {key: values for key, values in cases.items() if key not in ("acc", "shift")}
    columns |= {"accumulator": cases["acc"], "shift": (sign * cases["shift"]).astype(np.int8)}
    found = cases_of(name, columns | {"kind": np.zeros(1)})
    assert found.keys() == cases.keys()
    for key, values in cases.items():
        np.testing.assert_array_equal(found[key], values)
        assert found[key].dtype == np.int64
