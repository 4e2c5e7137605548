"""IR text is read and written as Triton reads and writes it.

The project's own chunks (`chunks/`) are canonical text: what is read from them prints as they stand. With `TRITON_SRC` set to a
checkout of Triton 3.6.0, every chunk of its lit tests that is for NVIDIA is read, printed and compared with the print of the
wheel; chunks that Triton refuses (`expected-error`) are refused with the message it expects.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minitriton.dialects.text import parse_module, print_module
from minitriton.errors import IRError

HERE = Path(__file__).parent
TRITON_SRC = os.environ.get("TRITON_SRC")
needs_reference = pytest.mark.skipif(TRITON_SRC is None, reason="TRITON_SRC does not name a checkout of Triton 3.6.0")

FOREIGN = re.compile(r"amd|hip|gfx|rocdl|proton")
"""Targets and dialects that the project does not have."""
OWN_NVVM = re.compile(r"\bnvvm\.barrier0")
"""The project's `nvvm` dialect is its own."""
ABSENT = re.compile(r"^(?!\s*//).*[\s#!](gluon|nvg|tti)\.\w", re.M)
"""Dialects of Gluon, of Triton's last lowering and of its concurrency sanitizer: nothing here makes or takes them."""
SENSELESS = re.compile(r"@scan_propagation\(")
"""A scan along axis 1 of a tensor of one dimension, which Triton reads."""
UNDEFINED = re.compile(r"nvmma_shared<\{(?![^}]*elementBitWidth)")
"""Triton prints an uninitialised number for these."""
FROM_PASSES = re.compile(r"^Gluon/|tmem_alloc")
"""Refused by a pass, or for another architecture."""
EXPECTED = re.compile(r"expected-error[^{\n]*\{\{(.*?)\}\}")


def split(text: str) -> list[str]:
    return re.split(r"^// -----.*$\n?", text, flags=re.M)


def own_chunks() -> list[tuple[str, str, bool]]:
    found = []
    for path in sorted((HERE / "chunks").glob("*.mlir")):
        for index, chunk in enumerate(split(path.read_text())):
            found.append((f"{path.stem}-{index}", chunk, path.stem == "places"))
    return found


def lit_chunks() -> dict[str, str]:
    if TRITON_SRC is None:
        return {}
    root = Path(TRITON_SRC) / "test"
    chunks = {}
    for path in sorted(root.rglob("*.mlir")):
        relative = str(path.relative_to(root))
        for index, chunk in enumerate(split(path.read_text())):
            excluded = any(pattern.search(chunk) for pattern in (FOREIGN, OWN_NVVM, ABSENT, SENSELESS))
            if not excluded and not FOREIGN.search(relative):
                chunks[f"{relative}:{index}"] = chunk
    return chunks


LIT_CHUNKS = lit_chunks()
VALID = [name for name, chunk in LIT_CHUNKS.items() if not EXPECTED.search(chunk)]
INVALID = [
    name
    for name, chunk in LIT_CHUNKS.items()
    if EXPECTED.search(chunk) and re.search(r"(^|/)(invalid|verify)", name) and not FROM_PASSES.search(name + chunk)
]


def wheel_prints(paths: list[Path]) -> list[list[str] | None]:
    pytest.importorskip("triton")
    answer = subprocess.run(
        [sys.executable, str(HERE / "wheel_print.py")],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in answer.stdout.splitlines()]


@pytest.fixture(scope="module")
def lit_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("lit")
    files = {}
    for number, (name, chunk) in enumerate(LIT_CHUNKS.items()):
        files[name] = folder / f"{number}.mlir"
        files[name].write_text(chunk)
    return files


@pytest.fixture(scope="module")
def wheel(lit_files: dict[str, Path]) -> dict[str, list[str] | None]:
    return dict(zip(lit_files, wheel_prints(list(lit_files.values())), strict=True))


@pytest.mark.parametrize(("chunk", "places"), [pytest.param(*entry[1:], id=entry[0]) for entry in own_chunks()])
def test_canonical_text_is_printed_as_it_stands(chunk: str, places: bool) -> None:
    assert print_module(parse_module(chunk), places) == chunk


@pytest.mark.parametrize("places", [False, True])
@pytest.mark.parametrize("chunk", [pytest.param(entry[1], id=entry[0]) for entry in own_chunks()])
def test_reading_what_was_printed_prints_the_same(chunk: str, places: bool) -> None:
    once = print_module(parse_module(chunk), places)
    assert print_module(parse_module(once), places) == once


@pytest.mark.oracle
def test_the_wheel_prints_our_chunks_as_we_do(tmp_path: Path) -> None:
    paths = []
    for name, chunk, _ in own_chunks():
        path = tmp_path / f"{name}.mlir"
        path.write_text(chunk)
        paths.append(path)
    for path, printed in zip(paths, wheel_prints(paths), strict=True):
        module = parse_module(path.read_text(), str(path))
        assert printed == [print_module(module), print_module(module, locations=True)], path.stem


@needs_reference
@pytest.mark.parametrize("name", VALID)
def test_reading_a_printed_lit_chunk_prints_the_same(name: str) -> None:
    once = print_module(parse_module(LIT_CHUNKS[name], name))
    assert print_module(parse_module(once, name)) == once


@needs_reference
@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in VALID if not UNDEFINED.search(LIT_CHUNKS[name])])
def test_a_lit_chunk_prints_as_the_wheel_prints_it(
    name: str, wheel: dict[str, list[str] | None], lit_files: dict[str, Path]
) -> None:
    printed = wheel[name]
    module = parse_module(LIT_CHUNKS[name], str(lit_files[name]))
    if printed is None:
        assert re.search(r'(^\s*|= )"', LIT_CHUNKS[name], re.M), "the wheel refuses more than unregistered ops"
    else:
        assert printed == [print_module(module), print_module(module, locations=True)]


@needs_reference
@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_lit_chunk_is_refused_with_the_message_that_triton_expects(name: str) -> None:
    with pytest.raises(IRError) as refused:
        parse_module(LIT_CHUNKS[name], name)
    message = str(refused.value)
    assert any(expected in message for expected in EXPECTED.findall(LIT_CHUNKS[name]))
