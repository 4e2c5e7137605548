"""The explorer as a local web application: a page, and what it asks while it is looked at.

    serve(asked, port=0)      listens on 127.0.0.1, says where, opens a browser, ends at Ctrl-C

It runs the code of kernels, so: it listens on the loopback address only; every question needs a token, which a page gets once for the code
in the address that is printed (`guard`); it answers no request for another host's name and none that another page's script sends.
"""

from __future__ import annotations

import asyncio
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
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.failures import error_bytes
from minitriton.explorer.page import live_page
from minitriton.explorer.start_page import remember
from minitriton.explorer.stored_compiles import is_stored, stored
from minitriton.explorer.wire import Failure, Json, Question
from minitriton.explorer.worker import Asking, Worker
from minitriton.host.source_text import source_text

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

DEFAULT_PORT = 8753
_MOST_BYTES = 1 << 24
_SECONDS_TO_SEND = 30.0
"""That the body of a question may take to arrive."""
_LOOK_EVERY = 0.2
"""Seconds between looks for a page that has gone."""

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class _Refused(Exception):
    """A request that gets no answer: its status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Service:
    """What the server does with each request."""

    def __init__(self, guard: Guard, asked: list[CompileRequest], pool: WorkerPool) -> None:
        self.guard = guard
        self.asked = asked
        self.pool = pool

    async def page(self, request: Request) -> Response:
        """The page, which holds no secret. A link from another program is a navigation: only the host's name is looked at."""
        from starlette.responses import Response

        self._refuse(self.guard.refusal(request.headers.get("host", ""), None, None))
        text, policy = live_page()
        headers = {**_HEADERS, "Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
        return Response(text, media_type="text/html", headers=headers)

    async def session(self, request: Request) -> Response:
        """What a page starts with: the token, for a code that has not been used or for the token itself; what to ask first, and
        the kernels' files, to be seen before they are compiled."""
        self._refuse_strangers(request)
        given = await self._given(request)
        code = given.get("code")
        token = self.guard.token if self.guard.has_token(request.headers.get("x-token")) else None
        if token is None and isinstance(code, str):
            token = self.guard.token_for(code)
            if token is None and self.guard.was_used(code):
                print(
                    f"an address that was used before: this one opens the page, once\n{self.guard.address}", flush=True
                )
        if token is None:
            raise _Refused(
                403,
                "this address opens the page once only: open the one that the terminal of `minitriton explore` shows",
            )
        asked = [one.plain() for one in self.asked]
        texts = [_text_of(one) for one in self.asked]
        return self._json(json.dumps({"token": token, "asked": asked, "texts": texts}).encode())

    async def answer(self, request: Request) -> Response:
        """The answer to a question. A page that goes away gives its question up."""
        from starlette.concurrency import run_in_threadpool

        self._refuse_strangers(request)
        if not self.guard.has_token(request.headers.get("x-token")):
            raise _Refused(403, "the token is missing or wrong: open the address that `minitriton explore` printed")
        given = await self._given(request)
        asking = Asking()
        name, page = request.path_params["name"], request.headers.get("x-page")
        task = asyncio.ensure_future(run_in_threadpool(self.pool.ask, name, given, page, asking))
        while not (await asyncio.wait({task}, timeout=_LOOK_EVERY))[0]:
            if await request.is_disconnected():
                asking.give_up()
        error = task.exception()
        return self._json(task.result() if error is None else error_bytes(error))

    def _refuse_strangers(self, request: Request) -> None:
        headers = request.headers
        self._refuse(self.guard.refusal(headers.get("host", ""), headers.get("origin"), headers.get("sec-fetch-site")))

    @staticmethod
    def _refuse(why: str | None) -> None:
        if why is not None:
            raise _Refused(403, why)

    async def _given(self, request: Request) -> dict[str, Json]:
        """What a question holds. Raises `_Refused` where it is too long, too slow, or not JSON."""
        body = bytearray()
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                async for part in request.stream():
                    body += part
                    if len(body) > _MOST_BYTES:
                        raise _Refused(413, f"a question has at most {_MOST_BYTES >> 20} MiB")
            found: Json = json.loads(body)
        except TimeoutError:
            raise _Refused(408, f"the question did not arrive within {_SECONDS_TO_SEND:.0f} s") from None
        except (ValueError, RecursionError):
            raise _Refused(400, "the question is not JSON, or nested too deeply") from None
        return found if isinstance(found, dict) else {}

    @staticmethod
    def _json(text: bytes) -> Response:
        from starlette.responses import Response

        return Response(text, media_type="application/json", headers=_HEADERS)


def application(guard: Guard, asked: list[CompileRequest], pool: WorkerPool) -> Any:
    """The ASGI application. Raises `MinitritonError` where the server library is not installed."""
    try:
        from starlette.applications import Starlette
        from starlette.requests import ClientDisconnect
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route
    except ImportError:
        raise MinitritonError(
            "the explorer's server needs starlette and uvicorn",
            help="pip install 'minitriton[explorer]', or write a file that needs no server: --html OUT.html",
        ) from None

    async def refused(request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, _Refused) else 400
        return PlainTextResponse(f"{error}\n", status, _HEADERS)

    service = _Service(guard, asked, pool)
    routes = [
        Route("/", service.page),
        Route("/api/session", service.session, methods=["POST"]),
        Route("/api/{name}", service.answer, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={_Refused: refused, ClientDisconnect: refused})


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
    asked: list[CompileRequest],
    *,
    port: int = DEFAULT_PORT,
    browser: bool = True,
    as_json: bool = False,
) -> int:
    """Serves until Ctrl-C and leaves nothing running."""
    listening = bound_socket(port)
    actual = listening.getsockname()[1]
    guard = Guard(actual)
    with listening, contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="minitriton-explorer-"))
        pool = WorkerPool(scratch, stack)
        for one in asked:
            # Compiled by the time that the page asks for it, and begun before this process imports its own libraries.
            compiled = pool.ahead("compile", {"asked": one.plain(), "opens": True})
            compiled.add_done_callback(lambda done: _say_failure(done.result()))
            if one.says_its_launch:
                pool.ahead("inspect", {"asked": one.plain(), "step": 0})
        if not asked:
            pool.ahead("start", {})
        app = application(guard, asked, pool)
        import uvicorn

        class Server(uvicorn.Server):
            """Ends what is still computed, so that nobody waits for it."""

            def handle_exit(self, sig: int, frame: Any) -> None:
                self.force_exit = self.should_exit
                self.should_exit = True
                pool.close()

        from minitriton.explorer.connections import PromptConnection

        address = guard.address
        if actual != port and port:
            print(f"port {port} is taken: this is port {actual}", file=sys.stderr)
        said = json.dumps({"address": address, "port": actual, "token": guard.token})
        print(
            said
            if as_json
            else f"{address}\nIt runs kernels' code for the browser that opens this address first, on this machine only. Ctrl-C ends it.",
            flush=True,
        )
        server = Server(
            uvicorn.Config(
                app, http=PromptConnection, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
            )
        )
        if hasattr(signal, "SIGHUP"):
            # The terminal was closed.
            signal.signal(signal.SIGHUP, server.handle_exit)
        if browser:
            threading.Timer(0.3, webbrowser.open, [address]).start()
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    print("ended", file=sys.stderr)
    return 0


