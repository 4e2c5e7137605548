"""The explorer as a local web application: a page, and what it asks while it is looked at.

    serve(asked, port=0)      listens on 127.0.0.1, says where, opens a browser, ends at Ctrl-C

It runs the code of kernels, so: it listens on the loopback address only; every question needs the token that stands in the address it
prints; it answers no request for another host's name and none that another page's script sends.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.explorer.asked import Asked
from minitriton.explorer.page_file import live_page
from minitriton.explorer.wire import Json
from minitriton.explorer.worker import Worker, error_bytes

HOST = "127.0.0.1"
DEFAULT_PORT = 8753
_MOST_BYTES = 1 << 24
_PROCESSES = {
    "check": "checking", "triton": "checking", "run": "running", "pattern": "running", "exercise": "running",
    "inspect": "inspecting", "buffers": "inspecting", "states": "inspecting",
}  # fmt: skip
"""Services that take long have processes of their own, so that clicks and compiles need not wait; "answering" has the others.
Facts are asked of the modules of all states, which "inspecting" keeps: it compiles beside "answering", whose answer does not wait for it;
after an edit "answering" prints the states that are looked at only, and those of "inspecting" follow."""
_BACKGROUND = "checking"
"""Nobody waits for it: it yields to those that somebody waits for."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Who may ask: a request to this very host, of no other page, with the token."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}

    def refusal(self, host: str, origin: str | None, site: str | None, token: str | None) -> str | None:
        """Why a request is refused, by its headers and token; None where it is not."""
        if host not in self.hosts:
            return "this server answers for its own address only"
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return "this server answers no other page"
        if site not in (None, "same-origin", "none"):
            return "this server answers no other page"
        if token is None or not hmac.compare_digest(token.encode(), self.token.encode()):
            return "the token is missing or wrong: open the address that `minitriton explore` printed"
        return None


def application(guard: Guard, asked: list[Asked], workers: dict[str, Worker]) -> Any:
    """The ASGI application. Raises `MinitritonError` where the server library is not installed."""
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise MinitritonError(
            "the explorer's server needs starlette and uvicorn",
            help="pip install 'minitriton[explorer]', or write a file that needs no server: --html OUT.html",
        ) from None

    def refused(request: Request, token: str | None) -> Response | None:
        headers = request.headers
        why = guard.refusal(headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site"), token)
        return PlainTextResponse(why + "\n", 403, _HEADERS) if why else None

    async def page(request: Request) -> Response:
        # A link from another program is a navigation: what it may not do without the token, it cannot do with it either.
        why = guard.refusal(request.headers.get("host", ""), None, None, request.query_params.get("token"))
        if why:
            return PlainTextResponse(why + "\n", 403, _HEADERS)
        text = live_page([one.plain() for one in asked], guard.token)
        return Response(text, media_type="text/html", headers=_HEADERS)

    async def ask(request: Request) -> Response:
        no = refused(request, request.headers.get("x-token"))
        if no is not None:
            return no
        if int(request.headers.get("content-length") or _MOST_BYTES + 1) > _MOST_BYTES:
            return PlainTextResponse("the question is too long\n", 413, _HEADERS)
        name = request.path_params["name"]
        try:
            given: Json = json.loads(await request.body())
        except ValueError:
            return PlainTextResponse("the question is no JSON\n", 400, _HEADERS)
        worker = workers[_PROCESSES.get(name, "answering")]
        try:
            answer = await run_in_threadpool(worker.ask, name, given if isinstance(given, dict) else {})
        except Exception as error:
            answer = error_bytes(error)
        return Response(answer, media_type="application/json", headers=_HEADERS)

    return Starlette(routes=[Route("/", page), Route("/api/{name}", ask, methods=["POST"])])


def bound_socket(port: int) -> socket.socket:
    """A socket on the loopback address: of `port`, or of one that is free where `port` is taken and the default (0: any)."""
    reason: str | None = None
    for wanted in (port, 0) if port == DEFAULT_PORT else (port,):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((HOST, wanted))
            made.listen(128)
        except OSError as error:
            made.close()
            reason = error.strerror
            continue
        return made
    raise MinitritonError(
        f"cannot listen on port {port}: {reason}", help="take another by --port, or any free one by --port 0"
    )


def serve(
    asked: list[Asked],
    *,
    port: int = DEFAULT_PORT,
    browser: bool = True,
    token: str | None = None,
    as_json: bool = False,
) -> int:
    """Serves until Ctrl-C and leaves nothing running."""
    listening = bound_socket(port)
    actual = listening.getsockname()[1]
    guard = Guard(actual, token)
    with listening, contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="minitriton-explorer-"))
        workers = {
            name: stack.enter_context(Worker(keeps=name != "answering", scratch=scratch, yields=name == _BACKGROUND))
            for name in ("answering", *sorted(set(_PROCESSES.values())))
        }
        for one in asked:
            # Compiled by the time that the page asks for it, and begun before this process imports its own libraries.
            plain = one.plain()
            for worker, name, given in (("answering", "compile", {}), ("inspecting", "inspect", {"step": 0})):
                question = {"asked": plain, **given}
                threading.Thread(target=workers[worker].ask, args=(name, question), daemon=True).start()
        app = application(guard, asked, workers)
        import uvicorn

        class Server(uvicorn.Server):
            """Ends what is still computed, so that nobody waits for it."""

            def handle_exit(self, sig: int, frame: Any) -> None:
                self.force_exit = self.should_exit
                self.should_exit = True
                for worker in workers.values():
                    threading.Thread(target=worker.close).start()

        address = f"http://{HOST}:{actual}/?token={guard.token}"
        if actual != port and port:
            print(f"port {port} is taken: this is port {actual}", file=sys.stderr)
        said = json.dumps({"address": address, "port": actual, "token": guard.token})
        print(
            said
            if as_json
            else f"{address}\nIt runs kernels' code for whoever has this address, on this machine only. Ctrl-C ends it.",
            flush=True,
        )
        server = Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
        if hasattr(signal, "SIGHUP"):
            # The terminal was closed.
            signal.signal(signal.SIGHUP, server.handle_exit)
        if browser:
            threading.Timer(0.3, webbrowser.open, [address]).start()
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    print("ended", file=sys.stderr)
    return 0
