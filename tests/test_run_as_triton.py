"""`python -m minitriton.run_as_triton`: programs written for Triton, run unchanged."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = textwrap.dedent('''
    """A program as Triton's users write them."""
    import sys

    import numpy as np
    import triton
    import triton.language as tl
    import triton.language.extra.cuda
    import triton.testing
    from triton import cdiv, jit
    from triton.language.extra import libdevice
    from triton.runtime import driver


    @jit
    def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask=mask), mask=mask)


    def device():
        try:
            return driver.active.get_current_target()
        except Exception as error:
            return type(error).__name__


    if __name__ == "__main__":
        n = 1000
        x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
        out = np.zeros_like(x)
        add[lambda meta: (cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=128)
        triton.testing.assert_close(out, x + y)
        print(triton.__name__, triton.next_power_of_2(n), sys.argv[1:], type(device()).__name__)
''')


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "minitriton.run_as_triton", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"]], ids=["script", "module"])
def test_a_program_runs_and_gets_its_arguments(folder: Path, how: list[str]) -> None:
    done = run(folder, *how, "--size", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("minitriton 1024 ['--size', '3']")


def test_a_module_is_never_loaded_twice(folder: Path) -> None:
    (folder / "same.py").write_text(
        "import triton.language as a, minitriton.language as b\n"
        "from triton.compiler import ASTSource as c\n"
        "from minitriton.compiler import ASTSource as d\n"
        "import triton.runtime.jit as e, minitriton.runtime.jit as f\n"
        "print(a is b, c is d, e is f)\n"
    )
    assert run(folder, "same.py").stdout.split() == ["True"] * 3


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "line",
    [
        "from triton.runtime import JITFunction",
        "from triton.runtime.jit import JITFunction",
        "from triton.runtime.errors import OutOfResources",
        "from triton.compiler import ASTSource, CompiledKernel, compile",
        "from triton.compiler.compiler import ASTSource",
        "from triton.compiler.errors import CompilationError, UnsupportedLanguageConstruct",
        "from triton.backends.compiler import GPUTarget",
        "from triton.tools.disasm import get_sass",
        "from triton.language.extra.cuda import libdevice",
        "from triton.language.math import exp",
        "import triton; triton.runtime.driver; triton.language.extra",
        "import triton; triton.testing.do_bench; triton.testing.perf_report",
    ],
)
def test_triton_s_module_paths_can_be_imported(line: str) -> None:
    code = f"from minitriton.run_as_triton import install; install(); {line}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments", ["-c 'import triton; print(triton.__name__)'", "child.py"], ids=["code", "script"]
)
def test_child_processes_get_the_same_triton(folder: Path, arguments: str) -> None:
    (folder / "child.py").write_text("import triton.language as tl, triton\nprint(triton.__name__)\n")
    (folder / "parent.py").write_text(
        f"import shlex, subprocess, sys\nsubprocess.run([sys.executable, *shlex.split({arguments!r})], check=True)\n"
    )
    done = run(folder, "parent.py")
    assert done.stdout.split() == ["minitriton"], done.stderr


def test_a_spawned_process_gets_the_same_triton(folder: Path) -> None:
    (folder / "pool.py").write_text(
        "import multiprocessing\n"
        "def name(_):\n"
        "    import triton\n"
        "    return triton.__name__\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(*pool.map(name, [0]))\n"
    )
    done = run(folder, "pool.py")
    assert done.stdout.split() == ["minitriton"], done.stderr


def test_pytest_and_its_workers_test_minitriton(folder: Path) -> None:
    (folder / "test_it.py").write_text(
        "import sys, triton\ndef test_name(): assert triton.__name__ == 'minitriton' and triton is sys.modules['triton']\n"
    )
    done = run(folder, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "test_it.py")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_driver_is_made_when_asked_for_and_can_be_replaced(folder: Path) -> None:
    (folder / "drivers.py").write_text(
        "import importlib, sys, triton\n"
        "from triton.backends.driver import DriverBase\n"
        "importlib.reload(sys.modules['triton.runtime.driver'])\n"
        "driver = triton.runtime.driver\n"
        "print(driver._active is None, isinstance(driver.active, DriverBase), driver.active is driver.default)\n"
        "driver.set_active('mine')\n"
        "print(driver.active, isinstance(driver.default, DriverBase))\n"
        "driver.reset_active()\n"
        "print(driver.active is driver.default)\n"
    )
    done = run(folder, "drivers.py")
    assert done.stdout.split() == ["True", "True", "True", "mine", "True", "True"], done.stderr


def test_what_minitriton_does_not_have_is_not_found(folder: Path) -> None:
    (folder / "missing.py").write_text("import triton.no_such_module\n")
    done = run(folder, "missing.py")
    assert "No module named 'triton.no_such_module'" in done.stderr


def test_the_exit_code_is_the_program_s_own(folder: Path) -> None:
    (folder / "leaves.py").write_text("raise SystemExit(7)\n")
    assert run(folder, "leaves.py").returncode == 7


@pytest.mark.parametrize("arguments", [[], ["-m"], ["no_such_script.py"]], ids=str)
def test_a_wrong_command_line_says_what_is_wrong(folder: Path, arguments: list[str]) -> None:
    done = run(folder, *arguments)
    assert done.returncode == 2
    assert "usage" in done.stdout + done.stderr or "no such script" in done.stderr


def test_it_refuses_where_triton_is_imported_already(folder: Path) -> None:
    (folder / "late.py").write_text(
        "import sys, types\n"
        "sys.modules['triton'] = types.ModuleType('triton')\n"
        "from minitriton.run_as_triton import install\n"
        "install()\n"
    )
    done = subprocess.run([sys.executable, str(folder / "late.py")], capture_output=True, text=True)
    assert "triton is imported already" in done.stderr


VERSIONS = textwrap.dedent("""
    import importlib.metadata
    import subprocess
    import sys

    import triton

    if __name__ == "__main__":
        print(triton.__version__, importlib.metadata.version("triton"))
        print(importlib.metadata.distribution("triton").metadata["Name"])
        program = "import triton, importlib.metadata as m; print(triton.__version__, m.version('triton'))"
        print(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip())
""")


def test_the_version_of_triton_is_that_of_the_release_reimplemented(tmp_path: Path) -> None:
    (tmp_path / "versions.py").write_text(VERSIONS)
    done = run(tmp_path, "versions.py")
    assert done.stdout.splitlines() == ["3.6.0 3.6.0", "triton", "3.6.0 3.6.0"], done.stderr


GLUON = textwrap.dedent("""
    import numpy as np
    from triton.experimental import gluon
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.language.nvidia.hopper import tma

    @gluon.jit
    def add_one(x, out, BLOCK: gl.constexpr, layout: gl.constexpr):
        i = gl.arange(0, BLOCK, layout=layout)
        gl.store(out + i, gl.load(x + i) + 1)

    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    add_one[(1,)](x, out, 64, gl.BlockedLayout([1], [32], [2], [0]), num_warps=2)
    print((out == x + 1).all())
""")


def test_a_gluon_program_runs(tmp_path: Path) -> None:
    (tmp_path / "uses_gluon.py").write_text(GLUON)
    done = run(tmp_path, "uses_gluon.py")
    assert done.stdout.split() == ["True"], done.stderr
