"""The Dask cluster of the settings: its workers, and work spread over them. What the work is belongs elsewhere."""
