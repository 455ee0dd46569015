"""How a step of a partitioned run becomes a Dask task: what dagster-dask does, under a name of its own."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.execution.context.system import PlanOrchestrationContext
from dagster._core.execution.plan.plan import ExecutionPlan
from dagster_dask.executor import DaskExecutor

TASK_TAG = "rackrecon/task"
"""Tag of a run whose value starts the names of its Dask tasks."""


def task_key(task: str, step: str) -> str:
    """Return the name of the Dask task of a step, for a run with that value of `TASK_TAG`."""
    return f"{task}.{step}"


class _NamedByTag(PlanOrchestrationContext):
    """dagster-dask names a task by its job and step, and a scheduler that knows the name gives the old result."""

    @property
    def job_name(self) -> str:
        return self.dagster_run.tags[TASK_TAG]


class _StepsOnDask(DaskExecutor):
    """dagster-dask, for a run of one partition."""

    def execute(
        self, plan_context: PlanOrchestrationContext, execution_plan: ExecutionPlan
    ) -> Iterator[dg.DagsterEvent]:
        """Run the steps on the workers and give their events.

        Steps that are given up, or lost with the scheduler, end the run as interrupted.

        Dask looks for tasks inside whatever it is sent, and a run's set of partitions refuses to be looked into. The
        partition is in a tag as well, which is where steps read it.
        """
        run = plan_context.dagster_run._replace(partitions_subset=None)
        plan_data = plan_context.plan_data._replace(dagster_run=run)
        named = _NamedByTag(plan_data, plan_context.log, plan_context.executor, plan_context.output_capture)
        try:
            yield from super().execute(named, execution_plan)
        except TypeError as error:
            # dagster-dask takes what Dask gives in place of the result of such a step for the step's events.
            if "CancelledError" in str(error):
                raise DagsterExecutionInterruptedError from error
            raise


@dg.executor(
    name="dask",
    config_schema={"address": dg.Field(str, description="Of the Dask scheduler.")},
    requirements=dg.multiple_process_executor_requirements(),
)
def steps_on_dask(context: dg.InitExecutorContext) -> _StepsOnDask:
    """Run each step on a worker of the cluster at an address."""
    # dagster-dask's executor has no types.
    return _StepsOnDask("existing", {"address": context.executor_config["address"]})  # type: ignore[no-untyped-call]
