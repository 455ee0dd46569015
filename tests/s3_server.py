"""An S3-compatible server on the loopback address, as a process: prints its port, serves until it is ended.

Requests are answered one at a time: moto looks and then puts, so that only thus a conditional put is one step, as S3's.
Started with an argument, it takes no key but those that its own IAM has made.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any


def main() -> None:
    if sys.argv[1:]:
        os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "0"
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415

    class Quiet(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

        def log(self, *_: object) -> None:
            """Say nothing of requests."""

    application, turn = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def one_at_a_time(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        with turn:
            return list(application(environ, start_response))

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
