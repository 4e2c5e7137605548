"""What each GPU architecture can do: the one module that knows. Everything else asks.

    ARCHITECTURES[90].has_tma            True
    architecture_of(91).has_wgmma        True: a number that is not in the list has what the next lower one has

A new architecture is one entry of `ARCHITECTURES`. One whose own tensor cores are not supported says what it shares with others: sm_100a and sm_120a
run `mma.sync`. Sources: CUDA programming guide, "Technical Specifications per Compute Capability" (all figures compared with NVIDIA's own table of
them in CCCL, `libcudacxx/include/cuda/__device/arch_traits.h`, 2026-11-27); PTX ISA, "Target ISA Notes" of each instruction.

How fast its parts are, for models of time: operations and bytes a clock of one SM, latencies in clocks.

    speeds_of(90).tensor_flops("wgmma", 16)     4096 a clock and SM: 989 TFLOP/s of 132 SMs at 1830 MHz

Sources of these: NVIDIA's white papers of A100 and H100 (tensor cores, clocks, memory); Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
Architecture via Microbenchmarking" (IPDPS 2024) for L2, latencies, and `mma.sync` on Hopper at about 62 % of `wgmma`.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import fields, replace
from functools import cache

from minitriton.errors import MinitritonError
from minitriton.host.frozen import frozen
from minitriton.target.backends import backend

WARP_SIZE = 32
"""Threads of a warp, on every architecture here."""
WIDEST_ACCESS_BITS = 128
"""What one thread moves at once at most, on every architecture here."""


@frozen
class Architecture:
    """The answers of one compute capability."""

    __eq__, __hash__ = object.__eq__, object.__hash__  # there is one object for each

    sm: str
    """The PTX target: `sm_90a` has instructions that no other architecture promises to have."""
    first_ptx_version: int
    """The PTX that first knows the target (PTX ISA, "Release Notes"; 80 is PTX 8.0): LLVM ends the process for an older one."""

    # What an SM has (CUDA programming guide, "Technical Specifications per Compute Capability")

    shared_memory_kib: int
    """Shared memory that one CTA can opt in to."""
    shared_kib_per_sm: int
    """Shared memory of an SM; each CTA takes `reserved_shared_bytes` more than it asks for."""
    warps_per_sm: int = 64
    ctas_per_sm: int = 32
    registers_per_sm: int = 65536
    """Registers of 32 bits."""
    registers_per_thread: int = 255
    register_step: int = 8
    """The registers of a thread come in multiples of this."""
    reserved_shared_bytes: int = 0
    threads_per_cta: int = 1024
    ctas_per_cluster: int = 1
    """The most CTAs of a cluster, those that a kernel has to opt in to included."""
    warp_size: int = WARP_SIZE
    local_bytes_per_thread: int = 512 * 1024

    # Families of instructions (PTX ISA, "Target ISA Notes" of each)

    mfma_version: int = 0
    """Matrix cores of AMD's: 2 gfx90a, 3 gfx942, 4 gfx950; 0 none that are used."""
    wmma_version: int = 0
    """Matrix cores of AMD's that are RDNA's: 1 gfx11, 2 gfx12; 0 none that are used."""
    mma_version: int = 0
    """Tensor cores: 0 none that are used, 2 `mma.sync` with all types since sm_80, 3 also `wgmma`."""
    has_f64_mma: bool = False
    has_long_f64_mma: bool = False
    """`mma.sync` of f64 with m16 and k of 4, 8 and 16, not only m8n8k4."""
    has_fp8_mma: bool = False
    """`mma.sync` of fp8 that is not emulated by f16."""
    has_ldmatrix: bool = False
    has_stmatrix: bool = False
    has_cp_async: bool = False
    has_redux: bool = False
    has_cache_policies: bool = False
    has_tf32: bool = False
    has_fp8_conversions: bool = False
    has_clusters: bool = False
    has_tma: bool = False
    has_vector_atomics: bool = False
    has_bf16_atomics: bool = False
    has_bf16_arithmetic: bool = False
    has_symmetric_clamp: bool = False
    """`min.xorsign.abs` clamps between a number and its negative."""
    fp8_types: tuple[str, ...] = ("fp8e5", "fp8e4b15")
    deprecated_fp8_types: tuple[str, ...] = ()
    """Those that dots take with a warning."""
    max_num_imprecise_acc: int = 0
    """How many elements of fp8 `wgmma` may accumulate before they are added in f32."""
    keeps_zero_signs: bool = True
    """Whether its code generator keeps the sign of every zero."""
    shared_load: str = "ld.shared"
    shared_store: str = "st.shared"
    """The instructions that access shared memory."""
    widest_access_bits: int = WIDEST_ACCESS_BITS
    """The widest load or store of one thread."""

    @property
    def has_wgmma(self) -> bool:
        """Dots of a warp group, asynchronous, from shared memory."""
        return self.mma_version == 3

    @property
    def max_shared_memory(self) -> int:
        """Bytes of shared memory that one CTA can opt in to."""
        return self.shared_memory_kib * 1024

    @property
    def lane_bits(self) -> int:
        """Bits of a lane's number."""
        return self.warp_size.bit_length() - 1

    @property
    def register_file_bytes(self) -> int:
        """Bytes of the registers of an SM."""
        return self.registers_per_sm * 4

    # How many CTAs of a kernel an SM holds at once, and with how many registers it holds more

    def warps_of(self, threads: int) -> int:
        """Warps of a CTA of `threads`."""
        return -(-threads // self.warp_size)

    def allotted(self, registers: int) -> int:
        """The registers that each thread of a kernel which asks for `registers` takes from an SM."""
        return -(-max(registers, 1) // self.register_step) * self.register_step

    def ctas_on_sm(self, registers: int, threads: int, shared_bytes: int = 0) -> int:
        """How many CTAs of `threads`, each thread with `registers`, and of `shared_bytes` run on an SM at once.

        ARCHITECTURES[90].ctas_on_sm(registers=80, threads=256)     3
        """
        warps = self.warps_of(threads)
        by_registers = self.registers_per_sm // (self.warp_size * self.allotted(registers)) // warps
        by_shared_memory = self.shared_kib_per_sm * 1024 // max(shared_bytes + self.reserved_shared_bytes, 1)
        return min(by_registers, self.warps_per_sm // warps, self.ctas_per_sm, by_shared_memory)

    def registers_for(self, ctas: int, threads: int) -> int:
        """The most registers of a thread with which an SM holds `ctas` CTAs of `threads`."""
        most = self.registers_per_sm // (self.warp_size * ctas * self.warps_of(threads))
        return most // self.register_step * self.register_step

    def most_registers(self, threads: int) -> int:
        """The most that a thread of a CTA of `threads` can have: what it needs beyond them is spilled."""
        return min(self.registers_per_thread, self.registers_for(1, threads))

    @property
    def full_occupancy_registers(self) -> int:
        """Registers a thread with which an SM still holds as many warps as it can."""
        return self.registers_for(self.warps_per_sm, self.warp_size)


_VOLTA = Architecture("sm_70", 70, shared_memory_kib=96, shared_kib_per_sm=96)
_TURING = replace(
    _VOLTA, sm="sm_75", shared_memory_kib=64, shared_kib_per_sm=64, warps_per_sm=32, ctas_per_sm=16, has_ldmatrix=True,
)  # fmt: skip
_AMPERE = replace(
    _TURING, sm="sm_80", shared_memory_kib=163, shared_kib_per_sm=164, warps_per_sm=64, ctas_per_sm=32, reserved_shared_bytes=1024,
    mma_version=2, has_f64_mma=True, has_cp_async=True, has_redux=True, has_cache_policies=True, has_tf32=True,
)  # fmt: skip
_SMALL_AMPERE = replace(
    _AMPERE, sm="sm_86", first_ptx_version=71, shared_memory_kib=99, shared_kib_per_sm=100, warps_per_sm=48, ctas_per_sm=16,
    has_f64_mma=False,
)  # fmt: skip
_ADA = replace(
    _SMALL_AMPERE, sm="sm_89", first_ptx_version=78, ctas_per_sm=24, has_fp8_mma=True, has_fp8_conversions=True,
    fp8_types=("fp8e4b15", "fp8e4nv", "fp8e5"),
)  # fmt: skip
_HOPPER = replace(
    _ADA, sm="sm_90a", first_ptx_version=80, shared_memory_kib=227, shared_kib_per_sm=228, warps_per_sm=64, ctas_per_sm=32,
    ctas_per_cluster=16, mma_version=3, has_f64_mma=True, has_long_f64_mma=True, has_fp8_mma=False, has_stmatrix=True, has_clusters=True,
    has_tma=True, has_vector_atomics=True, has_bf16_atomics=True, has_bf16_arithmetic=True, has_symmetric_clamp=True,
    deprecated_fp8_types=("fp8e4b15",), max_num_imprecise_acc=2**30,
)  # fmt: skip
_BLACKWELL = replace(_HOPPER, sm="sm_100a", first_ptx_version=86, mma_version=2, max_num_imprecise_acc=0)

ARCHITECTURES: dict[int, Architecture] = {
    70: _VOLTA,
    75: _TURING,
    80: _AMPERE,
    86: _SMALL_AMPERE,
    87: replace(
        _SMALL_AMPERE, sm="sm_87", first_ptx_version=74, shared_memory_kib=163, shared_kib_per_sm=164
    ),
    89: _ADA,
    90: _HOPPER,
    100: _BLACKWELL,
    120: replace(
        _BLACKWELL, sm="sm_120a", first_ptx_version=87, shared_memory_kib=99, shared_kib_per_sm=100,
        warps_per_sm=48, ctas_per_sm=24, ctas_per_cluster=8, has_f64_mma=False, has_long_f64_mma=False, has_fp8_mma=True,
    ),
}  # fmt: skip
"""By compute capability times ten."""

LIMITS = replace(
    _HOPPER,
    **{
        f.name: max(getattr(a, f.name) for a in ARCHITECTURES.values()) for f in fields(Architecture) if f.type == "int"
    },
)
"""In each number the most that an architecture here has: what is checked where the architecture is not known."""
H100_MULTIPROCESSORS = 132
"""SMs of an H100, for which times are estimated (H100 white paper)."""


@cache
def architecture_of(capability: int) -> Architecture:
    """The architecture of a compute capability (times ten): its own, else the next lower one that is known, else the lowest."""
    known = sorted(ARCHITECTURES)
    return ARCHITECTURES[known[max(bisect_right(known, capability) - 1, 0)]]


PLAIN_ACCESSES = architecture_of(0)
"""Of no target in particular: shared memory is accessed by plain loads and stores."""


@cache
def architecture_named(target: str) -> Architecture:
    """The architecture of a `ttg.target`, such as `cuda:90`. A number that its back end does not list has what the next lower one has.

    Raises `MinitritonError` for an unknown back end, and for what is neither listed nor a number.
    """
    name, _, arch = target.partition(":")
    table: dict[int | str, Architecture] = backend(name).load("architectures")
    known = {str(key): found for key, found in table.items()}
    if arch in known:
        return known[arch]
    lower = [int(key) for key in known if key.isdecimal() and arch.isdecimal() and int(key) <= int(arch)]
    if not lower:
        raise MinitritonError(f"unknown architecture {target!r}", help="known: " + ", ".join(known))
    return known[str(max(lower))]


def least_mma_depth(bits: int) -> int:
    """The least k of a dot on `mma.sync` whose elements have `bits` bits: four lanes hold one 32-bit word of a row each (f64: one number).

    With less, lanes hold copies, and terms would be added more than once.
    """
    return 4 * max(1, 32 // bits)


@frozen
class Speeds:
    """Of one architecture."""

    megahertz: float
    tensor_flops_16: float
    """Of `wgmma`, or of `mma.sync` where there is none, a clock and SM, dense, of 16-bit operands; half of it for 32, twice for 8 bits."""
    sync_share: float
    """Of these, what `mma.sync` reaches."""
    fma_flops: float
    memory_bytes: float
    """A clock, of the whole GPU."""
    l2_bytes_per_sm: float
    l2_bytes: float
    """How much L2 holds."""
    shared_bytes: float = 128.0
    special: float = 16.0
    lanes: float = 128.0
    memory_latency: float = 650.0
    l2_latency: float = 270.0
    shared_latency: float = 30.0
    multiprocessors: int = H100_MULTIPROCESSORS
    """Where no GPU says how many there are."""

    def tensor_flops(self, instruction: str, bits: int) -> float:
        """A clock and SM."""
        if instruction == "fma":
            return self.fma_flops
        return self.tensor_flops_16 * 16 / max(bits, 8) * (self.sync_share if instruction == "mma.sync" else 1.0)


_AMPERE_SPEEDS = Speeds(
    1410, tensor_flops_16=2048, sync_share=1.0, fma_flops=128, memory_bytes=1103, l2_bytes_per_sm=47, l2_bytes=40e6,
)  # fmt: skip
SPEEDS = {
    80: _AMPERE_SPEEDS,
    86: replace(_AMPERE_SPEEDS, megahertz=1695, tensor_flops_16=1024, fma_flops=256, memory_bytes=552, l2_bytes=6e6),
    89: replace(_AMPERE_SPEEDS, megahertz=2520, tensor_flops_16=1024, fma_flops=256, memory_bytes=400, l2_bytes=72e6),
    90: Speeds(
        1755, tensor_flops_16=4096, sync_share=0.62, fma_flops=256, memory_bytes=1909, l2_bytes_per_sm=40, l2_bytes=50e6,
    ),
}  # fmt: skip
"""By compute capability times ten."""


def speeds_of(capability: int) -> Speeds:
    """Those of an architecture, else of the next lower one that is known, else of the lowest."""
    known = sorted(SPEEDS)
    return SPEEDS[known[max(bisect_right(known, capability) - 1, 0)]]


def speeds_named(target: str) -> Speeds:
    """Those of a `ttg.target`, such as `hip:gfx942`. Raises `MinitritonError` where nothing is known of them."""
    name, _, arch = target.partition(":")
    table: dict[int | str, Speeds] = backend(name).load("speeds")
    if arch in table:
        return table[arch]
    if name == "cuda" and arch.isdecimal():
        return speeds_of(int(arch))
    raise MinitritonError(
        f"the model of time knows no speeds of {arch}", help="known: " + ", ".join(str(each) for each in table)
    )
