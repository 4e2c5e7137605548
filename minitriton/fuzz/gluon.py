"""Kernels in Gluon: a tile goes through layouts, shared memory, views, reductions and asynchronous copies, and NumPy says what it becomes.

generate(7)     v = load; convert to a linear layout; through a swizzled buffer; + column sums; gather; store
                one in ten lacks the wait for an asynchronous copy: the interpreter and the emulator have to say so

Every step leaves a tile of the same shape, so that a program without some of its steps is one too: that is how a finding is made smaller.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from minitriton.fuzz.generation.elements import ELEMENTS, Element
from minitriton.fuzz.kinds import FuzzKind
from minitriton.fuzz.printing import KERNEL
from minitriton.fuzz.running.agreement import FuzzFinding, KernelVerdict, verdict_of
from minitriton.fuzz.running.known import FAILED_PASS, PASS_FAILED, known_layout
from minitriton.fuzz.running.launch import FuzzedLaunch, placed_arguments
from minitriton.fuzz.running.oracles import OracleOutcome, run_oracles
from minitriton.fuzz.tree import Array
from minitriton.fuzz.validity.access_analysis import Written

NUMPY = "numpy"
"""The oracle that is the reference."""
_WAIT = "async_copy.wait_group(0)"

Shape = tuple[int, int]


@dataclass(frozen=True)
class GluonStep:
    """Lines of the kernel, and what they do to `v`, `x` being the argument, as a statement of NumPy."""

    lines: tuple[str, ...]
    numpy: str = "pass"


@dataclass(frozen=True)
class GluonProgram:
    """A kernel of one tile."""

    seed: int
    shape: Shape
    element: Element
    num_warps: int
    steps: tuple[GluonStep, ...]
    planted: bool = False
    """Whether waits for asynchronous copies are left out."""

    @property
    def lacks_wait(self) -> bool:
        return self.planted and any(_WAIT in step.lines for step in self.steps)

    @property
    def arrays(self) -> tuple[Array, Array]:
        return Array("x", self.element, "random"), Array("y", self.element, "random", written=True)

    def expected(self) -> list[np.ndarray]:
        """The arrays after the launch, by NumPy."""
        x = self._first()
        names = {"np": np, "x": x, "v": x.copy()}
        with np.errstate(over="ignore"):
            for step in self.steps:
                exec(step.numpy, names)
        return [x.ravel(), names["v"].ravel()]

    def _first(self) -> np.ndarray:
        limits = np.iinfo(self.element.dtype)
        return np.random.default_rng(self.seed).integers(limits.min, limits.max, self.shape, self.element.dtype, True)

    @property
    def launch(self) -> FuzzedLaunch:
        """What the oracles run."""
        x, y = self.arrays
        first = self._first().ravel()
        arguments = placed_arguments([(x, first), (y, np.zeros_like(first))], (), ())
        return FuzzedLaunch(source_of(self), arguments, (1,), self.num_warps, True)


_HEAD = f"""
import importlib

gluon = importlib.import_module(triton.__name__ + ".experimental.gluon")
gl = importlib.import_module(triton.__name__ + ".experimental.gluon.language")
async_copy = importlib.import_module(triton.__name__ + ".experimental.gluon.language.nvidia.ampere.async_copy")

@gluon.jit
def add(a, b):
    return a + b

