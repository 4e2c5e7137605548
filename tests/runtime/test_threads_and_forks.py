"""Threads whose first launches happen at once, and children forked while another thread compiles."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = textwrap.dedent("""
    import sys
    import threading

    import numpy as np
    import minitriton as triton
    import minitriton.language as tl

    sys.setswitchinterval(1e-6)

    @triton.jit
    def helper(x, y):
        return x * y + tl.max(x, 0)

    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr, SCALE: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        for i in range(2):
            x = helper(x, SCALE)
        tl.store(x_ptr + offsets, x, mask=offsets < n)

    start = threading.Barrier(6)
    failures = []

    def launch(scale):
        try:
            x = np.arange(64, dtype=np.float32)
            expected = x
            for _ in range(2):
                expected = expected * scale + expected.max()
            start.wait()
            kernel[(1,)](x, 64, BLOCK=64, SCALE=scale)
            np.testing.assert_array_equal(x, expected)
        except BaseException as error:
            failures.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=launch, args=(scale,)) for scale in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(*failures, sep="\\n")
    sys.exit(bool(failures))
""")


@pytest.mark.parametrize("attempt", range(2))
def test_first_launches_of_several_threads_at_once(tmp_path: Path, attempt: int) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def run_program(text: str, folder: Path) -> None:
    """Runs a program in a process of its own, with an empty cache; it must end well within two minutes."""
    program = folder / "program.py"
    program.write_text(text)
    env = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


FORKS = textwrap.dedent("""
    import os
    import sys
    import threading
    import time

    import numpy as np
    import minitriton as triton
    import minitriton.language as tl
    from minitriton.codegen import llvm_session

    @triton.jit
    def kernel(x_ptr, SCALE: tl.constexpr):
        tl.store(x_ptr, tl.load(x_ptr) * SCALE)

    held = threading.Event()

    def hold():
        with llvm_session.LOCK, llvm_session.llvm.ffi.lib._lock:
            held.set()
            time.sleep(0.5)

    threading.Thread(target=hold).start()
    held.wait()
    child = os.fork()
    x = np.ones(4, np.float32)
    kernel[(1,)](x, SCALE=3)
    if child == 0:
        os._exit(0 if x[0] == 3 else 1)
    deadline = time.time() + 30
    while time.time() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            sys.exit(os.waitstatus_to_exitcode(status))
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    sys.exit("the child waits for ever")
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_another_thread_is_in_llvm_can_compile(tmp_path: Path) -> None:
    run_program(FORKS, tmp_path)


FIRST_COMPILES = textwrap.dedent("""
    import faulthandler
    import os
    import sys
    import threading
    import time

    import numpy as np
    import minitriton as triton
    import minitriton.language as tl

    @triton.jit
    def kernel(x_ptr, SCALE: tl.constexpr):
        tl.store(x_ptr, tl.load(x_ptr) * SCALE)

    def scaled(scale):
        x = np.ones(4, np.float32)
        kernel[(1,)](x, SCALE=scale)
        return x[0] == scale

    thread = threading.Thread(target=scaled, args=(2,))
    thread.start()
    children = []
    for delay in range(6):
        time.sleep(0.1)
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(20, exit=True)
            os._exit(0 if scaled(3 + delay) else 1)
        children.append(child)
    thread.join()
    sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_children_forked_while_another_thread_imports_the_compiler_can_compile(tmp_path: Path) -> None:
    run_program(FIRST_COMPILES, tmp_path)


def test_the_emulator_imports_all_of_numpy_that_it_uses_before_it_runs() -> None:
    code = "import sys, minitriton.emulator, minitriton.interpreter.launch; sys.exit('numpy.ma' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0
