"""What the source text holds of each thing that should become less: it may not become more.

    python tests/ratchets/test_ratchets.py          writes today's counts as the limits below: read `git diff`

A limit is today's count. Where a count has fallen well below its limit, the test asks for the lower limit. A limit that is raised has a
sentence next to it that says what came in for it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import op_tables
import warp_numbers
import words
from sources import files, single_importers, sources

PACKAGES = {
    "__init__": (128, 1, 0),
    "__main__": (29, 1, 0),
    "analysis": (7959, 39, 2),
    "as_triton": (4199, 37, 1),
    "backends": (309, 8, 0),
    "codegen": (15255, 80, 2),
    "commands": (2663, 15, 1),
    "dialects": (15663, 76, 0),
    "emulator": (13668, 70, 0),
    "errors": (154, 1, 0),
    "explorer": (9415, 51, 1),
    "frontend": (8323, 37, 0),
    "fuzz": (8442, 43, 1),
    "host": (1561, 17, 0),
    "interpreter": (5273, 33, 0),
    "knobs": (883, 3, 0),
    "lab": (11747, 51, 5),
    "language": (5671, 52, 0),
    "layouts": (4866, 21, 0),
    "passes": (26196, 124, 6),
    "pipeline": (2493, 12, 0),
    "rewriting": (3957, 18, 0),
    "runtime": (9834, 54, 2),
    "target": (1352, 6, 2),
}  # fmt: skip
"""Lines and files of each package, and its words that docs/glossary.md asks to avoid.

