"""Settings: every path, address and limit, read from the environment once and passed on.

Each setting is described beside its field, and nowhere else. What is done with a setting does not belong here.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, get_type_hints
from urllib.parse import urlsplit

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
class Secret:
    """A text that no message, log or representation shows."""

    value: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.value)


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


_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w=+~-][\w.=+~-]*)*/?")


def _location(variable: str, text: str) -> str:
    if not text.startswith("s3:"):
        return str(_path(variable, text))
    if not _BUCKET.fullmatch(text):
        shown = "one with a user's name or password" if "@" in text else text
        raise ConfigurationError(variable, "a folder, or a bucket and prefix as s3://bucket/prefix", shown)
    return text.rstrip("/")


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


def _pages(variable: str, text: str) -> bool:
    if text not in ("due", "all"):
        raise ConfigurationError(variable, "due or all", text)
    return text == "all"


def _address(variable: str, text: str) -> str:
    """Read the address of a host, with or without a path; only a loopback host may be asked without TLS."""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("https", "http") and bool(parts.hostname) and not (parts.query or parts.fragment)
        is_address = is_address and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    if not is_address or (parts.scheme == "http" and not is_loopback(parts.hostname)):
        raise ConfigurationError(variable, "an address that starts with https:// (http:// on this machine)", text)
    return text.rstrip("/")


def is_loopback(host: str | None) -> bool:
    """Say whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _mirrors(variable: str, text: str) -> dict[str, str]:
    pairs = [entry.strip().partition("=") for entry in text.split(",") if entry.strip()]
    if any(not re.fullmatch(r"[\w.-]+(:[0-9]+)?", host) for host, _, _ in pairs):
        raise ConfigurationError(variable, "HOST=ADDRESS pairs with commas between", text)
    return {host.lower(): _address(variable, address) for host, _, address in pairs}


def _optional(read: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """Return a reader that takes `none` for a blank."""
    return lambda variable, text: read(variable, "" if text == "none" else text)


def _words(variable: str, text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def _text(variable: str, text: str) -> str:
    return text


def _name(variable: str, text: str) -> str:
    if not re.fullmatch(r"[\w.-]+", text):
        raise ConfigurationError(variable, "a name of letters, digits, dots and dashes", text)
    return text


def _scheduler(variable: str, text: str) -> str | None:
    """Read the address of a Dask scheduler."""
    if not text:
        return None
    if not re.fullmatch(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", text):
        raise ConfigurationError(variable, "the address of a Dask scheduler, such as tcp://host:8786", text)
    return text


def _secret(variable: str, text: str) -> Secret:
    if not re.fullmatch(r"[!-~]*", text):
        raise ConfigurationError(variable, "a token of printable ASCII characters", "other characters")
    return Secret(text)


@dataclass(frozen=True)
class Settings:
    """Where everything is and how much of it is allowed. Paths are absolute."""

    data: Annotated[
        Path,
        Setting("RACKRECON_DATA", "data", "Folder of the lake, warehouse, report, cache and lock", _path),
    ]
    lake: Annotated[
        str,
        Setting("RACKRECON_LAKE", "<data>/lake", "Where the lake is: a folder, or s3://bucket/prefix", _location),
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
    cluster: Annotated[
        str | None,
        Setting(
            "RACKRECON_CLUSTER",
            "none",
            "Dask scheduler on whose workers rounds are read and plans searched, such as tcp://host:8786; "
            "none: this process does it",
            _optional(_scheduler),
        ),
    ]
    cluster_seconds: Annotated[
        float,
        Setting(
            "RACKRECON_CLUSTER_SECONDS",
            "300",
            "How long a refresh waits for a worker when the cluster has none",
            _seconds,
        ),
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

    contact: Annotated[
        str,
        Setting(
            "RACKRECON_CONTACT",
            "none",
            "Address or page that a host finds in the User-Agent of our requests",
            _optional(_text),
        ),
    ]
    results_api: Annotated[
        str,
        Setting(
            "RACKRECON_RESULTS_API",
            "https://api.github.com",
            "Where the organisation's repositories and their commits are asked for",
            _address,
        ),
    ]
    results_archives: Annotated[
        str,
        Setting(
            "RACKRECON_RESULTS_ARCHIVES",
            "https://codeload.github.com",
            "Where the tarball of a commit is fetched: ADDRESS/ORGANISATION/REPOSITORY/tar.gz/COMMIT",
            _address,
        ),
    ]
    results_organisation: Annotated[
        str,
        Setting("RACKRECON_RESULTS_ORGANISATION", "mlcommons", "Organisation that publishes the rounds", _name),
    ]
    results_token: Annotated[
        Secret,
        Setting(
            "RACKRECON_GITHUB_TOKEN",
            "none",
            "Token for the host of RACKRECON_RESULTS_API and no other; optional, it raises the rate limit",
            _optional(_secret),
        ),
    ]
    live_rounds: Annotated[
        tuple[str, ...],
        Setting(
            "RACKRECON_LIVE_ROUNDS",
            "training-v* hpc-v* inference-v*",
            "Rounds that a live refresh fetches, as patterns; the others are recorded as known",
            _words,
        ),
    ]
    catalogue: Annotated[
        Path,
        Setting(
            "RACKRECON_CATALOGUE",
            "pipelines/sources/catalogue.toml",
            "The list of spec sheets that are fetched and watched",
            _path,
        ),
    ]
    asks_every_page: Annotated[
        bool,
        Setting(
            "RACKRECON_PAGES",
            "due",
            "due: a live refresh leaves a spec sheet alone that it asked for not long ago, by the sheet's cadence; "
            "all: it asks for every one",
            _pages,
        ),
    ]
    mirrors: Annotated[
        dict[str, str],
        Setting(
            "RACKRECON_MIRRORS",
            "none",
            "HOST=ADDRESS pairs with commas between: what is asked of HOST is asked of ADDRESS instead",
            _optional(_mirrors),
        ),
    ]
    redirect_hosts: Annotated[
        tuple[str, ...],
        Setting(
            "RACKRECON_REDIRECT_HOSTS",
            "none",
            "Hosts that may be followed to, beside those that the settings and the catalogue name",
            _optional(_words),
        ),
    ]
    http_seconds: Annotated[
        float,
        Setting("RACKRECON_HTTP_SECONDS", "30", "How long a host may stay silent, also amid a body", _seconds),
    ]
    transfer_seconds: Annotated[
        float,
        Setting("RACKRECON_TRANSFER_SECONDS", "3600", "How long one transfer may last", _seconds),
    ]
    retry_seconds: Annotated[
        float,
        Setting(
            "RACKRECON_RETRY_SECONDS", "1", "First wait before a failed request is sent again; it doubles", _seconds
        ),
    ]
    wait_seconds: Annotated[
        float,
        Setting(
            "RACKRECON_WAIT_SECONDS",
            "120",
            "Longest wait that a host may ask for; where it asks for more the refresh goes on without it",
            _seconds,
        ),
    ]
    max_page_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_PAGE_BYTES", "32 MiB", "Longest page or answer that is fetched, unpacked", _bytes),
    ]
    max_archive_bytes: Annotated[
        int,
        Setting("RACKRECON_MAX_ARCHIVE_BYTES", "8 GiB", "Longest tarball that is fetched, as it comes", _bytes),
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
