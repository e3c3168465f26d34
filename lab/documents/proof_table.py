"""What is proved of the hardware, as the Markdown table of ``docs/proofs.md``."""

from pathlib import Path

from lab.documents.cycle_tables import markdown
from lab.documents.part import table_part
from lab.formal.proof import Proof
from lab.formal.proofs import BY_NAME


def proof_table() -> str:
    """Return a row for each family of proofs: what holds, if what, by what, how it can fail."""
    families: dict[str, list[Proof]] = {}
    for proof in BY_NAME.values():
        families.setdefault(proof.family or proof.name, []).append(proof)
    rows = [
        (
            f"`{proofs[0].file}`",
            proofs[0].text,
            proofs[0].assumed or "nothing",
            "; ".join(dict.fromkeys(proof.method for proof in proofs)),
            str(len(proofs)),
            str(sum(len(proof.breaks) for proof in proofs)),
        )
        for proofs in families.values()
    ]
    head = ("file", "what holds", "what is assumed", "proved", "proofs", "faults refuted")
    return markdown(head, rows, text=4)


TABLE = table_part("proofs", Path("docs/proofs.md"), proof_table)
