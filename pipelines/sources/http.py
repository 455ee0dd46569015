"""The one door to the network: polite requests, each answer checked for its length and told by its SHA-256.

A host is asked by one of us at a time, with our name on the request, over TLS, again only as it allows. Which addresses
there are to ask belongs in `github` and `sheets`; what the bytes mean belongs in `parsing`.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import stamina
from hishel import CacheOptions, SqliteStorage
from hishel.httpx import CacheClient
from stamina.instrumentation import set_on_retry_hooks

from pipelines import __version__
from pipelines.settings import Settings, is_loopback
from pipelines.sources.errors import CutOffError, SourceError, printable
from pipelines.sources.hosts import HostBook

ATTEMPTS = 4
"""Times that a request is sent before it counts as failed."""

CIRCUIT_SECONDS = 1800.0
"""How long a host is left alone that answers 429 to every attempt."""

MOST_REDIRECTS = 5

_LONGEST_RETRY_WAIT = 60.0
_CHUNK = 1 << 16
_AGAIN = frozenset({408, 425, 500, 502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_NO_PROXY = ("all://localhost", "all://127.0.0.1", "all://[::1]")

Tell = Callable[[str], None]

set_on_retry_hooks(())  # what is tried again is told by `Http`, in words


class FetchError(SourceError):
    """An address could not be fetched."""


class PassingError(FetchError):
    """An address could not be fetched this time: the transfer broke, or the host was at a loss."""


class PausedError(FetchError):
    """The host asked to be left alone for longer than we may wait."""


@dataclass(frozen=True)
class Page:
    """One answer, whole."""

    address: str
    """Address that was asked for, whatever mirror or redirect it came from."""
    content: bytes
    sha256: str
    media_type: str
    next_address: str | None
    """What the header `Link` names as the next page."""
    is_unchanged: bool
    """Whether the host said that the bytes are those of the last time (304)."""


class Http:
    """Sends requests for one process; close it, or use it as a context."""

    def __init__(self, settings: Settings, *, hosts: Iterable[str] = (), tell: Tell = lambda message: None) -> None:
        """Open the client.

        Args:
            settings: Times, lengths, mirrors, contact, token, and where the cache is.
            hosts: Hosts that a redirect may lead to, beside those that the settings name.
            tell: Takes a line on what is tried again.
        """
        self._settings = settings
        self._tell = tell
        self._token_host = host_of(settings.results_api)
        named = (settings.results_api, settings.results_archives, *settings.mirrors.values())
        self._hosts = {*(host_of(address) for address in named), *settings.redirect_hosts, *hosts}
        self._refusals: Counter[str] = Counter()
        folder = settings.cache / "http"
        folder.mkdir(parents=True, exist_ok=True)
        self._book = HostBook(folder)
        storage = SqliteStorage(database_path=folder / "pages.db", max_stream_size=settings.max_page_bytes)
        self._storage = storage
        arguments: dict[str, Any] = {
            "headers": {"User-Agent": _user_agent(settings.contact)},
            "timeout": httpx.Timeout(settings.http_seconds),
            "follow_redirects": False,
            "mounts": dict.fromkeys(_NO_PROXY),
        }
        self._pages = CacheClient(storage=storage, rfc=CacheOptions(shared=False), **arguments)
        self._archives = httpx.Client(**arguments)

    def close(self) -> None:
        """Close the connections and the cache."""
        self._pages.close()
        self._archives.close()
        self._storage.close()

    def __enter__(self) -> Http:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, address: str, *, accept: str = "*/*") -> Page:
        """Fetch a page whole, on the condition that it changed since the last time.

        Raises:
            FetchError: it cannot be fetched, is too long, or leads where it must not.
        """
        # no-cache: a page that says it is good for a year is still asked for, with its ETag.
        headers = {"Accept": accept, "Accept-Encoding": "gzip", "Cache-Control": "no-cache"}
        for attempt in self.attempts():
            with attempt, self._opened(self._pages, address, headers) as response:
                return self._page(address, response)
        raise AssertionError("the last attempt returns or raises")

    @contextmanager
    def stream(self, address: str) -> Iterator[Body]:
        """Open an address whose body is read once, front to back, never held whole; it is not cached.

        Raises:
            FetchError: it cannot be opened.
        """
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        with self._opened(self._archives, address, headers) as response:
            limit = (self._settings.max_archive_bytes, "RACKRECON_MAX_ARCHIVE_BYTES")
            yield Body(self._chunks(response, address, *limit))

    def attempts(self) -> Iterable[AbstractContextManager[object]]:
        """Give attempts, each a context: one that ends in a passing error is followed by another, after a wait."""
        first = self._settings.retry_seconds
        return stamina.retry_context(
            on=self._may_pass,
            attempts=ATTEMPTS,
            timeout=None,
            wait_initial=first,
            wait_max=_LONGEST_RETRY_WAIT,
            wait_jitter=first,
        )

    def _may_pass(self, error: Exception) -> bool:
        if not isinstance(error, PassingError | CutOffError):
            return False
        self._tell(f"{error}; trying again")
        return True

    def _page(self, address: str, response: httpx.Response) -> Page:
        limit = (self._settings.max_page_bytes, "RACKRECON_MAX_PAGE_BYTES")
        content = b"".join(_inflated(self._chunks(response, address, *limit), response, address, *limit))
        return Page(
            address=address,
            content=content,
            sha256=hashlib.sha256(content).hexdigest(),
            media_type=response.headers.get("content-type", ""),
            next_address=_next_address(address, response),
            is_unchanged=_is_revalidated(response),
        )

    @contextmanager
    def _opened(self, client: httpx.Client, address: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """Give the answer to a request, redirects followed where they may be; the host's turn lasts as long."""
        current = address
        for _ in range(MOST_REDIRECTS + 1):
            with ExitStack() as stack:
                response = self._answer(stack, client, address, current, headers)
                if response.status_code not in _REDIRECTS:
                    yield response
                    return
                current = _redirected(address, current, response)
        raise FetchError(address, None, f"at most {MOST_REDIRECTS} redirects", "more: they may go round in a circle")

    def _answer(
        self, stack: ExitStack, client: httpx.Client, address: str, current: str, headers: Mapping[str, str]
    ) -> httpx.Response:
        place = self._mirrored(current)
        host = self._checked_host(address, place)
        stack.enter_context(self._book.turn(host, self._settings.lock_seconds))
        self._keep_pause(address, host)
        try:
            request = client.stream("GET", place, headers={**headers, **self._credentials(host)})
            response = stack.enter_context(request)
        except httpx.TransportError as error:
            raise PassingError(address, None, "an answer", _words_of(error)) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise FetchError(address, None, "an address that can be asked", _words_of(error)) from error
        self._heed(address, host, response)
        return response

    def _credentials(self, host: str) -> dict[str, str]:
        token = self._settings.results_token
        return {"Authorization": f"Bearer {token.value}"} if token and host == self._token_host else {}

    def _mirrored(self, address: str) -> str:
        """Return where an address is asked for."""
        mirror = self._settings.mirrors.get(host_of(address))
        if mirror is None:
            return address
        parts = urlsplit(address)
        return mirror + parts.path + (f"?{parts.query}" if parts.query else "")

    def _checked_host(self, address: str, place: str) -> str:
        """Return the host of a place, if it may be asked there."""
        host = host_of(place)
        parts = urlsplit(place if host else "")
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
            raise FetchError(address, None, "an address that starts with https://", printable(place))
        if host not in self._hosts:
            allowed = f"one of {', '.join(sorted(self._hosts))} (RACKRECON_REDIRECT_HOSTS adds to them)"
            raise FetchError(address, None, allowed, f"a way to {printable(host)}")
        return host

    def _keep_pause(self, address: str, host: str) -> None:
        """Wait as long as the host asked for, or raise where that is longer than we may wait."""
        pause = self._book.paused(host)
        if pause is None:
            return
        seconds = self._book.seconds_left(pause)
        if seconds > self._settings.wait_seconds:
            expected = f"{host} to take requests; it is left alone until {pause.until_in_words}"
            raise PausedError(address, None, expected, pause.reason)
        self._tell(f"{host}: waiting {seconds:.0f} s, as it asked")
        time.sleep(seconds)

    def _heed(self, address: str, host: str, response: httpx.Response) -> None:
        """Take down what the host asks for, and raise where it did not answer with what was asked."""
        status = response.status_code
        found = f"status {status} {printable(response.reason_phrase)}".rstrip()
        seconds = _pause_asked(response.headers, status)
        if seconds is not None:
            self._book.pause(host, seconds, found)
        if status == 429:
            self._refusals[host] += 1
            if self._refusals[host] >= ATTEMPTS:
                self._refusals[host] = 0
                self._book.pause(host, CIRCUIT_SECONDS, f"{found}, {ATTEMPTS} times in a row")
                self._keep_pause(address, host)
        else:
            self._refusals[host] = 0
        if status in _AGAIN or status == 429 or (status == 403 and seconds is not None):
            raise PassingError(address, None, "status 200", found)
        if status != 200 and status not in _REDIRECTS:
            hint = ": RACKRECON_GITHUB_TOKEN is not accepted" if status == 401 and self._credentials(host) else ""
            raise FetchError(address, None, "status 200", found + hint)

    def _chunks(self, response: httpx.Response, address: str, limit_bytes: int, variable: str) -> Iterator[bytes]:
        """Give the body as it comes; raise where it breaks off, stalls, lasts too long or is too long."""
        read_bytes, deadline = 0, time.monotonic() + self._settings.transfer_seconds
        try:
            for chunk in response.iter_raw():
                read_bytes += len(chunk)
                if read_bytes > limit_bytes:
                    raise FetchError(address, None, f"at most {limit_bytes} bytes ({variable})", "more")
                if time.monotonic() > deadline:
                    expected = f"a whole body in {self._settings.transfer_seconds:g} s (RACKRECON_TRANSFER_SECONDS)"
                    raise FetchError(address, None, expected, f"{read_bytes} bytes")
                yield chunk
        except httpx.TransportError as error:
            found = f"{_words_of(error)} after {read_bytes} bytes"
            raise PassingError(address, None, "a whole body", found) from error