# Who may ask the explorer's server: its own page, opened with a code that works once.
#
#     guard = Guard(8753)
#     guard.code                      in the address that is printed, and so in the arguments of a browser
#     guard.token_for(guard.code)     the token that every question needs, and a new code; None for any other code
#
# The address of a page can be read by other users of a machine (arguments of processes, histories). A code that has been used is
# useless to them; the token is only ever in the memory and the local storage of the page.

HOST = "127.0.0.1"


class Guard:
    """Takes a request to this very host, of no other page, with the token."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(24)
        self.code = secrets.token_urlsafe(24)
        self.hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._used: set[str] = set()

    @property
    def address(self) -> str:
        """Where a browser gets the token, once. What follows `#` is not sent: the page reads it."""
        return f"http://{HOST}:{self.port}/#code={self.code}"

    def token_for(self, code: str) -> str | None:
        """The token, where `code` is the one that has not been used; it is then replaced."""
        if not _is_equal(code, self.code):
            return None
        self._used.add(code)
        self.code = secrets.token_urlsafe(24)
        return self.token

    def was_used(self, code: str) -> bool:
        """Whether `code` once opened the page: who has it has read an address, and may look for the new one in the terminal."""
        return code in self._used

    def refusal(self, host: str, origin: str | None, site: str | None) -> str | None:
        """Why a request is refused, by its headers; None where it is not."""
        if host not in self.hosts:
            return "this server answers for its own address only"
        if origin is not None and origin.removeprefix("http://") not in self.hosts:
            return "this server answers no other page"
        if site not in (None, "same-origin", "none"):
            return "this server answers no other page"
        return None

    def has_token(self, token: str | None) -> bool:
        """Whether `token` is the token."""
        return token is not None and _is_equal(token, self.token)


def _is_equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


# Processes that answer, by what they answer and for which page: one that computes keeps no other page waiting.
#
# pool = WorkerPool(scratch, stack)
# pool.ask("compile", {"asked": ...}, page="tab-1", question=Question())

_ROLES = {
    "inputs": "running", "check": "checking", "triton": "checking", "apart": "checking", "run": "running", "pattern": "running", "exercise": "running", "timeline": "running", "tiles": "running", "evaluate": "running", "sweep": "running", "file": "running",
    "inspect": "inspecting", "values": "inspecting", "buffers": "inspecting", "states": "inspecting",
}  # fmt: skip
"""Services that take long have processes of their own, so that clicks and compiles need not wait; "answering" has the others.
Facts are asked of the modules of all states, which "inspecting" keeps: it compiles at the same time as "answering", whose answer does
not wait for it; after an edit "answering" prints the states that are looked at only, and those of "inspecting" follow."""
_BACKGROUND = "checking"
"""Nobody waits for it: it yields to those that somebody waits for."""
MOST_PAGES = 3
"""Pages with processes of their own; a further one shares those of the page that asked longest ago."""


def _say_failure(answer: bytes) -> None:
    """Says in the terminal why a kernel that was to be opened does not compile; the page shows it too, and lets it be corrected."""
    if answer.startswith(b'{"error"'):
        found: Failure = json.loads(answer)
        print(found["error"]["text"], file=sys.stderr, flush=True)


def _text_of(asked: CompileRequest) -> str | None:
    """The text of a kernel's file."""
    file = asked.source.partition(":")[0]
    try:
        return asked.kernel_text or (source_text(file) if file.endswith(".py") else None)
    except (OSError, ValueError, SyntaxError):
        return None


