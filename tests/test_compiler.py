"""`minitriton.compile` and its module paths, the compiled kernel, line information, and the on-disk cache."""

import inspect
import json
import os
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import minitriton
import minitriton.language as tl
from minitriton.backends.compiler import GPUTarget
from minitriton.compiler import ASTSource, CompiledKernel
from minitriton.dialects.text import parse_module
from minitriton.errors import MinitritonError
from minitriton.runtime.cache import KernelCache

HOPPER = GPUTarget("cuda", 90, 32)
SIGNATURE = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
ATTRS: dict[Any, Any] = {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}


@minitriton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    value = tl.load(x + offsets, mask=mask)
    tl.store(y + offsets, value * 2.0, mask=mask)


def line_of(text: str) -> int:
    """The line of `scale` that contains `text`."""
    lines, first = inspect.getsourcelines(scale.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def compiled(block: int = 512, **options: Any) -> CompiledKernel:
    return minitriton.compile(ASTSource(scale, SIGNATURE, {"BLOCK": block}, ATTRS), target=HOPPER, options=options)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    return folder


def entries(cache: Path) -> set[str]:
    return {p.name for p in cache.iterdir() if not p.name.startswith(".")} if cache.exists() else set()


# The interface


def test_the_module_paths_are_triton_s() -> None:
    import minitriton.backends.compiler
    import minitriton.compiler
    import minitriton.testing
    import minitriton.tools

    assert minitriton.backends.compiler.GPUTarget("cuda", 80, 32).arch == 80
    assert minitriton.compiler.ASTSource is ASTSource
    assert callable(minitriton.testing.do_bench)
    assert minitriton.tools.LinearLayout.__name__ == "LinearLayout"


def test_a_compiled_kernel_has_the_text_of_each_stage_and_its_metadata() -> None:
    kernel = compiled(num_warps=8)
    assert "tt.func public @scale" in kernel.asm["ttir"]
    assert '"ttg.num-warps" = 8 : i32' in kernel.asm["ttgir"]
    assert "define ptx_kernel void @scale(" in kernel.asm["llir"]
    assert ".reqntid 256" in kernel.asm["ptx"]
    metadata = kernel.metadata
    assert (metadata.name, metadata.num_warps, metadata.num_ctas, metadata.shared) == ("scale", 8, 1, 0)
    assert metadata.target == HOPPER
    assert metadata.hash == kernel.hash


def test_an_unknown_stage_says_which_there_are() -> None:
    with pytest.raises(KeyError, match="it has: ttir, ttgir, llir, ptx"):
        compiled().asm["mlir"]


def test_constexprs_and_attributes_may_be_named_or_placed() -> None:
    placed = ASTSource(scale, SIGNATURE, {(3,): 512}, ATTRS)
    assert minitriton.compile(placed, target=HOPPER).asm["ptx"] == compiled().asm["ptx"]


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
def test_a_file_of_any_stage_compiles_on(stage: str, tmp_path: Path) -> None:
    kernel = compiled(num_warps=2)
    path = tmp_path / f"scale.{stage}"
    path.write_text(kernel.asm[stage])
    options = {"num_warps": 2} if stage == "ttir" else {}
    again = minitriton.compile(str(path), target=HOPPER, options=options)
    assert again.asm["ptx"] == kernel.asm["ptx"]
    assert again.name == "scale"
    assert again.metadata.num_warps == 2


def test_a_pipeline_that_ends_early_leaves_the_stages_it_reached() -> None:
    kernel = compiled(
        pipeline="inline,triton-rewrite-tensor-pointer,canonicalize,convert-triton-to-tritongpu{target=cuda:90}"
    )
    assert list(kernel.asm) == ["ttir", "ttgir"]


def test_llvm_s_optimiser_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "tail call" in compiled().asm["llir"]
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    assert "tail call" not in compiled().asm["llir"]


# Line information


def test_the_ptx_names_the_kernel_s_file_and_lines() -> None:
    ptx = compiled().asm["ptx"]
    files = {int(n): Path(folder) / name for n, folder, name in re.findall(r'\.file\t(\d+) "(.*?)" "(.*?)"', ptx)}
    files |= {int(n): Path(name) for n, name in re.findall(r'\.file\t(\d+) "([^"]*)"$', ptx, re.MULTILINE)}
    own = next(n for n, path in files.items() if path == Path(__file__))
    place, found = None, set()
    for line in ptx.splitlines():
        loc = re.match(r"\t\.loc\t(\d+) (\d+) ", line)
        if loc:
            place = (int(loc[1]), int(loc[2]))
        for op in ("ld.global", "st.global"):
            if op in line:
                found.add((op, place))
    assert found == {("ld.global", (own, line_of("tl.load"))), ("st.global", (own, line_of("tl.store")))}


def test_line_information_can_be_switched_off_in_a_process_that_had_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, wanted in (("0", True), ("1", False), ("0", True)):
        monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", value)
        ptx = compiled().asm["ptx"]
        assert ("\t.loc\t" in ptx) is wanted
        assert (str(Path(__file__).name) in ptx) is wanted


# The cache

CHILD = textwrap.dedent("""
    import sys
    import minitriton, minitriton.runtime.fresh_compile as compiler
    from minitriton.compiler import ASTSource
    from minitriton.target import GPUTarget
    sys.path.insert(0, sys.argv[1])
    import kernel_of_test
    runs = []
    wrapped = compiler.fresh_kernel
    compiler.fresh_kernel = lambda *args: (runs.append(1), wrapped(*args))[1]
    source = ASTSource(kernel_of_test.twice, {"x": "*fp32"}, {}, {})
    kernel = minitriton.compile(source, target=GPUTarget("cuda", 90))
    print(len(runs), len(kernel.asm["ptx"]))
""")

KERNEL = textwrap.dedent("""
    import minitriton as triton
    import minitriton.language as tl

    @triton.jit
    def twice(x):
        at = tl.arange(0, 128)
        tl.store(x + at, tl.load(x + at) * 2)
""")


def child(tmp_path: Path, source: str = KERNEL, **environment: str) -> tuple[int, int]:
    """How often a process of its own compiled the kernel, and the size of the PTX."""
    (tmp_path / "kernel_of_test.py").write_text(source)
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHILD, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    runs, size = done.stdout.split()
    return int(runs), int(size)


def test_a_second_process_finds_what_the_first_compiled(tmp_path: Path, cache: Path) -> None:
    first, second = child(tmp_path), child(tmp_path)
    assert first[0] == 1
    assert second == (0, first[1])


def test_a_changed_kernel_is_compiled_again(tmp_path: Path, cache: Path) -> None:
    child(tmp_path)
    assert child(tmp_path, KERNEL.replace("* 2", "* 3"))[0] == 1
    assert len(entries(cache)) == 2


def test_many_processes_at_once_leave_one_whole_entry(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "kernel_of_test.py").write_text(KERNEL)
    with ThreadPoolExecutor(4) as pool:
        sizes = {size for _, size in pool.map(lambda _: child(tmp_path), range(4))}
    assert len(sizes) == 1
    assert len(entries(cache)) == 1
    assert child(tmp_path)[0] == 0


def test_another_option_target_or_constant_makes_another_entry(cache: Path) -> None:
    compiled()
    compiled(num_warps=8)
    compiled(256)
    minitriton.compile(ASTSource(scale, SIGNATURE, {"BLOCK": 512}, {}), target=HOPPER)
    minitriton.compile(ASTSource(scale, SIGNATURE, {"BLOCK": 512}, ATTRS), target=GPUTarget("cuda", 80))
    assert len(entries(cache)) == 5
    compiled()
    assert len(entries(cache)) == 5


def test_another_version_of_the_compiler_makes_another_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.setattr("minitriton.runtime.compiling.compiler_fingerprint", lambda: "another")
    compiled()
    assert len(entries(cache)) == 2


def test_a_damaged_entry_is_rebuilt(cache: Path) -> None:
    wanted = compiled()
    (KernelCache(cache).path(wanted.hash) / "scale.ptx").write_text("nonsense")
    assert compiled().asm["ptx"] == wanted.asm["ptx"]
    assert (KernelCache(cache).path(wanted.hash) / "scale.ptx").read_text() == wanted.asm["ptx"]


def test_always_compile_goes_past_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    assert compiled().stage_seconds == {}
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert compiled().stage_seconds["ttgir"] > 0


def test_a_dump_of_the_passes_is_not_hidden_by_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    compiled()
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "1")
    compiled()
    assert "IR Dump Before tritongpu-coalesce" in capfd.readouterr().err
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "scale")
    monkeypatch.setenv("MLIR_DUMP_PATH", str(tmp_path / "dump.mlir"))
    compiled()
    assert "IR Dump Before tritongpu-coalesce" in (tmp_path / "dump.mlir").read_text()
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "another_kernel")
    monkeypatch.setenv("MLIR_DUMP_PATH", str(tmp_path / "none.mlir"))
    compiled()
    assert not (tmp_path / "none.mlir").exists()


