"""The kind of Dagster instance that this project's processes open: one in which runs may start and log at once.

What an instance keeps and where belongs to its dagster.yaml.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef


class InstanceOfManyRuns(dg.DagsterInstance):
    """An instance that takes Python's logging as it finds it, unless dagster.yaml names handlers of its own.

    Dagster configures logging anew for every run and every step. That holds logging's own lock while it waits for each
    handler's; a run of another thread that is storing an event holds its handler's, and waits for logging's as soon as
    a library looks whether to log. Then both stand still for good.
    """

    @classmethod
    def config_schema(cls) -> Mapping[str, dg.Field]:
        """Return what dagster.yaml may say of this kind of instance beside the usual: nothing."""
        return {}

    @staticmethod
    def config_defaults(base_dir: str) -> Mapping[str, Any]:
        """Return what an instance in that folder is made of where its dagster.yaml does not say."""
        return InstanceRef.config_defaults(base_dir)

    def get_yaml_python_handlers(self) -> Sequence[logging.Handler]:
        """Return the handlers that dagster.yaml names; only where it names some is logging configured for them."""
        if not self.get_python_log_dagster_handler_config():
            return []
        return super().get_yaml_python_handlers()


OF_MANY_RUNS = {"instance_class": {"module": __name__, "class": InstanceOfManyRuns.__name__}}
"""What makes an instance one of this kind, also on the workers that are sent a reference to it."""
