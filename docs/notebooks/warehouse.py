"""A marimo notebook on the warehouse: `marimo edit docs/notebooks/warehouse.py`; RACKRECON_DATA tells where it is."""

import marimo

app = marimo.App()


@app.cell
def _():
    import os
    from pathlib import Path

    import altair
    import duckdb

    warehouse = Path(os.environ.get("RACKRECON_DATA", "data")) / "warehouse.duckdb"
    connection = duckdb.connect(str(warehouse), read_only=True)
    return altair, connection


@app.cell
def _(altair, connection):
    scaling = connection.sql(
        "SELECT accelerator_count, score_minutes, submitter, round FROM mart.cited_results "
        "WHERE benchmark = 'llama31_405b' AND division = 'closed' AND score_minutes IS NOT NULL "
        "ORDER BY accelerator_count, result_id"
    ).pl()
    scaling_chart = (
        altair.Chart(scaling, title="Time to train llama31_405b against accelerators")
        .mark_point()
        .encode(
            x=altair.X("accelerator_count", title="accelerators").scale(type="log"),
            y=altair.Y("score_minutes", title="score, minutes").scale(type="log"),
            color="round",
            tooltip=["submitter", "accelerator_count", "score_minutes"],
        )
    )
    scaling_chart
    return (scaling_chart,)


@app.cell
def _(altair, connection):
    predicted = connection.sql(
        "SELECT result_id, benchmark, score_minutes, predicted_minutes FROM mart.reconciled_runs "
        "WHERE predicted_minutes IS NOT NULL ORDER BY result_id"
    ).pl()
    predicted_chart = (
        altair.Chart(predicted, title="Predicted (derived, each result held out) against reported")
        .mark_point()
        .encode(
            x=altair.X("score_minutes", title="reported, minutes").scale(type="log"),
            y=altair.Y("predicted_minutes", title="predicted, minutes").scale(type="log"),
            color="benchmark",
            tooltip=["result_id"],
        )
    )
    predicted_chart
    return (predicted_chart,)


@app.cell
def _(connection):
    note = connection.sql("SELECT value FROM about WHERE key = 'trademark'").fetchall()[0][0]
    note
    return (note,)


if __name__ == "__main__":
    app.run()