def test_a_dump_of_the_stages_is_not_hidden_by_the_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel = compiled()
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    assert compiled().stage_seconds == {}
    for stage in ("ttir", "ttgir", "llir", "ptx"):
        assert (tmp_path / "dump" / kernel.src.hash() / f"scale.{stage}").read_text() == kernel.asm[stage]


def test_a_changed_pass_from_outside_makes_another_entry(cache: Path, tmp_path: Path) -> None:
    from minitriton.commands.kernel_files import load_plugin

    plugin = tmp_path / "changing_pass.py"
    text = textwrap.dedent("""
        from dataclasses import dataclass
        from xdsl.dialects.builtin import StringAttr
        from minitriton.pipeline.pass_registry import Pass, register_pass

        @register_pass
        @dataclass(frozen=True)
        class Changing(Pass):
            "Marks the module."
            name = "test-changing"

            def apply(self, ctx, op):
                op.attributes["mark"] = StringAttr("first")
    """)
    plugin.write_text(text)
    load_plugin(str(plugin))
    first = compiled(pipeline="inline,test-changing")
    plugin.write_text(text.replace("first", "second"))
    assert compiled(pipeline="inline,test-changing").hash != first.hash


def test_the_stored_metadata_is_json_that_names_the_target(cache: Path) -> None:
    kernel = compiled()
    stored = json.loads((KernelCache(cache).path(kernel.hash) / "metadata.json").read_text())
    assert stored["target"] == {"backend": "cuda", "arch": 90, "warp_size": 32}
    assert stored["name"] == "scale"
    assert Path(KernelCache(cache).path(kernel.hash) / "scale.ttgir").exists()
    assert parse_module((KernelCache(cache).path(kernel.hash) / "scale.ttgir").read_text())