@gluon.jit
def {KERNEL}(x, y):
"""


def source_of(program: GluonProgram) -> str:
    """The Python text of the kernel."""
    layout = f"gl.BlockedLayout([1, 4], [4, 8], [{program.num_warps}, 1], [1, 0])"
    lines = [*_offsets(program.shape, layout), "v = gl.load(x + at)", "store_at = at"]
    for step in program.steps:
        lines += [line for line in step.lines if not (program.planted and line == _WAIT)]
    lines.append(f"gl.store(y + store_at, gl.convert_layout(v, {layout}))")
    return _HEAD + "".join(f"    {line}\n" for line in lines)


def _offsets(shape: Shape, layout: str) -> list[str]:
    rows, columns = shape
    return [
        f"row = gl.arange(0, {rows}, gl.SliceLayout(1, {layout}))[:, None]",
        f"at = row * {columns} + gl.arange(0, {columns}, gl.SliceLayout(0, {layout}))[None, :]",
    ]


class _Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.shape = self.random.choice((16, 32, 64)), self.random.choice((16, 32, 64))
        self.element = ELEMENTS[self.random.choice(("int8", "int16", "int32", "int32", "int64"))]
        self.warps = self.random.choice((1, 2, 4, 4, 8))
        self.buffers = 0

    def layout(self, shape: Shape | None = None) -> str:
        """A distributed layout for a tile of `shape`."""
        kinds = [self._blocked, self._blocked, self._linear, self._slice, self._mma, self._operand]
        return self.random.choice(kinds)(shape or self.shape)

    def _split(self, total: int, parts: int) -> list[int]:
        """Powers of two, multiplied `total`."""
        sizes = [1] * parts
        for _ in range(total.bit_length() - 1):
            sizes[self.random.randrange(parts)] *= 2
        return sizes

    def _order(self, rank: int) -> list[int]:
        return self.random.sample(range(rank), rank)

    def _blocked(self, shape: Shape) -> str:
        size = [self.random.choice((1, 2, 4)), self.random.choice((1, 2, 4))]
        return f"gl.BlockedLayout({size}, {self._split(32, 2)}, {self._split(self.warps, 2)}, {self._order(2)})"

    def _slice(self, shape: Shape) -> str:
        parent = f"gl.BlockedLayout([1, 2, 1], {self._split(32, 3)}, {self._split(self.warps, 3)}, {self._order(3)})"
        return f"gl.SliceLayout({self.random.randrange(3)}, {parent})"

    def _mma(self, shape: Shape) -> str:
        return f"gl.NVMMADistributedLayout([2, 0], {self._split(self.warps, 2)}, [16, 8])"

    def _operand(self, shape: Shape) -> str:
        width = self.random.choice((1, 2, 4))
        return f"gl.DotOperandLayout({self.random.randrange(2)}, {self._mma(shape)}, {width})"

    def _bases(self, shape: Shape) -> list[list[int]]:
        bits = [[1 << bit, 0] for bit in range(shape[0].bit_length() - 1)]
        bits += [[0, 1 << bit] for bit in range(shape[1].bit_length() - 1)]
        self.random.shuffle(bits)
        return bits

    def _linear(self, shape: Shape) -> str:
        bits = self._bases(shape)
        warps, lanes = self.warps.bit_length() - 1, 5
        copies = max(0, lanes + warps - len(bits)) + self.random.choice((0, 0, 1))
        bits = [[0, 0]] * copies + bits
        threads, registers = bits[: lanes + warps], bits[lanes + warps :]
        self.random.shuffle(threads)
        return (
            f"gl.DistributedLinearLayout({registers}, {threads[:lanes]}, {threads[lanes:]}, [], {list(shape)})"
        )  # fmt: skip

    def shared(self, shape: Shape) -> str:
        """A layout of shared memory for a tile of `shape`."""
        order = self._order(2)
        kind = self.random.randrange(4)
        if kind == 0:
            return f"gl.PaddedSharedLayout.with_identity_for([[{self.random.choice((16, 32, 64))}, 4]], {list(shape)}, {order})"
        if kind == 1:
            return f"gl.SharedLinearLayout({self._bases(shape)})"
        return self.swizzled(order)

    def swizzled(self, order: list[int], most_phases: int = 4) -> str:
        vec, per_phase = self.random.choice((1, 2, 4)), self.random.choice((1, 2, 4))
        phases = min(most_phases, self.random.choice((1, 2, 4)))
        return f"gl.SwizzledSharedLayout({vec}, {per_phase}, {phases}, {order})"

    def buffer(self) -> str:
        self.buffers += 1
        return f"b{self.buffers}"

    def step(self) -> GluonStep:
        kinds = [
            self._convert, self._convert, self._arithmetic, self._reduce, self._through_memory, self._through_memory,
            self._permuted_view, self._ring, self._slices, self._gather, self._scan, self._transposed, self._pairs,
        ]  # fmt: skip
        if self.element.dtype.itemsize >= 4:
            kinds += [self._copy, self._copy]
        return self.random.choice(kinds)()

    def _convert(self) -> GluonStep:
        return GluonStep((f"v = gl.convert_layout(v, {self.layout()})",))

    def _arithmetic(self) -> GluonStep:
        text = f"v = v * {self.random.choice((3, 5, 7))} ^ (v >> {self.random.randrange(1, 6)})"
        return GluonStep((text,), text)

    def _reduce(self) -> GluonStep:
        axis = self.random.randrange(2)
        if self.random.random() < 0.5:
            sums = f"v.sum({axis}, keepdims=True, dtype=np.int64).astype(v.dtype)"
            return GluonStep((f"v = v + gl.expand_dims(gl.sum(v, {axis}), {axis}).to(v.dtype)",), f"v = v + {sums}")
        line = f"v = v ^ gl.expand_dims(gl.max(v, {axis}), {axis}).to(v.dtype)"
        return GluonStep((line,), f"v = v ^ v.max({axis}, keepdims=True)")

    def _through_memory(self) -> GluonStep:
        b = self.buffer()
        return GluonStep(
            (f"{b} = gl.allocate_shared_memory(v.dtype, {list(self.shape)}, {self.shared(self.shape)}, v)", f"v = {b}.load({self.layout()})")
        )  # fmt: skip

    def _permuted_view(self) -> GluonStep:
        b, transposed = self.buffer(), (self.shape[1], self.shape[0])
        made = f"{b} = gl.allocate_shared_memory(v.dtype, {list(transposed)}, {self.swizzled(self._order(2))}).permute([1, 0])"
        return GluonStep((made, f"{b}.store(v)", f"v = {b}.load({self.layout()})"))

    def _ring(self) -> GluonStep:
        b, at = self.buffer(), self.random.randrange(3)
        made = f"{b} = gl.allocate_shared_memory(v.dtype, {[3, *self.shape]}, {self.swizzled([1, 0])})"
        return GluonStep((made, f"{b}.index({at}).store(v)", f"v = {b}.index({at}).load({self.layout()})"))

    def _slices(self) -> GluonStep:
        """One half takes the place of the other. Views that split a swizzle are refused."""
        b, axis = self.buffer(), self.random.randrange(2)
        half = self.shape[axis] // 2
        smaller = (half, self.shape[1]) if axis == 0 else (self.shape[0], half)
        lines = (
            f"{b} = gl.allocate_shared_memory(v.dtype, {list(self.shape)}, {self.swizzled(self._order(2), 1)}, v)",
            f"h = {b}.slice({half}, {half}, {axis}).load({self.layout(smaller)})",
            "gl.thread_barrier()",
            f"{b}.slice(0, {half}, {axis}).store(h)",
            f"v = {b}.load({self.layout()})",
        )
        part = "[:{0}], v[{0}:]" if axis == 0 else "[:, :{0}], v[:, {0}:]"
        first, second = part.format(half).split(", v")
        return GluonStep(lines, f"v = v.copy(); v{first} = v{second}")

    def _gather(self) -> GluonStep:
        axis, key = self.random.randrange(2), self.random.randrange(64)
        index = f"(v ^ {key}) & {self.shape[axis] - 1}"
        return GluonStep(
            (f"v = gl.gather(v, ({index}).to(gl.int32), {axis})",), f"v = np.take_along_axis(v, ({index}).astype(np.int64), {axis})"
        )  # fmt: skip

    def _scan(self) -> GluonStep:
        axis = self.random.randrange(2)
        return GluonStep(
            (f"v = gl.associative_scan(gl.convert_layout(v, {self._blocked(self.shape)}), {axis}, add)",),
            f"v = np.cumsum(v, {axis}, dtype=v.dtype)",
        )

    def _transposed(self) -> GluonStep:
        transposed = f"gl.convert_layout(v.permute([1, 0]), {self.layout((self.shape[1], self.shape[0]))})"
        return GluonStep((f"v = {transposed}.permute([1, 0])",))

    def _pairs(self) -> GluonStep:
        """Even and odd columns are swapped."""
        rows, columns = self.shape
        layout = f"gl.BlockedLayout([1, 2], {self._split(32, 2)}, {self._split(self.warps, 2)}, [1, 0])"
        lines = (
            f"even, odd = gl.convert_layout(v, {layout}).reshape([{rows}, {columns // 2}, 2]).split()",
            f"v = gl.join(odd, even).reshape([{rows}, {columns}])",
        )
        return GluonStep(lines, f"v = v.reshape({rows}, -1, 2)[:, :, ::-1].reshape(v.shape)")

    def _copy(self) -> GluonStep:
        """The argument comes through shared memory, by an asynchronous copy."""
        b = self.buffer()
        layout = f"gl.BlockedLayout([1, {self.random.choice((1, 2, 4))}], [4, 8], [{self.warps}, 1], [1, 0])"
        lines = (
            *_offsets(self.shape, layout),
            f"{b} = gl.allocate_shared_memory(v.dtype, {list(self.shape)}, {self.swizzled([1, 0])})",
            f"async_copy.async_copy_global_to_shared({b}, x + at)",
            "async_copy.commit_group()",
            _WAIT,
            f"v = gl.convert_layout(v, {layout}) ^ {b}.load({layout})",
        )
        return GluonStep(lines, "v = v ^ x")


def generate(seed: int) -> GluonProgram:
    """The program of a seed."""
    made = _Generator(seed)
    steps = tuple(made.step() for _ in range(made.random.randrange(1, 9)))
    return GluonProgram(seed, made.shape, made.element, made.warps, steps, made.random.random() < 0.1)


def run_program(program: GluonProgram, oracles: Sequence[str]) -> tuple[KernelVerdict, dict[str, OracleOutcome]]:
    """What the oracles say of `program`. Of one that lacks a wait, the interpreter and the emulator have to find it."""
    outcomes = run_oracles(program.launch, [name for name in oracles if name != NUMPY])
    if program.lacks_wait:
        checked = [name for name in outcomes if name not in ("triton", "gpu")]
        missed = [
            name
            for name in checked
            if not outcomes[name].findings and "may still write" not in str(outcomes[name].error)
        ]
        return KernelVerdict(
            [FuzzFinding("missed", f"{name}: a wait is missing", source_of(program)) for name in missed]
        ), outcomes
    if NUMPY in oracles:
        outcomes = {NUMPY: OracleOutcome(program.expected())} | outcomes
    return verdict_of(program.arrays, {"y": Written(either_zero=True)}, outcomes), outcomes


def _known(program: GluonProgram, finding: FuzzFinding, oracles: Sequence[str]) -> str | None:
    """The known difference from Triton that explains a finding about Triton alone."""
    if finding.signature.startswith(PASS_FAILED):
        return FAILED_PASS
    return known_layout(program.launch) if finding.signature.startswith(("triton |", "triton:")) else None


def candidates(program: GluonProgram) -> Iterator[GluonProgram]:
    """The program with a step less."""
    for position in range(len(program.steps)):
        yield replace(program, steps=program.steps[:position] + program.steps[position + 1 :])


def _head(program: GluonProgram) -> str:
    wait = ", a wait left out: the interpreter and the emulator have to say so" if program.lacks_wait else ""
    return f"{program.num_warps} warps{wait}"


KIND = FuzzKind(
    "gluon", (NUMPY, "interpreter", "ttgir", "emulator", "emulator-sm80", "triton", "gpu"),
    (NUMPY, "interpreter", "emulator", "emulator-sm80", "triton"),
    lambda seed: (generate(seed), None), lambda program, oracles, _: run_program(program, oracles),
    source_of, lambda program: program.arrays, _head, candidates, (__name__,), known=_known,
    features=lambda program, outcomes, oracles: ("planted",) if program.lacks_wait else (),
)  # fmt: skip
