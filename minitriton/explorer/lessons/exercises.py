"""The exercises, from easy to hard: each a program, what is asked of it, and the checks that an answer must pass.

EXERCISES[0].title                         "Make this load 16 bytes wide"
grade(exercise, session, asked, text)      Grade(ok=True, said=["the numbers are the same", ...])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from minitriton.commands.shared_options import edited
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest, CompileRequestFields
from minitriton.explorer.compiles import Compiles
from minitriton.explorer.lessons import checks
from minitriton.explorer.lessons.checks import Check, ExerciseAnswer
from minitriton.explorer.program import open_program
from minitriton.explorer.wire import ExerciseJson, RecordedAnswerJson
from minitriton.lab.corpus.case import KERNELS

LESSON_KERNELS = KERNELS / "lessons"


@dataclass(frozen=True)
class Choice:
    """An answer that a page without a server offers: `text`, or `options` and `edits` in place of the exercise's own."""

    title: str
    text: str = ""
    options: tuple[str, ...] = ()
    edits: tuple[tuple[str, str], ...] | None = None

    def asked(self, of: CompileRequest) -> CompileRequest:
        """The state that it is."""
        return replace(of, options=(*of.options, *self.options), edits=of.edits if self.edits is None else self.edits)


@dataclass(frozen=True)
class Exercise:
    """`grade` is 1 to 3. `wants`: what an answer is: "kernel", "passes", "ir", "options" or "words"."""

    name: str
    title: str
    grade: int
    task: str
    hint: str
    asked: CompileRequest
    wants: str
    checks: tuple[Check, ...]
    explains: str
    """Why the answer works: shown once it is found."""
    choices: tuple[Choice, ...] = ()
    """Where there are few answers: all that make sense. They are checked when a file is written, and chosen from in it."""

    def plain(self) -> ExerciseJson:
        """What a page shows of it."""
        return {
            "name": self.name, "title": self.title, "grade": self.grade, "task": self.task, "hint": self.hint, "wants": self.wants,
            "explains": self.explains,
            "asked": self.asked.plain(), "pipeline": self._refused() if self.wants == "passes" else None,
        }  # fmt: skip

    def _refused(self) -> str:
        """The pipeline that is to be fixed, which cannot be compiled."""
        return str(edited(open_program(self.asked).default_pipeline(), list(self.asked.edits)))


@dataclass(frozen=True)
class Grade:
    """Whether every check passed, and what each said."""

    ok: bool
    said: tuple[str, ...]


def grade(exercise: Exercise, session: Compiles, asked: CompileRequest, text: str = "") -> Grade:
    """Checks an answer, up to the first check that fails."""
    answer = ExerciseAnswer(session, exercise.asked, asked, text)
    said: list[str] = []
    for check in exercise.checks:
        try:
            found = check(answer)
        except MinitritonError as error:
            return Grade(False, (*said, f"✗ {error}"))
        said.append(f"{'✓' if found.ok else '✗'} {found.text}")
        if not found.ok:
            return Grade(False, tuple(said))
    return Grade(True, tuple(said))


def recorded(exercise: Exercise, session: Compiles) -> list[RecordedAnswerJson]:
    """Its choices with what the checks say of each."""
    found: list[RecordedAnswerJson] = []
    for choice in exercise.choices:
        graded = grade(exercise, session, choice.asked(exercise.asked), choice.text)
        found.append({"title": choice.title, "ok": graded.ok, "said": list(graded.said)})
    return found


def kernel(name: str, signature: str, **more: Unpack[CompileRequestFields]) -> CompileRequest:
    """The program of an exercise."""
    return CompileRequest(f"{LESSON_KERNELS / 'exercises.py'}:{name}", signature, **more)


_TIDY = str(Path(__file__).with_name("tidy_passes.py"))
_ROWS = "blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"
_COLUMNS = "blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>"
_MISORDERED = (("move", "tritongpu-coalesce before convert-triton-to-tritongpu"),)

