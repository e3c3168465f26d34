"""Files that tests can use but the project does not contain: networks, and texts of the spec.

``EIGHTFOLD_MODELS_FOLDER`` names a folder with the ``.tflite`` files, and the texts in its folder
``spec``. Without it they are looked for beside the checkout.
"""

import os
from pathlib import Path

from eightfold.files import IMPORT_ROOT

_CHOSEN = os.environ.get("EIGHTFOLD_MODELS_FOLDER")
_SHARED = IMPORT_ROOT.parent / "shared"

MODELS = Path(_CHOSEN) if _CHOSEN else _SHARED / "models"
"""Of networks, ``.tflite``."""

TEXTS = MODELS / "spec" if _CHOSEN else _SHARED / "spec" / "seeds"
"""Of the spec, ``.txt``."""
