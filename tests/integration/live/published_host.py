"""A host of results repositories and spec sheets on the loopback address, run as a process of its own.

It plays the host as it behaves on good days and on bad ones: what is asked of a path can be planned, answer by answer.
Run as `python published_host.py`; the first line on stdout is its port. Everything is told to it over HTTP:

- `PUT /_state`: what it holds (see `State`).
- `PUT /_plan`: `{"path": PATH, "answers": [...]}`, used up one a request, before the usual answer.
- `GET /_log`, `DELETE /_log`: the requests that it got.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

CHUNK = 1 << 16


class State:
    """What the host holds; one for the process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holds: dict[str, Any] = {"organisation": "mlcommons", "page_size": 2, "repositories": [], "pages": {}}
        self.plans: dict[str, list[dict[str, Any]]] = {}
        self.log: list[dict[str, Any]] = []

    def planned(self, path: str) -> dict[str, Any] | None:
        with self.lock:
            answers = self.plans.get(path, [])
            if not answers:
                return None
            return answers[0] if answers[0].get("always") else answers.pop(0)


STATE = State()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing: the log is asked for."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/_log":
            self.whole(200, json.dumps(STATE.log).encode())
            return
        entry = {"path": self.path, "headers": {name.lower(): value for name, value in self.headers.items()}}
        STATE.log.append(entry)
        self.entry = entry
        plan = STATE.planned(path)
        try:
            if plan is not None:
                self.misbehave(plan, path)
            else:
                self.behave(path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_PUT(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with STATE.lock:
            if self.path == "/_state":
                STATE.holds |= told
            elif self.path == "/_forget_log":
                STATE.log.clear()
            else:
                STATE.plans[told["path"]] = told["answers"]
        self.whole(200, b"{}")

    def do_DELETE(self) -> None:
        with STATE.lock:
            STATE.log.clear()
            STATE.plans.clear()
        self.whole(200, b"{}")

    def behave(self, path: str) -> None:
        """Answer as the host does on a good day."""
        organisation = STATE.holds["organisation"]
        repositories = {entry["name"]: entry for entry in STATE.holds["repositories"]}
        parts = path.strip("/").split("/")
        match parts:
            case ["orgs", name, "repos"] if name == organisation:
                self.list_page(list(repositories.values()))
            case ["repos", owner, name, "commits", branch] if owner == organisation and name in repositories:
                entry = repositories[name]
                if branch != entry.get("default_branch", "main"):
                    self.whole(422, b'{"message": "No commit found"}')
                elif self.headers.get("Accept") == "application/vnd.github.sha":
                    self.conditional(entry["commit"].encode(), f'"{entry["commit"]}"', "text/plain")
                else:
                    self.conditional(json.dumps({"sha": entry["commit"]}).encode(), '"described"', "application/json")
            case [owner, name, "tar.gz", commit] if owner == organisation and name in repositories:
                if commit != repositories[name]["commit"]:
                    self.whole(404, b"not found")
                else:
                    self.chunked(archive(repositories[name]), "application/x-gzip")
            case _ if path in STATE.holds["pages"]:
                page = STATE.holds["pages"][path]
                content = Path(page["file"]).read_bytes() if "file" in page else page["text"].encode()
                etag = page.get("etag") or f'"{hashlib.sha256(content).hexdigest()[:20]}"'
                self.conditional(content, etag, page.get("type", "text/html; charset=utf-8"))
            case _:
                self.whole(404, b'{"message": "Not Found"}')

    def list_page(self, repositories: list[dict[str, Any]]) -> None:
        size = STATE.holds["page_size"]
        page = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
        chosen = repositories[(page - 1) * size : page * size]
        content = [{"name": entry["name"], "default_branch": entry.get("default_branch", "main")} for entry in chosen]
        headers = {}
        if page * size < len(repositories):
            base = f"http://{self.headers['Host']}{urlsplit(self.path).path}?per_page=100&sort=full_name"
            headers["Link"] = f'<{base}&page={page + 1}>; rel="next", <{base}&page=9>; rel="last"'
        body = json.dumps(content).encode()
        self.conditional(body, f'W/"{hashlib.sha256(body).hexdigest()[:20]}"', "application/json", headers)

    def conditional(self, body: bytes, etag: str, media_type: str, more: dict[str, str] | None = None) -> None:
        headers = {"ETag": etag, "Content-Type": media_type, "Vary": "Accept", **(more or {})}
        if self.headers.get("If-None-Match") == etag:
            self.head(304, headers)
        elif len(body) > 1000 and "gzip" in self.headers.get("Accept-Encoding", ""):
            self.whole(200, gzip.compress(body, mtime=0), {**headers, "Content-Encoding": "gzip"})
        else:
            self.whole(200, body, headers)

    def misbehave(self, plan: dict[str, Any], path: str) -> None:
        """Answer as planned: a status with headers and a body, or a fault amid the usual body."""
        fault = plan.get("fault")
        if fault is None:
            body = bytes.fromhex(plan["hex"]) if "hex" in plan else plan.get("body", "").encode()
            self.whole(plan["status"], body, plan.get("headers"))
        elif fault == "bomb":
            zeros = gzip.compress(bytes(16 << 20))
            headers = {"Content-Type": "text/html", "Content-Encoding": "gzip"} if plan.get("coded") else {}
            # A gzip stream of many members: as many times 16 MiB of zeros as are read.
            self.chunked((zeros for _ in range(10_000)), "application/x-gzip", headers)
        elif fault == "trickle":
            self.chunked(slowly(plan["seconds"]), "text/html")
        else:
            body = self.usual_body(path)
            length = plan.get("length", len(body))
            sent = body[: int(len(body) * plan.get("share", 0.6))]
            if fault == "cut_chunked":
                self.chunked(iter([sent]), "application/x-gzip")
                return
            self.head(200, {"Content-Type": "application/octet-stream", "Content-Length": str(length)})
            self.wfile.write(sent)
            self.wfile.flush()
            if fault == "stall":
                self.connection.settimeout(plan.get("seconds"))
                with suppress(TimeoutError):
                    self.connection.recv(1)  # nothing comes, until the client hangs up
            self.close_connection = True

    def usual_body(self, path: str) -> bytes:
        if path in STATE.holds["pages"]:
            return str(STATE.holds["pages"][path]["text"]).encode()
        name = path.strip("/").split("/")[1]
        return b"".join(archive(next(entry for entry in STATE.holds["repositories"] if entry["name"] == name)))

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.entry["status"] = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def whole(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        if not hasattr(self, "entry"):
            self.entry = {}
        self.head(status, {"Content-Length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def chunked(self, pieces: Iterator[bytes], media_type: str, more: dict[str, str] | None = None) -> None:
        """Send a body of unknown length, as the host sends its tarballs."""
        self.head(200, {"Content-Type": media_type, "Transfer-Encoding": "chunked", **(more or {})})
        for piece in pieces:
            if piece:
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def slowly(seconds: float) -> Iterator[bytes]:
    while True:
        time.sleep(seconds)
        yield b"x"


def archive(entry: dict[str, Any]) -> Iterator[bytes]:
    """Give the tarball of a repository: a file, or one made up as it is sent."""
    if "file" in entry:
        with Path(entry["file"]).open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk
    else:
        yield from made_up(entry)


def made_up(entry: dict[str, Any]) -> Iterator[bytes]:
    """Give a tarball of small files that a parser reads amid junk that does not compress and none reads."""
    top = f"{entry['name']}-{entry['commit']}"
    log = entry["log"].encode()
    # The junk is the same random block over and over, stored rather than deflated: nothing is worked out twice.
    junk = b"".join(hashlib.sha256(bytes([index & 255, index >> 8])).digest() for index in range(1 << 15))
    packer = zlib.compressobj(0, zlib.DEFLATED, 31)
    yield packer.compress(header("pax_global_header", b"", {"comment": entry["commit"]}))
    sent, number = 0, 0
    while sent < entry["size_bytes"]:
        path = f"{top}/Acme/results/acme_rack/llama31_8b/result_{number}.txt"
        text = log.replace(b"SEED", str(number).encode()) if number < entry.get("logs", 1000) else b""
        if text:
            yield packer.compress(header(path, text) + padded(text))
        for name in ("weights.bin", "trace.pb"):
            yield packer.compress(header(f"{top}/Acme/benchmarks/llama31_8b/data/{number}/{name}", junk))
            yield packer.compress(padded(junk))
            sent += len(junk)
        number += 1
    yield packer.compress(bytes(1024))
    yield packer.flush()


def header(path: str, content: bytes, pax: dict[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers=pax or {}) as tar:
        if pax is None:
            member = tarfile.TarInfo(path)
            member.size = len(content)
            return member.tobuf(tarfile.PAX_FORMAT)
        return tar.tarinfo.create_pax_global_header(pax)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