# Wrong input


@pytest.mark.parametrize(
    ("suffix", "text", "message"),
    [
        ("ttir", "module {\n  tt.func public @k() {\n    tt.retrun\n  }\n}\n", ":3:5: error: custom op 'tt.retrun'"),
        ("ttir", "module {\n}\n", "lacks a public tt.func"),
        ("ptx", ".version 8.7\n", "found in the ptx text"),
        ("llir", "define void @f() {\n ret void\n}\n", "found in the llir text"),
        ("txt", "", "unknown stage 'txt'"),
    ],
)
def test_wrong_text_is_refused(suffix: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / f"k.{suffix}"
    path.write_text(text)
    with pytest.raises(MinitritonError) as error:
        minitriton.compile(path, target=HOPPER)
    assert message in str(error.value)


# Stages


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir"])
def test_a_compile_up_to_a_stage_has_the_texts_up_to_there_and_is_not_kept(cache: Path, stage: str) -> None:
    source = ASTSource(scale, SIGNATURE, {"BLOCK": 256}, ATTRS)
    part = minitriton.compile(source, HOPPER, until=stage)
    assert list(part.asm)[-1] == stage
    assert entries(cache) == set()
    with pytest.raises(MinitritonError, match="lacks stage 'ptx'"):
        part.asm["ptx"]
    whole = minitriton.compile(source, HOPPER)
    assert all(whole.asm[name] == text for name, text in part.asm.items())


def test_a_stage_that_there_is_not_is_refused() -> None:
    with pytest.raises(MinitritonError, match=r"unknown stage .sass. to stop at"):
        minitriton.compile(ASTSource(scale, SIGNATURE, {"BLOCK": 256}, ATTRS), HOPPER, until="sass")
