"""Names longer than any file's are shortened in debug information, and refused where the assembler would end the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitriton.codegen import nvjitlink
from minitriton.compiler import compile
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import MOST_PATH, shortened
from minitriton.target import GPUTarget

needs_nvjitlink = pytest.mark.skipif(nvjitlink.load_library() is None, reason="needs nvJitLink")


def test_paths_that_differ_at_their_end_still_do_when_shortened() -> None:
    one, other = shortened("a" * 20_000 + "/x.py"), shortened("a" * 20_000 + "/y.py")
    assert len(one) == len(other) == MOST_PATH and one != other
    assert shortened("/home/me/kernel.py") == "/home/me/kernel.py"


@needs_nvjitlink
def test_a_place_in_a_file_with_a_name_of_20000_characters_is_assembled(tmp_path: Path) -> None:
    name = "a" * 20_000 + ".py"
    (tmp_path / "k.ttir").write_text(
        f'module {{\n  tt.func public @k(%x: !tt.ptr<i32>) {{\n    %c = arith.constant 1 : i32\n    tt.store %x, %c : !tt.ptr<i32> loc("{name}":3:1)\n'
        f'    tt.return\n  }} loc("{name}":1:1)\n}}\n'
    )
    kernel = compile(str(tmp_path / "k.ttir"), target=GPUTarget("cuda", 90, 32))
    assert kernel.asm["cubin"] and name not in kernel.asm["ptx"] and "aaa" in kernel.asm["ptx"]


@needs_nvjitlink
@pytest.mark.parametrize("body", ['.file 1 "{}"\n', '.pragma "{}";\n', "{}:\n"])
def test_words_that_would_end_the_process_are_refused(body: str) -> None:
    ptx = (
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
        + body.format("a" * 100_000)
        + "ret;\n}\n"
    )
    with pytest.raises(MinitritonError, match="line 6 of the PTX has a word of 10000"):
        nvjitlink.assemble(ptx, ["-arch=sm_90a"])