class Body:
    """The body of an answer, read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")
        self._digest = hashlib.sha256()

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end.

        Raises:
            FetchError: the body breaks off or is too long.
        """
        if not self._rest:
            chunk = next(self._chunks, b"")
            self._digest.update(chunk)
            self._rest = memoryview(chunk)
        part, self._rest = self._rest[:size], self._rest[size:]
        return bytes(part)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of what was received so far, in hexadecimal."""
        return self._digest.hexdigest()


def host_of(address: str) -> str:
    """Return the host of an address as `Http` compares them: with its port, where that is not the usual one."""
    try:
        parts = urlsplit(address)
        name, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    return name if port in (None, {"https": 443, "http": 80}.get(parts.scheme)) else f"{name}:{port}"


def _user_agent(contact: str) -> str:
    told = contact if contact.isascii() and contact.isprintable() else ascii(contact)
    return f"rackrecon/{__version__} ({told or 'no contact given'})"


def _redirected(address: str, current: str, response: httpx.Response) -> str:
    location = response.headers.get("location")
    if not location:
        raise FetchError(address, None, "a redirect that names where to", f"status {response.status_code} without")
    try:
        return urljoin(current, str(location))
    except ValueError:
        raise FetchError(address, None, "a redirect to an address", printable(location)) from None


def _next_address(address: str, response: httpx.Response) -> str | None:
    target = response.links.get("next", {}).get("url")
    try:
        return None if target is None else urljoin(address, str(target))
    except ValueError:
        raise FetchError(address, None, "a link to the next page", printable(str(target))) from None


def _is_revalidated(response: httpx.Response) -> bool:
    told: dict[str, object] = response.extensions.get("caching", {})
    return told.get("from_cache") is True and told.get("revalidated") is True


def _pause_asked(headers: httpx.Headers, status: int) -> float | None:
    """Return the seconds for which an answer asks to be left alone: `Retry-After`, or a spent rate limit's reset."""
    after = headers.get("retry-after", "").strip()
    if after and status != 200:
        seconds = _number(after, most_digits=9)
        return _seconds_until(after) if seconds is None else seconds
    reset = _number(headers.get("x-ratelimit-reset", "").strip(), most_digits=11)
    is_spent = headers.get("x-ratelimit-remaining", "").strip() == "0"
    return reset - time.time() if is_spent and reset is not None else None


