"""No garbage is collected from the kernel's key to its PTX, and as before afterwards."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.runtime import compiling
from minitriton.target import GPUTarget


@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, 1.0)


def test_the_collector_is_off_while_the_key_is_made_and_on_again_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled: list[bool] = []
    make_key = compiling._cache_key  # pyright: ignore[reportPrivateUsage]

    def key(request: object) -> str:
        enabled.append(gc.isenabled())
        return make_key(request)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(compiling, "_cache_key", key)
    triton.compile(ASTSource(kernel, {"x_ptr": "*fp32"}, {}, {}), GPUTarget("cuda", 90, 32), {}, assemble=False)
    assert enabled == [False] and gc.isenabled()


@pytest.mark.parametrize("frozen", [False, True])
def test_what_a_first_compile_makes_is_old_unless_the_program_froze_its_own(frozen: bool) -> None:
    program = f"""
        import gc
        from minitriton.host.garbage import no_garbage_collection
        {"gc.freeze()" if frozen else ""}
        frozen = gc.get_freeze_count()
        with no_garbage_collection():
            kept = [[] for _ in range(60_000)]
        print(len(gc.get_objects(generation=2)) > 60_000, gc.get_freeze_count() == frozen)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(not frozen), "True"]


@pytest.mark.parametrize(
    ("held", "collected", "shown"),
    [
        ("[]", False, ""),
        ("Told()", True, "told"),
        ("open('told.txt', 'w')", True, ""),
        ("open('told.txt').close()", False, ""),
        ("(_ for _ in ())", True, ""),
    ],
)
@pytest.mark.parametrize("when", ["before", "after", "second", "oldest"])
def test_a_process_ends_without_collections_unless_a_finalizer_waits_for_them(
    held: str, collected: bool, shown: str, when: str, tmp_path: Path
) -> None:
    """What is held is in a cycle, made before or after what is many, or old by then; a file that is in one has its text afterwards."""
    (tmp_path / "told.txt").write_text("before")
    program = f"""
        import atexit, gc
        atexit.register(lambda: print(gc.get_freeze_count() == 0))
        from minitriton.host.garbage import no_garbage_collection
        class Told:
            def __del__(self):
                print("told")
        def fill():
            with no_garbage_collection():
                return [[] for _ in range(60_000)]
        if {when != "before"}:
            kept = fill()
        held = [{held}]
        held.append(held)
        if {when == "before"}:
            kept = fill()
        gc.collect({["after", "second", "oldest"].index("after" if when == "before" else when)})
        if hasattr(held[0], "write"):
            held[0].write("after")
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == [str(collected), *shown.split()]
    assert (tmp_path / "told.txt").read_text() == ("after" if "'w'" in held else "before")