`target` was raised on 2026-11-27 by about 100: occupancy, the limits of the architectures, options of each back end and the names of stages came in from
codegen, emulator, runtime and pipeline.
By about 300 more, in `passes`, `pipeline`, `lab` and `layouts`: stages, splits, swizzles, recomputation and reductions have options and note their candidates.
`codegen` and `layouts` were raised on 2026-11-27 by about 140: a gather within warps is shuffles.
`explorer` was raised on 2026-11-27 by 30: its page shows what is in flight at each op of TTGIR.
`language`, `frontend`, `layouts`, `dialects` and `target` were raised by about 2,500 for Gluon on Blackwell and AMD: tensor memory, matrix cores, `amdg`.
`frontend`, `dialects`, `emulator`, `language`, `pipeline` and `runtime` by about 350: misuse of Gluon is refused, or found, with the line and what to write.
`as_triton` by 470: the translator from `tl` to Gluon. `frontend`, `passes`, `commands`, `codegen`, `analysis` and `language` by 90: the IR of a Gluon
kernel is Triton's, letter by letter, where that is asked for, and Triton's lit tests of Gluon with their patterns of errors.
`lab` by 13: a file of kernels, one in Gluon too, may import any module of Triton.
`explorer` by 70: its tour has two kernels in Gluon.
`commands`, `explorer`, `interpreter`, `language` and `runtime` by 53: layouts of Gluon are read from text, in signatures, pictures and preloads; those left open are interpreted.
`lab`, `pipeline`, `explorer` and `runtime` by 50: a recorded kernel of Gluon replays from its IR with its own passes, with descriptors; layouts of every class are read from text.
`commands`, `errors` and `host` by 54: options, optional libraries and tables as text, which the laboratory, the fuzzer and the explorer had each.
`passes` by 1,450, and `codegen`, `commands`, `pipeline` and `target` by 55: `minitriton-algebra`, its rules as data, a prover for them.
`codegen` by 60 for ops done 8 lanes at a time (fewer spills) and for scans that read totals chunk by chunk (half the registers).
`__main__` by 3: commands end without a search for cycles.
`codegen` by 15: two neighbours of 16 bits in one atomic of AMD's.
`explorer` by 7: its processes have the environment and folder of the server, which name what is stored.
`analysis` by 13: the commits on the way into a branch are counted, those after it are not. `host` by 5: texts that changed on disk are forgotten in one place.
`explorer`, `frontend`, `pipeline` and `runtime` by 240: the lines that declare a Gluon kernel's layouts have them as pictures; a launch on the interpreter returns the kernel.
`interpreter`, `emulator` and `lab` by 65: a missing fence between threads, or their cp.async, and wgmma or a bulk copy is found in Gluon by both.
`explorer` by 150: eight more kernels in Gluon are walks of its tour.
`as_triton` by 190: every helper of Triton's translator, dots in tensor memory and descriptors' rows among them.
`explorer` and `frontend` by 45: `explain` says the layouts of a Gluon kernel's line, in its words; atomics of Gluon take numbers.
`explorer`, `lab` and `pipeline` by 55: types that nobody gave are guessed by use, and an error says that they were.
`codegen`, `dialects`, `pipeline`, `passes`, `target` and `commands` by about 2,000 on 2026-11-28: AMD's back end, from matrix cores and lowerings
to linked code objects. `emulator`, `explorer`, `lab` and `target` by 140: the tools ask the back end what they compile for, run and show.
`codegen`, `dialects`, `interpreter`, `passes` and `emulator` by about 480 on 2026-11-28: AMD's buffers, from pointers with one base to their instructions; accesses at any address.
`language` by 43: the host asks for bank conflicts and linear layouts, of padded buffers too.
`explorer` by about 370 and `lab` by 55 on 2026-11-28: a start page, launches of a kernel's own file, fields for inputs, and what was made up is said where something is found.
`runtime` by 1,530, `analysis` by 620, `commands`, `target` and `passes` by 160 on 2026-11-28: tile sizes from facts (roles of constants, what fits, a model of time),
`minitriton tune`, speeds of architectures.
`explorer` by 100: the array of each access, and all accesses watched by one run. `lab` by 75: calls of `@jit` functions with their inputs.
`explorer` by 20: what each op does, for the page.
`codegen` by 45 and `target` by 40 on 2026-11-28, less in `analysis` and `passes`: fences before tensor copies, speeds of architectures and matrix instructions
came into the modules that use them.
By 50 each in `commands` and `codegen` on 2026-11-28: descriptors are read off the body of a Gluon kernel; instructions that an architecture lacks are refused.
`host` by 90 on 2026-11-28, `explorer` less by 75: the emulator, too, asks where the library's code was called.
`fuzz` by 35 on 2026-11-28: processes that wait for a processor are not late; another scan that Triton gets wrong.
`emulator` by about 3,500 on 2026-11-28: the AMDGCN emulator, with what it shares with that of PTX in `threads.py`.
`interpreter` by 230, `lab` by 300, `emulator` by 125, `passes` by 80, `runtime` by 50 and others by 20 on 2026-11-28: what depends on lanes that a mask turns off is found
(poison), races between programs are faults by option, tracebacks without internals, and the best configuration is minimised and printed as options.
`host` by 40, `explorer` by 30 and `lab` by 12 on 2026-11-28: IR and reports in colour in notebooks, the explorer embedded there, names that complete.
`passes` by about 900 and `dialects` by 120 on 2026-11-28: pipelined loops of AMD, with the peeled epilogue of the expander, and ops of `amdg` that passes make.
By about 350 in `passes`, `codegen`, `dialects` and `interpreter`: pointers of AMD through loops and branches, atomics of buffers.
By about 620 in `passes`, `codegen` and `dialects`: operands transposed in registers and waves that take turns on AMD, as in Triton.
`codegen`, `runtime`, `analysis` and `passes` by about 190 on 2026-11-28: loads of equal addresses made once, a second assembler where an SM is half empty, batches as
dimensions of described tiles, launches that do not fit them.
By about 950 in `codegen`, `emulator`, `layouts`, `passes` and `analysis` on 2026-11-28: copies to LDS on AMD, planned, lowered, waited for and emulated.
By about 650 in `passes`, `codegen`, `emulator` and `dialects`: scaled dots on AMD.
By about 500 in `passes`, `dialects` and others: scheduling hints, LDS usage, slices of registers on AMD.
`passes` and `dialects` by about 220: pointers through while loops and branches on AMD, `rocdl.mfma` as MLIR prints it.
`explorer` by about 750 and `emulator` by 130 on 2026-11-28: a trace of each warp and a timeline of it by a model of an SM,
values of tensors at any op, comparison with other arguments and Triton.
By about 220 in `passes`: waits that count instructions on AMD, as in Triton.
`explorer` by about 260: what a compile read, and compiles on disk that hold until one of those files changes.
`runtime` and `analysis` by about 70 on 2026-11-28: what scattered and narrow loads, operands in registers and spills cost in the search for tiles.
By about 140: which ops memory keeps in order, for the graph of a state.
`commands` and `runtime` by about 70: that search explained as a page, and a space in which nothing fits.
`emulator` by about 600, `passes` by 110, `codegen`, `dialects`, `layouts` and `target` by 110 on 2026-11-28: RDNA on the emulator, and dots by WMMA.
By about 210: which ops memory keeps in order, for the graph of a state; what tensors and arrays hold, for files.
`lab` by about 130: the report's charts, cells and words, in place of pictures.
`commands` by about 10: sizes that nobody gave to that search are named, strides of 1 specialized.
`commands` by 125 and a file, `lab` by 45, `explorer` by 35 and others by 40 on 2026-11-28: counts that are not positive, and runs in which nothing was done, fail; a signature is
checked as text before the explorer starts; flags are guessed as truths; errors of the emulator are at the kernel's line.
`host` by about 170 on 2026-11-28: a process ends without collections, unless a finalizer waits for them; frozen dataclasses that are cheap to define.
`explorer` by 300 and two files, `commands` and `runtime` by 45 on 2026-11-28: how far arrays of two compiles are apart, and the tiles of a compile among those that fit.
`host` by 29 on 2026-11-28: a process ends without collections, unless a finalizer waits for them.
`host` by about 230 and others by about 50 on 2026-11-28: a process ends without collections, unless a finalizer waits for them; dataclasses that are cheap to define;
imports by need.
`codegen` by 76: masks of stores after reductions, compared again by other numbers.
`codegen` by 100 and `analysis` by 25: a number and its index are chosen in four chains, numbers of 16 bits as such.
`passes` by 200: tensor copies of a loop start before what threads compute; warp groups wait for their dots after their turn.
`codegen` by 12: a kernel that spills is assembled by ptxas too.
`passes` by 45: layouts of a load and its store by cost, with candidates.
`codegen` by 25: maxima and minima in chains.
`codegen` by 60: rows of a tile as multiples of the stride on top of the first.
`passes` by 25: copies of loops pass only waits that copies end.
`runtime`, `explorer` by 20: AMD's assembly by `in` and `get`; differences that go one way.
`passes`, `analysis`, `emulator` by 50: turns that cannot wait for each other, reads of dots that last until their wait.
`explorer` by 180, `analysis`, `commands` by 70, `runtime`, `codegen`, `lab` by 35: what memory fixes is not searched, grids follow tiles, registers and instructions of a kernel in the terminal
(`explain KERNEL`), what no page could compile is refused, limits of registers of cached kernels, hints that name a stride.
(`explain KERNEL`), what no page could compile is refused, limits of registers of cached kernels.
`analysis`, `codegen`, `pipeline`, `runtime`, `target`, `passes`, `fuzz` by 170: warps chosen for the tiles, limits of registers that may spill a little, kernels called with all their arguments.
(`explain KERNEL`), what no page could compile is refused, limits of registers of cached kernels, hints that name a stride, faults of the kernel next to verdicts.
`passes` by 5: chains whose results take all registers.
`analysis`, `frontend` and `pipeline` by 19: kernels that count their threads, or name `maxnreg`, keep the warps that they have registers for. `runtime` by 10: hooks of
launches of a compiled kernel. `lab` by 15: the number of warps that a recorded launch chose is recorded.
launches of a compiled kernel.
`commands` by 175 and a file, `lab` by 40: strides that nobody gave are of rows one after another; `compile` takes the launch of the kernel's file. `lab` by 125 and a file, from `explorer`: the launch of a kernel's own file,
which `check` and the laboratory take too.
`explorer` by 29: a kernel that is opened with its launch has the warps that the launch chooses; Triton compiles kernels that import minitriton.
launches of a compiled kernel. `lab` by 17: the number of warps that a recorded launch chose is recorded.
28 November: one CTA more for mma.sync, and reads ahead only where loads still hide behind iterations.
28 November, night: reads ahead leave room for the addresses of copies.
28 November, night: dots by mma.sync are counted by themselves.
28 November, night: numbers that a signature does not allow are refused.
`frontend` by 15: `tl.multiple_of` of a kernel's argument counts. `explorer` by 12: a kernel that stops is a verdict at its line.
28 November, night: a launch of the same name in another file is not the file's own.
28 November, night: read again.
"""

PAGES = 2
"""Those words in docs/*.md, README.md and CONTRIBUTING.md."""

TOTALS = {
    "lines": 160040,
    "files": 850,
    "files under 40 lines": 127,
    "modules with one importer": 170,
    "comparisons of an op's name": 5,
    "private names of other modules": 55,
    "entries at the top": 24,
    "tables of ops": 67,
    "words": 23,
}
"""Of the whole package. Goals: 118,000 lines in 750 files, 24 entries, no word.

By about 3,200 on 2026-11-27 for Gluon: its language, its rules in the frontend, five passes.

By about 1,500 lines in 9 files on 2026-11-28 for `minitriton-algebra`: a file a family of rules, one importer each.

Lines were raised on 2026-11-27 by about 500: the analysis of what is in flight with its table in `explain`, the protocols of a back end, choices as data,
and the demand for registers came in for less code that went.
`passes`, `codegen` and `dialects` by about 70 on 2026-11-28: warps share the boxes of a tensor copy.
By about 2,300 in 10 files on 2026-11-28 for tile search.
`passes`, `analysis`, `dialects` and `pipeline` by 710 on 2026-11-28: `minitriton-split-chains`, parts of tensors along any axis, reads of the next iteration.
By 960 in 3 files on the same day for described tiles: plain attention and matmul by tensor copies.
`passes` by 460 more: `minitriton-tile-loops`.
`commands` by 320 on 2026-11-28: types and constants of a kernel that is opened without a launch are read off its body.
`codegen`, `dialects` and `fuzz` by 135 on the same day: waits of AMD that LLVM drops in loops; NaNs of several bit patterns.
`pipeline`, `runtime` and `codegen` by 70: AMD's assembly and code object are made when asked for, then cached. `codegen` and `dialects` by 100: what sharing costs on each target, lanes that swap words.
`layouts`, `codegen`, `emulator`, `passes`, `dialects` by about 500 on 2026-11-28: narrow MFMA, reads of LDS that transpose, fp4 packed along M or N, `amdg.upcast_mxfp`, `v_cvt_scalef32`.
`explorer`, `analysis` and `commands` by 300 on the same day: the page sweeps a kernel over settings and pass orders; lengths of axes that several arrays share are not searched.
`runtime` and `target` by about 180 on the same day: tile search for AMD's GPUs, by waves, LDS and data sheets.
"""

SLACK = {"lines": 1500, "files": 15, "files under 40 lines": 10, "modules with one importer": 15, "words": 40}
"""How far below its limit a count may be before the limit is to be lowered; 5 where nothing is said."""

TABLES_OF_OPS_BY_NAME: set[str] = set()
"""Files with tables of ops by name."""

BITS_NEXT_TO_LANES = {
    "codegen/nvidia/mma.py", "emulator/memory/access_cost.py", "passes/accelerate_matmul/__init__.py",
    "passes/warp_specialization/warp_specialization.py", "target/architectures.py",
}  # fmt: skip
"""Files where 32 is the bits of a register or the banks of shared memory, and the one that says what a warp is."""

_KERNELS = "kernels are no typed Python: their arguments are what a launch passes"
_LANGUAGE = "library functions that are kernels: the annotation `constexpr` speaks to the kernel compiler"
NOT_STRICT = {
    "as_triton/tools/ragged_tma.py": _KERNELS,
    "as_triton/tools/triton_to_gluon_translater/translator_helpers.py": _KERNELS,
    "language/gluon/nvidia/blackwell/float2.py": _LANGUAGE,
    "language/gluon/standard.py": _LANGUAGE,
    "language/random.py": _LANGUAGE,
    "language/sorting.py": _LANGUAGE,
    "language/standard.py": _LANGUAGE,
}


def totals() -> dict[str, int]:
    """Today's counts of the whole package."""
    return {
        "lines": sum(source.lines for source in sources()),
        "files": len(sources()),
        "files under 40 lines": sum(source.lines < 40 for source in sources()),
        "modules with one importer": len(single_importers()),
        "comparisons of an op's name": sum(source.op_name_comparisons for source in sources()),
        "private names of other modules": sum(len(source.private_accesses) for source in sources()),
        "entries at the top": len(entries()),
        "tables of ops": len(op_tables.tables()),
        "words": sum(count for package, count in words.counts().items() if not package.endswith(".md")),
    }


def entries() -> set[str]:
    """What stands at the top of the package."""
    return {source.package for source in sources()}


def packages() -> dict[str, tuple[int, int, int]]:
    """Today's lines, files and words of each package."""
    lines, files = Counter[str](), Counter[str]()
    for source in sources():
        lines[source.package] += source.lines
        files[source.package] += 1
    return {name: (lines[name], files[name], words.counts()[name]) for name in sorted(files)}


def words_of_pages() -> int:
    return sum(count for page, count in words.counts().items() if page.endswith(".md"))


def test_every_package_has_a_budget() -> None:
    assert set(PACKAGES) == set(packages()), "name what came or went in PACKAGES"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_stays_within_its_budget(package: str) -> None:
    for what, limit, now in zip(("lines", "files", "words"), PACKAGES[package], packages()[package], strict=True):
        advice = f"python tests/ratchets/words.py {package} lists them" if what == "words" else "delete before you add"
        assert now <= limit, f"{package}: {now} {what}, at most {limit}: {advice}"
        slack = SLACK[what] if what == "words" else max(SLACK[what] // 15, limit // 8)
        assert now >= limit - slack, f"{package}: {now} {what}: lower the limit of {limit}"


@pytest.mark.parametrize("what", TOTALS)
def test_what_should_become_less_does_not_become_more(what: str) -> None:
    now, limit = totals()[what], TOTALS[what]
    assert now <= limit, f"{now} {what}, at most {limit}"
    assert now >= limit - SLACK.get(what, 5), f"{now} {what}: lower the limit of {limit}"


def test_pages_use_the_words_of_the_field() -> None:
    now = words_of_pages()
    assert now <= PAGES, f"{now} words to avoid, at most {PAGES}: python tests/ratchets/words.py PAGE.md lists them"
    assert now >= PAGES - SLACK["words"], f"{now} words to avoid: lower the limit of {PAGES}"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The wait stands behind the product.", {"behind", "product"}),
        ("The Cartesian product of the axes; itertools.product", set()),
        ("The product of the dimensions is a power of two.", set()),
        ("The dot adds to its sum.", {"sum"}),
        ("The sum of two numbers.", set()),
        ("Changed in place, which takes the place of a copy.", set()),
        ("An error carries the place in the source.", {"place"}),
        ("A floating point number", set()),
        ("The values lie side by side, and the copies are cut.", {"lie", "side by side", "cut"}),
    ],
)
def test_a_word_counts_in_the_sense_that_is_to_be_avoided(sentence: str, expected: set[str]) -> None:
    text = words.Text("passes/some.py", 1, sentence, False)
    assert {found.word for found in words.in_text(text)} == expected


def test_no_further_file_lists_ops_by_name() -> None:
    assert {table.file for table in op_tables.tables() if table.by_name} <= TABLES_OF_OPS_BY_NAME


def test_registrations_and_types_are_no_tables_of_ops() -> None:
    counted = "KINDS = {tt.LoadOp, tt.StoreOp, tt.ReduceOp}\nif op.name in ('tt.load', 'tt.store'): pass"
    free = "RULES.update({tt.LoadOp: a, tt.StoreOp: b, tt.ReduceOp: c})\ndef f(op: A.AOp | A.BOp | A.COp): ..."
    assert [(each.ops, each.by_name) for each in op_tables.of_tree(ast.parse(counted), "counted.py")] == [
        (3, False),
        (2, True),
    ]
    assert not list(op_tables.of_tree(ast.parse(free), "free.py"))


def test_no_bare_number_means_a_warp() -> None:
    found = {
        f"{file}:{line}: {lines[line - 1].strip()}"
        for file, (text, tree) in files().items()
        if "/kernels/" not in file and file not in BITS_NEXT_TO_LANES
        for lines in [text.split("\n")]
        for line in warp_numbers.of_tree(tree, lines)
    }
    assert not found, "write threads_per_warp(op), num_threads(op), Architecture.lane_bits or WARP_SIZE"


@pytest.mark.parametrize(
    "line", ["lane & 31", "thread >> 5", "warps = threads // 32", "32 * num_warps", "lanes.reshape(-1, 32)"]
)
def test_a_bare_number_next_to_a_lane_is_found(line: str) -> None:
    assert list(warp_numbers.of_tree(ast.parse(line), [line])) == [1]


def test_files_that_are_not_checked_strictly_are_those_listed() -> None:
    loose = {
        file for file, (text, _) in files().items() if re.search(r"^# pyright: *(standard|basic)", text, re.MULTILINE)
    }
    assert loose == set(NOT_STRICT)


def test_no_type_error_is_ignored_without_naming_the_rule() -> None:
    unnamed = re.compile(r"# type: ignore|# pyright: ignore(?!\[)")
    assert not [file for file, (text, _) in files().items() if unnamed.search(text)]


def written(text: str) -> str:
    """The text of this file with today's counts as the limits."""
    rows = {
        "PACKAGES": [f'    "{name}": {row},' for name, row in packages().items()],
        "TOTALS": [f'    "{what}": {count},' for what, count in totals().items()],
    }
    for table, lines in rows.items():
        whole = "\n".join((f"{table} = {{", *lines, "}"))
        text = re.sub(rf"^{table} = \{{\n.*?^\}}", lambda _, whole=whole: whole, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^PAGES = \d+", f"PAGES = {words_of_pages()}", text, flags=re.MULTILINE)


if __name__ == "__main__":
    Path(__file__).write_text(written(Path(__file__).read_text()))
