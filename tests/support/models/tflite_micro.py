"""Models whose results differ between LiteRT and TFLite Micro, one or two of each operator."""

import numpy as np

from eightfold.cases.draws import Case
from eightfold.cases.operators import case_rng, random_case
from tests.support.models.single import one_operator

CODES = np.arange(-128, 128).astype(np.int8)

_PADDED = (np.array([1, 2], np.int32), np.array([[0, 0], [1, 1]], np.int32))


def _every_code(operator: str, scales: tuple[float, float], zero_points: tuple[int, int]) -> Case:
    model = one_operator(operator, [(256,)], (256,), scales=scales, zero_points=zero_points)
    return model, {0: CODES}


def _every_pair(
    operator: str, scales: tuple[float, float, float], zero_points: tuple[int, int, int]
) -> Case:
    shape = (256, 256)
    model = one_operator(operator, [shape, (256,)], shape, scales=scales, zero_points=zero_points)
    return model, {0: CODES[:, None].repeat(256, axis=1), 1: CODES}


def variants() -> dict[str, Case]:
    """Return a model and inputs by a name that begins with the operator's.

    Where the variants differ in few of all codes or pairs of codes, the scales are chosen.
    """
    padded = one_operator(
        "SPACE_TO_BATCH_ND", [(1, 1, 4, 3)], (2, 1, 3, 3), zero_points=(-7, -7), constants=_PADDED
    )
    return {
        "FULLY_CONNECTED": random_case("FULLY_CONNECTED", case_rng("FULLY_CONNECTED", 313)),
        "LOGISTIC of a large scale": _every_code(
            "LOGISTIC", (2.038111925125122, 1 / 256), (74, -128)
        ),
        "LOGISTIC of a small scale": _every_code(
            "LOGISTIC", (0.006974793970584869, 1 / 256), (-58, -128)
        ),
        "MUL": _every_pair(
            "MUL", (0.025054482743144035, 0.033997099846601486, 0.013628476299345493), (13, -128, 0)
        ),
        "PRELU": _every_pair(
            "PRELU", (0.05462424084544182, 0.1556510180234909, 1.5996146202087402), (127, -128, 0)
        ),
        "RELU6 to another scale": _every_code("RELU6", (0.1, 0.2), (-3, 5)),
        "RELU6 to another zero point": _every_code("RELU6", (0.001, 0.001), (100, 0)),
        "SPACE_TO_BATCH_ND": (padded, {0: CODES[:12].reshape(1, 1, 4, 3)}),
        "TANH": _every_code("TANH", (0.03, 1 / 100), (0, 3)),
    }