def _named(name: str, given: Question) -> str:
    return f"{name} {json.dumps(given, sort_keys=True)}"


class WorkerPool:
    """The processes of a server. `stack` ends them."""

    def __init__(self, scratch: str, stack: contextlib.ExitStack) -> None:
        self._scratch = scratch
        self._stack = stack
        self._lock = threading.Lock()
        self._seats: dict[str, int] = {}
        """The number of a page's processes, the page that asked last at the end."""
        self._workers: dict[tuple[str, int], Worker] = {}
        self._ahead: dict[str, Future[bytes]] = {}

    def ask(self, name: str, given: Question, page: str | None = None, asking: Asking | None = None) -> bytes:
        """The answer of service `name`, as JSON: what was compiled before, by any process, waits for nothing."""
        found = stored(given) if name == "compile" and is_stored(name, given) else None
        answer = found or self._asked(name, given, page, asking)
        if name == "compile" and given.get("opens") and answer.startswith(b'{"ok"'):
            remember([CompileRequest.of_plain(given.get("asked"))])
        return answer

    def _asked(self, name: str, given: Question, page: str | None, asking: Asking | None) -> bytes:
        worker = self._worker(_ROLES.get(name, "answering"), page)
        running = self._ahead.pop(_named(name, given), None)
        if running is None:
            return worker.ask(name, given, asking)
        if asking is not None:
            # Who gives it up ends that process: nobody else waits for what it computes.
            asking.worker = self._worker(_ROLES.get(name, "answering"), None)
        return running.result()

    def ahead(self, name: str, given: Question) -> Future[bytes]:
        """Begins with an answer that the first page will ask for."""
        worker = self._worker(_ROLES.get(name, "answering"), None)
        running = self._ahead[_named(name, given)] = Future[bytes]()

        def answer() -> None:
            found = stored(given) if is_stored(name, given) else None
            running.set_result(found or worker.ask(name, given, Asking(is_waited_for=False)))

        threading.Thread(target=answer, daemon=True).start()
        return running

    def _worker(self, role: str, page: str | None) -> Worker:
        with self._lock:
            key = role, 0 if page is None else self._seat(page)
            if key not in self._workers:
                made = Worker(keeps=role != "answering", scratch=self._scratch, yields=role == _BACKGROUND)
                self._workers[key] = self._stack.enter_context(made)
            return self._workers[key]

    def _seat(self, page: str) -> int:
        seat = self._seats.pop(page, None)
        if seat is None:
            free = sorted(set(range(MOST_PAGES)) - set(self._seats.values()))
            seat = free[0] if free else self._seats.pop(next(iter(self._seats)))
        self._seats[page] = seat
        return seat

    def close(self) -> None:
        """Ends what is still computed, so that nobody waits for it."""
        with self._lock:
            workers = list(self._workers.values())
        for worker in workers:
            threading.Thread(target=worker.close).start()
