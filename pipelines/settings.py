"""Settings: every path, address and limit, read from the environment once and passed on.

Each setting is described beside its field, and nowhere else. What is done with a setting does not belong here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

REPOSITORY = Path(__file__).resolve().parents[1]
"""The checkout that the package runs from; relative paths in settings start here."""


class ConfigurationError(Exception):
    """A setting cannot be used; the message names the variable, what was expected and what was found."""

    def __init__(self, variable: str, expected: str, found: str) -> None:
        super().__init__(f"{variable}: expected {expected}, found {found!r}")
        self.variable = variable
        self.expected = expected
        self.found = found


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


def _path(variable: str, text: str) -> Path:
    if "://" in text:
        raise ConfigurationError(variable, "a path", text)
    try:
        expanded = Path(text).expanduser()
    except RuntimeError:
        raise ConfigurationError(variable, "a path whose home folder is known", text) from None
    return Path(os.path.normpath(REPOSITORY / expanded))


def _location(variable: str, text: str) -> str:
    return str(_path(variable, text))


def _count(variable: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) == 0:
        raise ConfigurationError(variable, "a whole number above 0", text)
    return int(text)


_BYTE_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTE_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


def _bytes(variable: str, text: str) -> int:
    match = re.fullmatch(r"([0-9]{1,15}) ?([A-Za-z]*)", text)
    unit = _BYTE_UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or int(match[1]) == 0:
        raise ConfigurationError(variable, "a length such as 134217728, 128 MiB or 2 GB", text)
    return int(match[1]) * unit


def _seconds(variable: str, text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ConfigurationError(variable, "seconds, such as 30 or 0.5", text)
    return float(text)


def _links(variable: str, text: str) -> bool:
    if text not in ("refuse", "skip"):
        raise ConfigurationError(variable, "refuse or skip", text)
    return text == "skip"


@dataclass(frozen=True)
class Settings:
    """Where everything is and how much of it is allowed. Paths are absolute."""

    data: Annotated[
        Path,
        Setting("RACKRECON_DATA", "data", "Folder of the lake, warehouse, report, cache and lock", _path),
    ]
    lake: Annotated[
        str,
        Setting("RACKRECON_LAKE", "<data>/lake", "Where the lake is: a folder", _location),
    ]
    warehouse: Annotated[
        Path,
        Setting("RACKRECON_WAREHOUSE", "<data>/warehouse.duckdb", "The DuckDB file that a refresh builds", _path),
    ]
    report: Annotated[
        Path,
        Setting("RACKRECON_REPORT", "<data>/report", "Folder of the report", _path),
    ]
    cache: Annotated[
        Path,
        Setting("RACKRECON_CACHE", "<data>/cache", "Folder of what can be fetched or computed again", _path),
    ]
    lock_seconds: Annotated[
        float,
        Setting("RACKRECON_LOCK_SECONDS", "600", "How long a refresh waits for another one to end", _seconds),
    ]
    max_member_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_MEMBER_BYTES", "128 MiB", "Longest file that a results repository may hold", _bytes),
    ]
    max_total_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_TOTAL_BYTES", "16 GiB", "Longest results repository, unpacked", _bytes),
    ]
    max_members: Annotated[
        int,
        Setting("RACKRECON_MAX_MEMBERS", "400000", "Most files and folders in a results repository", _count),
    ]
    max_name_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_NAME_BYTES", "1024", "Longest path in a results repository", _bytes),
    ]
    skip_links: Annotated[
        bool,
        Setting(
            "RACKRECON_LINKS",
            "refuse",
            "refuse: a results repository that holds a link is not read; skip: the link is passed over. "
            "No link is ever followed",
            _links,
        ),
    ]
    max_query_memory_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_QUERY_MEMORY_BYTES", "1 GiB", "Memory that a query may take", _bytes),
    ]
    max_query_seconds: Annotated[
        float,
        Setting("RACKRECON_MAX_QUERY_SECONDS", "120", "Time that a query may take", _seconds),
    ]
    max_warehouse_rows: Annotated[
        int,
        Setting(
            "RACKRECON_MAX_WAREHOUSE_ROWS",
            "20000000",
            "Longest table that the warehouse carries; a longer one stays in the lake, and table `about` says so",
            _count,
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
            shutil.copyfile(REPOSITORY / "dagster_home" / "dagster.yaml", settings_file)
        return self.dagster_home
