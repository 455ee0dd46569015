"""Parquet tables and the DuckDB file: where rows rest, how they are written and swapped whole."""
