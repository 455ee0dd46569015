"""The charts, each with its finding: a module for each thing that is charted. How all of them look is in `canvas`.

A chart computes nothing: it shows columns of `mart`. Colours never speak alone, see `canvas`.
"""
