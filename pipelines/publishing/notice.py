"""The note that stands in everything that is handed out."""

TRADEMARK = (
    "MLPerf is a trademark of MLCommons. Scores are recomputed from published result logs; a recomputed figure is "
    "not an official result, and derived figures say that they are derived."
)
