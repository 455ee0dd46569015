"""What a refresh does: which rounds are read from where, what is stale, and each station's work on the lake.

The Dagster assets call the stations here and the command line calls `flow`; what a table holds is computed in the
pure rooms, and how the graph is drawn belongs in `assets`.
"""
