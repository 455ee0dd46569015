"""Formulas as Polars expressions: racks, step time, time to train, bandwidth. Imports polars and numpy only."""
