"""The Dagster graph: one thin module per layer. What a table holds is computed elsewhere."""
