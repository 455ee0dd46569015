"""Values of settings: how the text of a variable is read, and what is said of one that cannot be used.

Which settings there are belongs in `settings`. A reader takes the variable's name and its text; it gives the value or
raises `ConfigurationError`.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
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
class Secret:
    """A text that no message, log or representation shows."""

    value: str = field(repr=False)

    def __bool__(self) -> bool:
        return bool(self.value)


def path(variable: str, text: str) -> Path:
    """Read a path; a relative one starts at the repository."""
    if "://" in text:
        raise ConfigurationError(variable, "a path", text)
    try:
        expanded = Path(text).expanduser()
    except RuntimeError:
        raise ConfigurationError(variable, "a path whose home folder is known", text) from None
    return Path(os.path.normpath(REPOSITORY / expanded))


_WITH_CREDENTIALS = "one with a user's name or password"
"""What is shown in the place of an address that holds them."""

_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[\w=+~-][\w.=+~-]*)*/?")


def location(variable: str, text: str) -> str:
    """Read where a lake is: a folder, or a bucket and prefix."""
    if not text.startswith("s3:"):
        return str(path(variable, text))
    if not _BUCKET.fullmatch(text):
        shown = _WITH_CREDENTIALS if "@" in text else text
        raise ConfigurationError(variable, "a folder, or a bucket and prefix as s3://bucket/prefix", shown)
    return text.rstrip("/")


def count(variable: str, text: str) -> int:
    """Read a whole number above 0."""
    if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) == 0:
        raise ConfigurationError(variable, "a whole number above 0", text)
    return int(text)


_BYTE_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTE_UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


def byte_length(variable: str, text: str) -> int:
    """Read a length, in bytes or with a unit."""
    match = re.fullmatch(r"([0-9]{1,15}) ?([A-Za-z]*)", text)
    unit = _BYTE_UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None or int(match[1]) == 0:
        raise ConfigurationError(variable, "a length such as 134217728, 128 MiB or 2 GB", text)
    return int(match[1]) * unit


def seconds(variable: str, text: str) -> float:
    """Read a time in seconds."""
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ConfigurationError(variable, "seconds, such as 30 or 0.5", text)
    return float(text)


def links(variable: str, text: str) -> bool:
    """Read whether links are skipped, or refused."""
    if text not in ("refuse", "skip"):
        raise ConfigurationError(variable, "refuse or skip", text)
    return text == "skip"


def pages(variable: str, text: str) -> bool:
    """Read whether every page is asked for, or those that are due."""
    if text not in ("due", "all"):
        raise ConfigurationError(variable, "due or all", text)
    return text == "all"


def address(variable: str, text: str) -> str:
    """Read the address of a host, with or without a path; only a loopback host may be asked without TLS."""
    host = text.partition("://")[2].partition("/")[0]
    if "@" in host:
        raise ConfigurationError(variable, "an address without a user's name or password", _WITH_CREDENTIALS)
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("https", "http") and bool(parts.hostname) and not (parts.query or parts.fragment)
        is_address = is_address and (parts.port is None or parts.port > 0)
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


def mirrors(variable: str, text: str) -> dict[str, str]:
    """Read which hosts are asked at another address."""
    pairs = [entry.strip().partition("=") for entry in text.split(",") if entry.strip()]
    if any(not re.fullmatch(r"[\w.-]+(:[0-9]+)?", host) for host, _, _ in pairs):
        shown = _WITH_CREDENTIALS if "@" in text else text
        raise ConfigurationError(variable, "HOST=ADDRESS pairs with commas between", shown)
    return {host.lower(): address(variable, mirror) for host, _, mirror in pairs}


def optional(read: Callable[[str, str], Any]) -> Callable[[str, str], Any]:
    """Return a reader that takes `none` for a blank."""
    return lambda variable, text: read(variable, "" if text == "none" else text)


def words(variable: str, text: str) -> tuple[str, ...]:
    """Read words with commas or spaces between."""
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def any_text(variable: str, text: str) -> str:
    """Read a text as it stands."""
    return text


def name(variable: str, text: str) -> str:
    """Read a name of letters, digits, dots and dashes."""
    if not re.fullmatch(r"[\w.-]+", text):
        raise ConfigurationError(variable, "a name of letters, digits, dots and dashes", text)
    return text


def scheduler(variable: str, text: str) -> str | None:
    """Read the address of a Dask scheduler."""
    if not text:
        return None
    if not re.fullmatch(r"(tcp|tls)://([\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", text):
        raise ConfigurationError(variable, "the address of a Dask scheduler, such as tcp://host:8786", text)
    return text


def secret(variable: str, text: str) -> Secret:
    """Read a token, which no message shows."""
    if not re.fullmatch(r"[!-~]*", text):
        raise ConfigurationError(variable, "a token of printable ASCII characters", "other characters")
    return Secret(text)
