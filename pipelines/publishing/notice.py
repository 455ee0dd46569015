"""The note that stands in everything that is handed out."""

from pipelines.reconciling.trademark import TRADEMARK_HOLDER

TRADEMARK = (
    f"{TRADEMARK_HOLDER} Scores are recomputed from published result logs; a recomputed figure is "
    "not an official result, and derived figures say that they are derived."
)
