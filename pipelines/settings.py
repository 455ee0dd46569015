"""Settings: every path, address and limit, read from the environment once and passed on.

Each setting is described beside its field, and nowhere else. How a text becomes a value is in `setting_values`; what is
done with a setting does not belong here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from pipelines import setting_values as read
from pipelines.setting_values import REPOSITORY, ConfigurationError, Secret, is_loopback

__all__ = ["REPOSITORY", "ConfigurationError", "Limits", "Secret", "Setting", "Settings", "is_loopback"]


@dataclass(frozen=True)
class Setting:
    """How a setting is read and what it is for; one line of the settings reference."""

    variable: str
    default: str
    description: str
    read: Callable[[str, str], Any]
    """Takes the variable's name and its text, gives the value or raises `ConfigurationError`."""


@dataclass(frozen=True)
class Limits:
    """How much of an untrusted results repository is read before it is refused."""

    member_bytes: int = 128 << 20
    total_bytes: int = 16 << 30
    members: int = 400_000
    name_bytes: int = 1024
    skip_links: bool = False


@dataclass(frozen=True)
class Settings:
    """Where everything is and how much of it is allowed. Paths are absolute."""

    data: Annotated[
        Path,
        Setting("RACKRECON_DATA", "data", "Folder of the lake, warehouse, report, cache and lock", read.path),
    ]
    lake: Annotated[
        str,
        Setting("RACKRECON_LAKE", "<data>/lake", "Where the lake is: a folder, or s3://bucket/prefix", read.location),
    ]
    warehouse: Annotated[
        Path,
        Setting("RACKRECON_WAREHOUSE", "<data>/warehouse.duckdb", "The DuckDB file that a refresh builds", read.path),
    ]
    report: Annotated[
        Path,
        Setting("RACKRECON_REPORT", "<data>/report", "Folder of the report", read.path),
    ]
    cache: Annotated[
        Path,
        Setting("RACKRECON_CACHE", "<data>/cache", "Folder of what can be fetched or computed again", read.path),
    ]
    lock_seconds: Annotated[
        float,
        Setting("RACKRECON_LOCK_SECONDS", "600", "How long a refresh waits for another one to end", read.seconds),
    ]
    cluster: Annotated[
        str | None,
        Setting(
            "RACKRECON_CLUSTER",
            "none",
            "Dask scheduler on whose workers rounds are read and plans searched, such as tcp://host:8786; "
            "none: this process does it",
            read.optional(read.scheduler),
        ),
    ]
    cluster_seconds: Annotated[
        float,
        Setting(
            "RACKRECON_CLUSTER_SECONDS",
            "300",
            "How long a refresh or a plan search waits for a worker when the cluster has none",
            read.seconds,
        ),
    ]
    max_member_bytes: Annotated[
        int,
        Setting(
            "RACKRECON_MAX_MEMBER_BYTES", "128 MiB", "Longest file that a results repository may hold", read.byte_length
        ),
    ]
    max_total_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_TOTAL_BYTES", "16 GiB", "Longest results repository, unpacked", read.byte_length),
    ]
    max_members: Annotated[
        int,
        Setting("RACKRECON_MAX_MEMBERS", "400000", "Most files and folders in a results repository", read.count),
    ]
    max_name_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_NAME_BYTES", "1024", "Longest path in a results repository", read.byte_length),
    ]
    skip_links: Annotated[
        bool,
        Setting(
            "RACKRECON_LINKS",
            "refuse",
            "refuse: a results repository that holds a link is not read; skip: the link is passed over. "
            "No link is ever followed",
            read.links,
        ),
    ]
    max_query_memory_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_QUERY_MEMORY_BYTES", "1 GiB", "Memory that a query may take", read.byte_length),
    ]
    max_query_seconds: Annotated[
        float,
        Setting("RACKRECON_MAX_QUERY_SECONDS", "120", "Time that a query may take", read.seconds),
    ]
    max_warehouse_rows: Annotated[
        int,
        Setting(
            "RACKRECON_MAX_WAREHOUSE_ROWS",
            "20000000",
            "Longest table that the warehouse carries; a longer one stays in the lake, and table `about` says so",
            read.count,
        ),
    ]

    contact: Annotated[
        str,
        Setting(
            "RACKRECON_CONTACT",
            "none",
            "Address or page that a host finds in the User-Agent of our requests",
            read.optional(read.any_text),
        ),
    ]
    results_api: Annotated[
        str,
        Setting(
            "RACKRECON_RESULTS_API",
            "https://api.github.com",
            "Where the organisation's repositories and their commits are asked for",
            read.address,
        ),
    ]
    results_archives: Annotated[
        str,
        Setting(
            "RACKRECON_RESULTS_ARCHIVES",
            "https://codeload.github.com",
            "Where the tarball of a commit is fetched: ADDRESS/ORGANISATION/REPOSITORY/tar.gz/COMMIT",
            read.address,
        ),
    ]
    results_organisation: Annotated[
        str,
        Setting("RACKRECON_RESULTS_ORGANISATION", "mlcommons", "Organisation that publishes the rounds", read.name),
    ]
    results_token: Annotated[
        Secret,
        Setting(
            "RACKRECON_GITHUB_TOKEN",
            "none",
            "Token for the host of RACKRECON_RESULTS_API and no other; optional, it raises the rate limit",
            read.optional(read.secret),
        ),
    ]
    live_rounds: Annotated[
        tuple[str, ...],
        Setting(
            "RACKRECON_LIVE_ROUNDS",
            "training-v* hpc-v* inference-v*",
            "Rounds that a live refresh fetches, as patterns; the others are recorded as known",
            read.words,
        ),
    ]
    catalogue: Annotated[
        Path,
        Setting(
            "RACKRECON_CATALOGUE",
            "pipelines/sources/catalogue.toml",
            "The list of spec sheets that are fetched and watched",
            read.path,
        ),
    ]
    asks_every_page: Annotated[
        bool,
        Setting(
            "RACKRECON_PAGES",
            "due",
            "due: a live refresh leaves a spec sheet alone that it asked for not long ago, by the sheet's cadence; "
            "all: it asks for every one",
            read.pages,
        ),
    ]
    mirrors: Annotated[
        dict[str, str],
        Setting(
            "RACKRECON_MIRRORS",
            "none",
            "HOST=ADDRESS pairs with commas between: what is asked of HOST is asked of ADDRESS instead",
            read.optional(read.mirrors),
        ),
    ]
    redirect_hosts: Annotated[
        tuple[str, ...],
        Setting(
            "RACKRECON_REDIRECT_HOSTS",
            "none",
            "Hosts that may be followed to, beside those that the settings and the catalogue name",
            read.optional(read.words),
        ),
    ]
    http_seconds: Annotated[
        float,
        Setting("RACKRECON_HTTP_SECONDS", "30", "How long a host may stay silent, also amid a body", read.seconds),
    ]
    transfer_seconds: Annotated[
        float,
        Setting("RACKRECON_TRANSFER_SECONDS", "3600", "How long one transfer may last", read.seconds),
    ]
    retry_seconds: Annotated[
        float,
        Setting(
            "RACKRECON_RETRY_SECONDS", "1", "First wait before a failed request is sent again; it doubles", read.seconds
        ),
    ]
    wait_seconds: Annotated[
        float,
        Setting(
            "RACKRECON_WAIT_SECONDS",
            "120",
            "Longest wait that a host may ask for; where it asks for more the refresh goes on without it",
            read.seconds,
        ),
    ]
    max_page_bytes: Annotated[
        int,
        Setting(
            "RACKRECON_MAX_PAGE_BYTES", "32 MiB", "Longest page or answer that is fetched, unpacked", read.byte_length
        ),
    ]
    max_archive_bytes: Annotated[
        int,
        Setting(
            "RACKRECON_MAX_ARCHIVE_BYTES", "8 GiB", "Longest tarball that is fetched, as it comes", read.byte_length
        ),
    ]

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """Read the settings from `environ`; what is unset or blank takes its default.

        Raises:
            ConfigurationError: a value cannot be used.
        """
        values: dict[str, Any] = {}
        for name, setting in cls.reference().items():
            text = environ.get(setting.variable, "").strip()
            if not text.isprintable():
                raise ConfigurationError(setting.variable, "printable characters", text)
            default = setting.default.replace("<data>", str(values.get("data")))
            values[name] = setting.read(setting.variable, text or default)
        return cls(**values)

    @classmethod
    def reference(cls) -> dict[str, Setting]:
        """Return every setting by the name of its field, in order: what the settings reference prints."""
        hints = get_type_hints(cls, include_extras=True)
        return {name: hint.__metadata__[0] for name, hint in hints.items()}

    @property
    def limits(self) -> Limits:
        """Return what a results repository may hold."""
        return Limits(
            member_bytes=self.max_member_bytes,
            total_bytes=self.max_total_bytes,
            members=self.max_members,
            name_bytes=self.max_name_bytes,
            skip_links=self.skip_links,
        )

    @property
    def lock(self) -> Path:
        """Return the file whose holder alone may write to the lake and the warehouse."""
        return self.data / "refresh.lock"

    @property
    def snapshot(self) -> Path:
        """Return the folder of the embedded snapshot."""
        return Path(__file__).with_name("snapshot")

    @property
    def warehouse_sql(self) -> Path:
        """Return the folder of the views and macros that the warehouse carries."""
        return REPOSITORY / "sql" / "warehouse"

    @property
    def questions(self) -> Path:
        """Return the folder of the named queries."""
        return REPOSITORY / "sql" / "questions"

    @property
    def dagster_home(self) -> Path:
        """Return the Dagster instance: the repository's for the default data folder, else one inside `data`."""
        return REPOSITORY / "dagster_home" if self.data == REPOSITORY / "data" else self.data / "dagster"

    def prepare_dagster_home(self) -> Path:
        """Create the Dagster instance's folder where it is missing, seeded with the repository's settings."""
        self.dagster_home.mkdir(parents=True, exist_ok=True)
        settings_file = self.dagster_home / "dagster.yaml"
        if not settings_file.exists():
            # whole or not at all: another process may read it as soon as it is there
            draft = self.dagster_home / f".dagster.yaml.{os.getpid()}"
            shutil.copyfile(REPOSITORY / "dagster_home" / "dagster.yaml", draft)
            draft.replace(settings_file)
        return self.dagster_home
