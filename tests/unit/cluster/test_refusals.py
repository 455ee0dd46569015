"""A cluster that is named wrongly or cannot be used ends a command as wrong usage does."""

from __future__ import annotations

import pytest

from pipelines._cli.messages import Exit, _exit_code
from pipelines.cluster.errors import ClusterError
from pipelines.settings import ConfigurationError, Settings


def test_it_is_the_user_who_can_change_it() -> None:
    assert _exit_code(ClusterError("a worker has other code")) is Exit.usage


@pytest.mark.parametrize(
    ("text", "cluster"),
    [
        ("", None),
        ("none", None),
        ("tcp://10.0.0.1:8786", "tcp://10.0.0.1:8786"),
        ("tls://scheduler.example.org:8786", "tls://scheduler.example.org:8786"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
    ],
)
def test_an_address_of_a_scheduler(text: str, cluster: str | None) -> None:
    assert Settings.from_environment({"RACKRECON_CLUSTER": text}).cluster == cluster


@pytest.mark.parametrize(
    "text", ["localhost", "localhost:8786", "http://localhost:8786", "tcp://localhost", "tcp://a b:1"]
)
def test_what_is_no_address_of_a_scheduler(text: str) -> None:
    with pytest.raises(ConfigurationError, match="RACKRECON_CLUSTER: expected the address of a Dask scheduler"):
        Settings.from_environment({"RACKRECON_CLUSTER": text})
