"""The server: on the loopback address, for who has the token, for no other page; it ends with nothing left running."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("uvicorn", reason="needs minitriton[explorer]")
pytest.importorskip("starlette", reason="needs minitriton[explorer]")

from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.failures import most_memory
from minitriton.explorer.server import DEFAULT_PORT, bound_socket
from minitriton.explorer.worker import Asking, Worker

KERNEL = "log_sum_exp"


class Served:
    """A server in a process of its own."""

    def __init__(self, *arguments: str, temporary: Path | None = None) -> None:
        command = [sys.executable, "-m", "minitriton", "explore", *arguments, "--no-browser"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **({"TMPDIR": str(temporary)} if temporary else {})},
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.said = self.process.stdout.readline()
        self.port = urlsplit(self.address).port or 0
        self.code = parse_qs(urlsplit(self.address).fragment)["code"][0]
        self.token = ""
        self.token = json.loads(self.ask("session", {"code": self.code})[1])["token"]

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        return self._send(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers))

    def ask(self, name: str, given: Any, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/{name}", json.dumps(given).encode(), {"X-Token": self.token, **headers}
        )
        return self._send(request)

    @staticmethod
    def _send(request: urllib.request.Request) -> tuple[int, str]:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def end(self) -> int:
        """Ctrl-C: the exit status. Nothing of its process group may be left."""
        with self.process:
            self.process.send_signal(signal.SIGINT)
        return self.process.returncode


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    server = Served(KERNEL, "--port", "0")
    yield server
    if server.process.poll() is None:
        server.end()


def test_it_says_that_it_runs_code_and_for_whom(served: Served) -> None:
    assert "runs kernels' code" in served.said and served.address.startswith("http://127.0.0.1:")


def test_a_question_is_answered_with_the_token(served: Served) -> None:
    status, text = served.ask("compile", {"asked": {"source": KERNEL}})
    assert status == 200 and json.loads(text)["ok"]["kernel"] == KERNEL


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Token": "wrong"},
        {"X-Token": ""},
        {"Origin": "http://example.org"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "example.org"},
        {"Host": "example.org:80"},
    ],
)
def test_nobody_else_is_answered(served: Served, headers: dict[str, str]) -> None:
    status, text = served.ask("compile", {"asked": {"source": KERNEL}}, **headers)
    assert status == 403 and "kernel" not in text


def test_the_page_is_for_this_host_and_holds_no_secret(served: Served) -> None:
    assert served.get("/", Host="example.org")[0] == 403
    status, text = served.get("/")
    assert status == 200 and served.token not in text and served.code not in text


def test_the_code_of_the_address_opens_the_page_once() -> None:
    server = Served(KERNEL, "--port", "0")
    try:
        assert server.token and server.token not in server.address
        assert server.ask("session", {"code": server.code}, **{"X-Token": ""})[0] == 403
        assert server.process.stdout is not None
        assert "used before" in server.process.stdout.readline()
        new = parse_qs(urlsplit(server.process.stdout.readline().strip()).fragment)["code"][0]
        assert new != server.code
        assert json.loads(server.ask("session", {"code": new}, **{"X-Token": ""})[1])["token"] == server.token
        assert json.loads(server.ask("session", {})[1])["asked"] == [{"source": KERNEL}]
    finally:
        server.end()


def test_scripts_and_styles_count_by_the_nonce_of_the_page_only(served: Served) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{served.port}/") as response:
        policy, text = response.headers["Content-Security-Policy"], response.read().decode()
    nonce = re.search(r"script-src 'nonce-(\w+)'", policy)
    assert nonce and "unsafe" not in policy and "unsafe" not in re.findall(r"<meta[^>]*>", text)[-1]
    assert set(re.findall(r'<(?:script|style) nonce="(\w+)"', text)) == {nonce[1]}


def raw(served: Served, request: bytes) -> bytes:
    """What comes back for bytes on a connection of their own."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(request)
        return connection.recv(1 << 16)