def _number(text: str, most_digits: int) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) <= most_digits else None


def _seconds_until(date: str) -> float | None:
    try:
        return (parsedate_to_datetime(date).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None


def _inflated(
    chunks: Iterator[bytes], response: httpx.Response, address: str, limit_bytes: int, variable: str
) -> Iterator[bytes]:
    """Give a body without its gzip coding, a piece at a time, so that no bomb is ever held."""
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("identity", ""):
        yield from chunks
        return
    if coding not in ("gzip", "x-gzip"):
        raise FetchError(address, None, "a body as it is or in gzip, as was asked", f"one in {printable(coding)}")
    inflator, total = zlib.decompressobj(31), 0
    for chunk in chunks:
        while chunk:
            if inflator.eof:  # a gzip body may be several members, one after another
                inflator = zlib.decompressobj(31)
            try:
                piece = inflator.decompress(chunk, _CHUNK)
            except zlib.error as error:
                raise PassingError(address, None, "a sound gzip body", f"a damaged one ({error})") from error
            total += len(piece)
            if total > limit_bytes:
                raise FetchError(address, None, f"at most {limit_bytes} bytes unpacked ({variable})", "more")
            yield piece
            chunk = inflator.unused_data or inflator.unconsumed_tail
    if not inflator.eof:
        raise PassingError(address, None, "a whole gzip body", "one that is cut off")


def _words_of(error: Exception) -> str:
    kinds: dict[type[Exception], str] = {
        httpx.ConnectTimeout: "no connection in time",
        httpx.ReadTimeout: "silence for too long (RACKRECON_HTTP_SECONDS)",
        httpx.PoolTimeout: "no connection in time",
    }
    return kinds.get(type(error), printable(str(error)) or type(error).__name__)
