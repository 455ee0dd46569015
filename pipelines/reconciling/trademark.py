"""Whose trademark the name of the benchmarks is: the one wording of it, for verdicts and for everything handed out."""

TRADEMARK_HOLDER = (
    "MLPerf is a trademark of MLCommons Association in the United States and other countries; "
    "mlcommons.org says how it may be used."
)
