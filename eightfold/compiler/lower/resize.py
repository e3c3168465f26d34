"""RESIZE_BILINEAR: the taps of its rows and columns."""

from eightfold.compiler.lower.call import Call
from eightfold.compiler.steps.bilinear import Bilinear, Taps
from eightfold.golden.resize import bilinear_taps


def resize_bilinear(call: Call) -> Bilinear:
    """Lower RESIZE_BILINEAR; golden's taps, whatever the scales are."""
    source = call.input(0)
    target = call.output
    options = call.options
    corners, centers = options["align_corners"], options["half_pixel_centers"]
    size = call.constant(1).tolist()
    rows, columns = (
        Taps.of(*bilinear_taps(old, new, corners, centers))
        for old, new in zip(source.shape[1:3], size, strict=True)
    )
    return Bilinear(
        source=source.index,
        target=target.index,
        source_shape=source.shape,
        target_shape=target.shape,
        rows=rows,
        columns=columns,
    )
