"""Published text in CSV files: a spreadsheet must show it and run none of it.

What is written to which file belongs to who writes it.
"""

from __future__ import annotations

import polars as pl

FORMULA_STARTS = "=+-@\t\r\n＝＋－＠"
"""What a spreadsheet takes for the start of a formula, at the start of a cell or after blanks."""

_FORMULA = rf"^\s*[{FORMULA_STARTS.replace('-', '')}\-]"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def neutral(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with an apostrophe in front of each text that a spreadsheet would run as a formula.

    A text that is a plain number stays: it is shown as that number.
    """
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA) & ~pl.col(name).str.contains(_NUMBER))
        .then(pl.concat_str(pl.lit("'"), name))
        .otherwise(name)
        .alias(name)
        for name in texts
    )
