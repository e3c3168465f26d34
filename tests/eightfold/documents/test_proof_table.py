"""The table of proofs in docs/proofs.md is that of the code."""

from eightfold.common.files import IMPORT_ROOT
from eightfold.documents.proof_table import TABLE


def test_the_document_is_up_to_date() -> None:
    text = (IMPORT_ROOT / TABLE.document).read_text(encoding="utf-8")
    assert TABLE.written_into(text) == text, "python -m eightfold.documents.proof_table --write"