def question(served: Served, *headers: str) -> bytes:
    lines = ["POST /api/compile HTTP/1.1", f"Host: 127.0.0.1:{served.port}", f"X-Token: {served.token}", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def test_a_question_of_unknown_length_may_not_be_longer_than_others(served: Served) -> None:
    part = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    answer = b""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(question(served, "Transfer-Encoding: chunked"))
        with contextlib.suppress(OSError):
            for _ in range(40):
                connection.sendall(part)
        with contextlib.suppress(OSError):
            answer = connection.recv(1 << 16)
    assert b" 413 " in answer


@pytest.mark.parametrize("body", [b"[" * 200_000, b"[" * 200_000 + b"]" * 200_000, b"\xff", b"{"])
def test_a_question_that_is_not_json_is_refused(served: Served, body: bytes) -> None:
    assert b" 400 " in raw(served, question(served, f"Content-Length: {len(body)}") + body)


def test_a_length_that_is_not_a_number_is_refused(served: Served) -> None:
    assert b" 400 " in raw(served, question(served, "Content-Length: many"))


def test_many_connections_that_ask_nothing_leave_it_open(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        for number in range(300):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
            if number % 2:
                connection.sendall(b"POST /api/compile HTTP/1.1\r\nHost:")
        assert served.ask("compile", {"asked": {"source": KERNEL}})[0] == 200


def test_a_kernel_that_does_not_compile_is_an_error_at_its_line(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, y)\n"
    )
    status, text = served.ask("compile", {"asked": {"source": f"{file}:k", "signature": "*fp32"}})
    error = json.loads(text)["error"]
    assert status == 200 and error["line"] == 6 and "y" in error["message"]


def test_a_link_that_somebody_else_made_runs_no_python_of_its_own(served: Served, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    text = f"import triton\nopen({str(ran)!r}, 'w')\n\n@triton.jit\ndef k(x_ptr):\n    pass\n"
    asked = CompileRequest(source=f"{tmp_path}/k.py:k", signature="*fp32", kernel_text=text)
    foreign = {**asked.plain(), "seal": "0" * 64}
    code = base64.urlsafe_b64encode(zlib.compress(json.dumps(foreign).encode())).decode().rstrip("=")
    status, answer = served.ask("compile", {"link": code})
    assert status == 200 and "made by another user" in answer and not ran.exists()
    status, answer = served.ask("compile", {"link": CompileRequest(source=KERNEL).code()})
    assert json.loads(answer)["ok"]["kernel"] == KERNEL


def test_questions_that_make_no_sense_leave_it_open(served: Served) -> None:
    for name, given in (
        ("compile", []),
        ("compile", {"asked": 3}),
        ("inspect", {"asked": {"source": KERNEL}, "step": 1000}),
        ("nothing", {}),
    ):
        assert "error" in json.loads(served.ask(name, given)[1])
    assert served.ask("compile", {"asked": {"source": KERNEL}})[0] == 200


def test_a_process_that_ends_is_followed_by_another() -> None:
    with Worker() as worker:
        worker.start()
        os.kill(worker._process.pid, signal.SIGKILL)
        worker._process.join()
        assert b'"kernel"' in worker.ask("compile", {"asked": {"source": KERNEL}})
    assert b"has ended" in worker.ask("compile", {})


def test_a_question_that_takes_too_long_is_given_up() -> None:
    with Worker(seconds=0.05) as worker:
        assert b"took more than" in worker.ask("compile", {"asked": {"source": "exact_attention"}})


def looping(folder: Path, body: str) -> str:
    """A kernel whose file runs `body` when it is read."""
    file = folder / "looping.py"
    file.write_text(f"import triton\n\n{body}\n\n@triton.jit\ndef k(x_ptr):\n    pass\n")
    return f"{file}:k"


def test_a_question_that_is_given_up_ends_its_process(tmp_path: Path) -> None:
    asking, answers = Asking(), []
    with Worker() as worker:
        given = {"asked": {"source": looping(tmp_path, "while True: pass"), "signature": "*fp32"}}
        thread = threading.Thread(target=lambda: answers.append(worker.ask("compile", given, asking)))
        thread.start()
        time.sleep(0.5)
        asking.give_up()
        thread.join(20)
        assert not thread.is_alive() and b"could not answer" in answers[0]
        assert b"given up" in worker.ask("compile", {"asked": {"source": KERNEL}}, asking)
        assert b'"kernel"' in worker.ask("compile", {"asked": {"source": KERNEL}})


def test_a_page_that_goes_away_ends_what_it_asked_and_no_other_page_waits(served: Served, tmp_path: Path) -> None:
    body = json.dumps({"asked": {"source": looping(tmp_path, "while True: pass"), "signature": "*fp32"}}).encode()
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        connection.sendall(question(served, "X-Page: one", f"Content-Length: {len(body)}") + body)
        time.sleep(0.3)
        assert served.ask("compile", {"asked": {"source": KERNEL}}, **{"X-Page": "two"})[0] == 200
    status, text = served.ask("compile", {"asked": {"source": KERNEL}}, **{"X-Page": "one"})
    assert status == 200 and json.loads(text)["ok"]["kernel"] == KERNEL


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_process_that_takes_too_much_memory_is_told_so(tmp_path: Path) -> None:
    given = {"asked": {"source": looping(tmp_path, f"taken = bytearray({most_memory() + 1})"), "signature": "*fp32"}}
    with Worker() as worker:
        assert b"cannot be imported: MemoryError" in worker.ask("compile", given)
        assert b'"kernel"' in worker.ask("compile", {"asked": {"source": KERNEL}})


def test_a_taken_port_is_an_error_that_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(MinitritonError, match="cannot listen") as raised:
            bound_socket(taken.getsockname()[1])
        assert "--port" in str(raised.value)


def test_a_taken_port_ends_the_command_and_the_default_one_gives_way() -> None:
    command = [sys.executable, "-m", "minitriton", "explore", KERNEL, "--no-browser"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run([*command, "--port", str(port)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and f"cannot listen on port {port}" in done.stderr and "--port 0" in done.stderr
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", DEFAULT_PORT))
            taken.listen()
        server = Served(KERNEL)
        try:
            assert server.port not in (0, DEFAULT_PORT) and server.ask("session", {})[0] == 200
        finally:
            server.end()


def test_nobody_from_another_address_is_listened_to(served: Served) -> None:
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    here = [line[1] for line in lines if line[3] == "0A" and int(line[1].partition(":")[2], 16) == served.port]
    assert here == [f"0100007F:{served.port:04X}"]
    six = [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    assert not [line for line in six if line[3] == "0A" and int(line[1].rpartition(":")[2], 16) == served.port]


def test_a_browser_that_closes_while_it_waits_leaves_it_open(served: Served) -> None:
    body = json.dumps({"asked": {"source": "exact_attention"}}).encode()
    head = f"POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nX-Token: {served.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    for sent in (head.encode() + body, head.encode(), b"POST /api"):
        with socket.create_connection(("127.0.0.1", served.port)) as connection:
            connection.sendall(sent)
    assert served.ask("compile", {"asked": {"source": KERNEL}})[0] == 200


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_whatever_ends_it_leaves_nothing_running(sign: signal.Signals, tmp_path: Path) -> None:
    server = Served(KERNEL, "--port", "0", temporary=tmp_path)
    server.ask("compile", {"asked": {"source": KERNEL}})
    busy = threading.Thread(target=ask_quietly, args=(server,), daemon=True)
    busy.start()
    end = time.monotonic() + 60
    # The server of forks, who tracks its resources, and three workers, one of them busy.
    while len(found := descendants(server.process.pid)) < 5:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    server.process.send_signal(sign)
    status = server.process.wait(30)
    assert status == (-sign if sign is signal.SIGKILL else 0)
    end = time.monotonic() + 30
    while left := [pid for pid in found if is_running(pid)]:
        assert time.monotonic() < end, left
        time.sleep(0.02)
    assert not list(tmp_path.glob("minitriton-explorer-*"))
    busy.join(10)
    assert not busy.is_alive()


def ask_quietly(server: Served) -> None:
    """A question that takes long, of a server that ends meanwhile."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        server.ask("check", {"asked": {"source": "exact_attention"}})


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    shown = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True).stdout
    parents = {int(a): int(b) for a, b in (line.split() for line in shown.splitlines())}
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def is_running(pid: int) -> bool:
    """Whether a process runs: one that has ended and that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