EXERCISES: tuple[Exercise, ...] = (
    Exercise(
        "wide-load", "Make this load 16 bytes wide", 1,
        "Each row begins at `row * stride`, and every caller's stride is a multiple of 16. The compiler does not know it: the load moves 4 bytes at "
        "a time. Tell it.",
        "Click the load: the chain of facts ends at an argument.",
        kernel("scale_rows", "*fp32:16,*fp32:16,i32,fp32,BLOCK=512", grid="3", numbers=("stride=512",)), "kernel",
        (checks.same_numbers(), checks.wide()),
        "A load is as wide as the divisibility of its first address allows. `row * stride` is as divisible as the stride: with `row * tl.multiple_of(stride, 16)`, or `tl.assume(stride % 16 == 0)` before the load, it is a multiple of 64 bytes, and a thread may take 16 bytes at a time.",
    ),
    Exercise(
        "wide-mask", "A mask in the way", 1,
        "The pointers are aligned, and still each load moves 4 bytes at a time. The sum begins at a multiple of 16 always.",
        "The mask may change after any element, as far as the compiler knows: see what limits its constancy.",
        kernel("add_masked", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=512", grid="2", numbers=("n=800",)), "kernel",
        (checks.same_numbers(), checks.wide()),
        "A vector is moved by one instruction only if all its elements share one mask. Where the bound is a multiple of 16, the mask can change at such multiples only: it is constant within each vector of four.",
    ),
    Exercise(
        "along-the-rows", "Along the rows, not across them", 1,
        "Four columns a program: each row of the tile is 16 bytes, and every sector of 32 bytes is fetched twice. Let each program copy whole "
        "rows instead, so that no byte is moved that was not asked for.",
        "Exchange what `inner` and `outer` run over. The Access tab shows which elements each program touches.",
        kernel("copy_tile", "*fp32:16,*fp32:16,N=32", grid="8"), "kernel",
        (checks.same_numbers(), checks.at_most("wasted", 0, "bytes moved and not asked for")),
        "Memory moves in sectors of 32 bytes. Lanes that are neighbours should take neighbouring elements, so that each sector is asked for once and all of it is used.",
    ),
    Exercise(
        "once", "Read it once", 1,
        "Mean and spread of each row: the row is read twice. Half of the traffic will do.",
        "A load whose value is used twice is still one load.",
        kernel("mean_and_spread", "*fp32:16,*fp32:16,N=512", grid="2"), "kernel",
        (checks.same_numbers(), checks.at_most_share("bytes", 0.55, "bytes asked for")),
        "A tile that was loaded stays in registers: both reductions take the same value, so the row crosses the memory bus once. Compilers do not merge two loads on their own where a store may lie between.",
    ),
    Exercise(
        "no-barrier", "A softmax without a barrier", 2,
        "Maximum and sum of a row go through shared memory, with barriers. Rows are short: let one program do without any barrier. Change the "
        "options, not the kernel.",
        "Threads of one warp need no barrier to exchange what they have.",
        kernel("softmax_rows", "*fp32:16,*fp32:16,N=128", grid="2"), "options",
        (checks.kernel_unchanged(), checks.same_numbers(), checks.at_most("barriers", 0, "barriers")),
        "Lanes of one warp exchange by shuffles, which need no barrier. With num_warps = 1 the whole row is in one warp. It pays for short rows only: fewer threads have fewer loads in flight.",
        tuple(Choice(f"num_warps = {count}", options=(f"num_warps={count}",)) for count in (8, 4, 2, 1)),
    ),
    Exercise(
        "race", "Everybody writes", 2,
        "All programs add their part to one number, and most of it is lost. Make the sum right, whatever order they run in.",
        "What is read and written by several programs must be one operation: tl.atomic_add.",
        kernel("total", "*fp32:16,*fp32:16,N=128", grid="8", sizes=("out_ptr=1",)), "kernel",
        (
            checks.no_findings(),
            checks.holds("out_ptr", lambda inputs: inputs["out_ptr"] + inputs["x_ptr"].sum(dtype=np.float64), "the sum is right"),
        ),
        "Load, add and store of different programs interleave, and the last store wins. An atomic is one read-modify-write in the L2 cache: no update is lost, in whatever order they come. The rounding may depend on that order.",
    ),
    Exercise(
        "tensor-cores", "Put the tensor cores to work", 2,
        "This dot is done by multiplications and additions of single numbers. TF32 is precise enough here.",
        "tl.dot decides by its input_precision.",
        kernel("square_matmul", "*fp32:16,*fp32:16,*fp32:16,N=32", grid="1"), "kernel",
        (checks.same_numbers(3e-2), checks.executes("tensor core", "instructions of the tensor cores")),
        "With `input_precision=\"ieee\"` float32 operands keep all bits, which tensor cores cannot multiply. TF32 keeps 10 bits of the mantissa: one MMA replaces hundreds of scalar multiplications.",
    ),
    Exercise(
        "which-pass", "Which pass breaks this kernel?", 2,
        "Three passes that tidy up were added, and the softmax is no longer right. Name the one to blame.",
        "The mark next to each pass says whether the numbers still hold after it.",
        kernel(
            "softmax_rows", "*fp32:16,*fp32:16,N=128", grid="2", loads=(_TIDY,),
            edits=(
                ("insert", "exercise-tidy-constants after tritongpu-coalesce"),
                ("insert", "exercise-tidy-conversions after tritongpu-coalesce"),
                ("insert", "exercise-tidy-quotients before convert-triton-to-tritongpu"),
            ),
        ), "words",
        (checks.says("exercise-tidy-quotients", right="without the division, the numbers of a row no longer add up to 1", wrong="that pass keeps the numbers, or there is none of that name"),),
        "Numbers are compared after each pass, so the first pass after which they differ is the one to blame, not the last that touched the op. That is what `minitriton check` does.",
        tuple(Choice(name, text=name) for name in ("exercise-tidy-constants", "exercise-tidy-conversions", "exercise-tidy-quotients", "tritongpu-coalesce")),
    ),
    Exercise(
        "order", "Put these passes in an order that works", 2,
        "tritongpu-coalesce was moved to where layouts are still missing, and the pipeline is refused. Put it back to where it can work, without "
        "leaving any pass out.",
        "What is refused says which fact is missing; the documentation of the passes says which of them establishes it.",
        kernel("wide_row", "*fp32:16,*fp32:16,N=1024", grid="1", edits=_MISORDERED), "passes",
        (
            checks.keeps_passes("tritongpu-coalesce", "convert-triton-to-tritongpu", "tritongpu-remove-layout-conversions"),
            checks.no_findings(),
            checks.wide(),
        ),
        "Coalescing rewrites the layouts of accesses, so there must be layouts: convert-triton-to-tritongpu gives them. Passes state what they need and establish, and the order is checked against that before anything runs.",
        (
            Choice("as it is: before convert-triton-to-tritongpu"),
            Choice("tritongpu-coalesce left out", edits=(("skip", "tritongpu-coalesce"),)),
            Choice("after convert-triton-to-tritongpu", edits=(*_MISORDERED, ("move", "tritongpu-coalesce after convert-triton-to-tritongpu"))),
            Choice("after convert-triton-gpu-to-llvm", edits=(*_MISORDERED, ("move", "tritongpu-coalesce after convert-triton-gpu-to-llvm"))),
        ),
    ),
    Exercise(
        "swizzle", "A layout without bank conflicts", 3,
        "A tile of 32x32 f32 is stored row by row (a warp writes a row) and loaded column by column (a warp reads a column). In plain rows, all 32 "
        "lanes of a column meet in one bank. Write an encoding of shared memory in which neither way has a conflict.",
        "swizzled_shared<{vec = 1, perPhase = 1, maxPhase = ?, order = [1, 0]}>: row r is xor-ed with r modulo maxPhase. "
        "`minitriton layout` draws the banks.",
        kernel("wide_row", "*fp32:16,*fp32:16,N=1024", grid="1"), "words",
        (checks.without_conflicts(_ROWS, _COLUMNS, (32, 32), 32),),
        "Element j of row r is stored at j ^ (r mod maxPhase). With 32 phases the 32 elements of a column are in 32 banks, and a row still is: xor only permutes within a row.",
        tuple(Choice(f"maxPhase = {phase}", text=f"swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = {phase}, order = [1, 0]}}>") for phase in (1, 4, 8, 16, 32)),
    ),
    Exercise(
        "edit-the-ir", "Fix the IR by hand", 3,
        "The same narrow load as in the first exercise, but the Python is not yours to change. Edit the TTIR or TTGIR so that load and store move 16 "
        "bytes at a time.",
        "An op may promise what is not known of it: {tt.divisibility = dense<16> : tensor<1xi32>} on the arith.muli of row and stride.",
        kernel("scale_rows", "*fp32:16,*fp32:16,i32,fp32,BLOCK=512", grid="3", numbers=("stride=512",)), "ir",
        (checks.kernel_unchanged(), checks.same_numbers(), checks.wide()),
        "What a frontend hint does is an attribute of an op. Analyses start from it, so one attribute on `row * stride` widens every access that depends on it.",
    ),
    Exercise(
        "ahead", "Let the loads be pipelined", 3,
        "The loop waits for each load before it multiplies. With float16 tiles whose rows are aligned, they can be copied in the background. The "
        "signature says too little about K; the kernel can say more.",
        "What is asynchronous is cp.async, and that takes at least 4 bytes: make the loads wide, and leave num_stages at 3.",
        kernel("tiled_matmul", "*fp16:16,*fp16:16,*fp32:16,i32,N=32,STEP=32", grid="1", numbers=("K=128",)), "kernel",
        (checks.same_numbers(2e-2), checks.all_ahead(), checks.executes("async copy", "copies in the background")),
        "cp.async moves 4, 8 or 16 bytes a thread. Loads of 2-byte elements qualify only once neighbours are known to be contiguous and aligned; then the pipeliner starts the copies of later steps before this one multiplies.",
    ),
    Exercise(
        "pairs", "Both of a pair at once", 3,
        "Left and right neighbours are loaded by two loads that each skip every other number. Load each number once, in loads without gaps.",
        "Load 2 * N numbers in a row, then tl.split(tl.reshape(x, (N, 2))).",
        kernel("interleaved", "*fp32:16,*fp32:16,N=256", grid="2"), "kernel",
        (checks.same_numbers(), checks.at_most_share("requests", 0.7, "requests"), checks.at_most("wasted", 0, "bytes moved and not asked for")),
        "Two strided loads touch the same sectors twice. One contiguous load and a split of registers moves each byte once: tl.split only renames which register holds what.",
    ),
)  # fmt: skip


def find(name: str) -> Exercise:
    """The exercise called `name`. Raises `MinitritonError` with those that there are."""
    for exercise in EXERCISES:
        if exercise.name == name:
            return exercise
    raise MinitritonError(f"unknown exercise {name!r}", help="there are: " + ", ".join(one.name for one in EXERCISES))
