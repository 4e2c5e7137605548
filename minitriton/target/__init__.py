"""What a kernel is compiled for: frozen values handed down through every layer.

`GPUTarget` and `CUDAOptions` have Triton's names and fields (`triton.backends.compiler`, `triton.backends.nvidia.compiler`). The options of each back
end are a subclass of `CompileOptions`, which its entry in `target.backends` names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from minitriton import knobs
from minitriton.errors import MinitritonError, OutOfResources, did_you_mean
from minitriton.host.damaged_files import read_regular
from minitriton.host.frozen import frozen
from minitriton.target.architectures import ARCHITECTURES, LIMITS, WARP_SIZE, Architecture
from minitriton.target.backends import BACKENDS, backend
from minitriton.target.option_types import OptionType, checked, integer


@frozen
class GPUTarget:
    """A device architecture: `GPUTarget("cuda", 90, 32)` is Hopper."""

    backend: str
    arch: int | str
    """The compute capability times ten; of other back ends what their table of architectures calls it, such as `gfx942`."""
    warp_size: int = 0
    """0: the architecture's."""

    def __post_init__(self) -> None:
        known: Mapping[int | str, Architecture] = backend(self.backend).load("architectures")
        if self.arch not in known:
            name = f"sm_{self.arch}" if self.backend == "cuda" else f"{self.backend}:{self.arch}"
            raise MinitritonError(f"unsupported architecture {name}", help=f"supported: {', '.join(map(str, known))}")
        if not self.warp_size:
            object.__setattr__(self, "warp_size", known[self.arch].warp_size)

    @property
    def capability(self) -> int:
        """The compute capability times ten. Raises `MinitritonError` for an architecture that has a name instead."""
        if isinstance(self.arch, int):
            return self.arch
        raise MinitritonError(f"{self.ttg_target} lacks a compute capability", help="this is for NVIDIA's back end")

    @property
    def sm(self) -> str:
        """The PTX target name: `sm_90a` for Hopper (wgmma and setmaxnreg are arch-specific), `sm_80` for Ampere."""
        return self.features.sm

    @property
    def features(self) -> Architecture:
        """What the architecture can do: what to ask instead of its number."""
        return backend(self.backend).load("architectures")[self.arch]

    @property
    def ttg_target(self) -> str:
        """The value of the module attribute `ttg.target`."""
        return f"{self.backend}:{self.arch}"

    @property
    def max_shared_memory(self) -> int:
        """Bytes of shared memory that one block can opt in to (CUDA programming guide, table of capabilities)."""
        return self.features.max_shared_memory

    @property
    def arch_option(self) -> str:
        """What the compile option `arch` is: `sm90`, `gfx942`."""
        return f"sm{self.arch}" if isinstance(self.arch, int) else self.arch

    def with_arch(self, arch: str) -> GPUTarget:
        """The target that `arch` names (`sm80`), of the same backend. Raises `MinitritonError` for anything else."""
        if arch == self.arch_option or arch == self.arch:
            return self
        numbered = _ARCHITECTURE.fullmatch(str(arch))
        if isinstance(self.arch, str):
            return GPUTarget(self.backend, arch)
        if numbered is None:
            raise MinitritonError(
                f"arch is {arch!r}, which names no architecture of NVIDIA's",
                help=f"write it as in sm90 ({known_architectures()}); for a GPU of AMD's set TRITON_OVERRIDE_ARCH=gfx942, which exist: "
                + ", ".join(map(str, backend("hip").load("architectures"))),
            )
        return self if int(numbered[1]) == self.arch else GPUTarget(self.backend, int(numbered[1]), self.warp_size)


def target_named(arch: str | int) -> GPUTarget:
    """The target that an architecture names: `90`, `sm90` or `gfx942`. Raises `MinitritonError` for a name that no back end has."""
    arch = arch_named(str(arch))
    if isinstance(arch, int):
        return GPUTarget("cuda", arch)
    known: dict[int | str, str] = {arch: name for name in BACKENDS for arch in backend(name).load("architectures")}
    if arch not in known:
        raise MinitritonError(f"unsupported architecture {arch}", help=f"known: {', '.join(map(str, known))}")
    return GPUTarget(known[arch], arch)


def arch_named(text: str) -> int | str:
    """What `GPUTarget` calls the architecture that `text` names, if there is such a one: 90 for `sm90`, `gfx942` as it is."""
    numbered = _ARCHITECTURE.fullmatch(text)
    return text if numbered is None else int(numbered[1])


def default_arch() -> int | str:
    """What commands compile for where nothing else is said: what `TRITON_OVERRIDE_ARCH` names, else Hopper."""
    return arch_named(knobs.runtime.override_arch or "90")


SUPPORTED_ARCHITECTURES = tuple(ARCHITECTURES)


def known_architectures() -> str:
    """`70, 75, ...`, for messages."""
    return ", ".join(map(str, SUPPORTED_ARCHITECTURES))


_ARCHITECTURE = re.compile(r"(?:sm)?(\d+)a?")


class InvalidOption(MinitritonError, AssertionError):
    """An option that no target can compile with; also an `AssertionError`, as in Triton."""


class UnsupportedOption(MinitritonError, ValueError):
    """An option that this target cannot compile with; also a `ValueError`, as in Triton."""


POISON = "poison"
"""The instrumentation mode in which launches without a GPU find what depends on values that nobody gave."""
OPTIONS_THAT_NAME_FILES = ("extern_libs", "ir_override", "ptx_options")
"""Compile options that have other files read or written: not taken from data of another user."""


@frozen
class CompileOptions:
    """Compile options of one kernel that every back end has, named and defaulted as in Triton 3.6.0."""

    TYPES: ClassVar[Mapping[str, OptionType]] = {}
    """What the options of a back end's own may be."""
    LAUNCHED: ClassVar[Mapping[str, object]] = {}
    """Options of a kernel that is compiled to be launched by minitriton, unless the program says otherwise."""

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = WARP_SIZE
    ir_override: str | None = None
    enable_fp_fusion: bool = True
    launch_cooperative_grid: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e5", "fp8e4b15")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "tf32"
    allowed_dot_input_precisions: tuple[str, ...] = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    debug: bool = False
    backend_name: str = ""
    sanitize_overflow: bool = True
    arch: str = ""
    instrumentation_mode: str = ""
    pipeline: str | None = field(default=None)
    """A textual pipeline that replaces the target's own (minitriton's addition)."""
    triton_version: str = "3.6.0"
    """The version of Triton whose rules the language has where versions disagree (minitriton's addition)."""
    algebra: str = "exact"
    """`fast`: divisions and functions are rewritten by rules that round otherwise too (minitriton's addition)."""
    without: str = ""
    """Passes to be left out, separated by commas; `minitriton` leaves out all that Triton does not have (minitriton's addition)."""

    def __post_init__(self) -> None:
        for option in fields(self):
            name = option.name
            given = getattr(self, name)
            value = checked(name, given, self.TYPES)
            if value is not given:
                object.__setattr__(self, name, value)
        for name, most in (
            ("num_warps", LIMITS.threads_per_cta // self.warp_size),
            ("num_ctas", LIMITS.ctas_per_cluster),
        ):
            value = getattr(self, name)
            if value & (value - 1):
                known = ", ".join(str(1 << i) for i in range(most.bit_length()))
                raise InvalidOption(f"{name} must be a power of 2, got {value}", help=f"use one of {known}")
        if self.num_warps * self.warp_size > LIMITS.threads_per_cta:
            raise OutOfResources(self.num_warps * self.warp_size, LIMITS.threads_per_cta, "threads")

    def hash(self) -> str:
        """Names these options and the contents of the files of `extern_libs`. Raises `OSError` for one that cannot be read."""
        libraries = [hashlib.sha256(read_regular(Path(path))).hexdigest() for _, path in self.extern_libs]
        return hashlib.sha256(f"{self}{libraries}".encode()).hexdigest()

    @classmethod
    def for_target(cls, target: GPUTarget, **given: Any) -> Self:
        """The options for `target`: its defaults, overridden by `given`. Raises on an unknown option name.

        `arch` among `given` names another architecture than that of `target`, to compile for.
        """
        known = {f.name for f in fields(cls)}
        if given.get("num_warps") is not None:
            given.pop("choose_warps", None)
        unknown = sorted(set(given) - known)
        if unknown:
            raise MinitritonError(
                f"unknown compile option {unknown[0]!r}",
                help=f"{did_you_mean(unknown[0], known)} known options: {', '.join(sorted(known))}".lstrip(),
            )
        target = target.with_arch(given.get("arch") or target.arch_option)
        values: dict[str, Any] = {
            "arch": target.arch_option,
            "backend_name": target.backend,
            "warp_size": target.warp_size,
            "enable_fp_fusion": knobs.language.default_fp_fusion,
            "triton_version": knobs.language.triton_version,
            "instrumentation_mode": knobs.compilation.instrumentation_mode,
        }
        if knobs.language.fp32_default:
            values["default_dot_input_precision"] = knobs.language.fp32_default
        values["supported_fp8_dtypes"] = target.features.fp8_types
        values["deprecated_fp8_dot_operand_dtypes"] = target.features.deprecated_fp8_types
        values["max_num_imprecise_acc_default"] = target.features.max_num_imprecise_acc
        values.update({k: v for k, v in given.items() if v is not None and k != "arch"})
        if knobs.language.force_disable_fp_fusion:
            values["enable_fp_fusion"] = False
        if checked("num_ctas", values.get("num_ctas", 1)) != 1 and not target.features.has_clusters:
            raise UnsupportedOption(
                f"num_ctas > 1 requires NVIDIA SM90+ (Hopper); the target is {target.features.sm}",
                help="set num_ctas=1, or compile for sm90",
            )
        return cls(**values)


def options_for(target: GPUTarget, **given: Any) -> CompileOptions:
    """The options of the back end of `target` for it, overridden by `given`. Raises `MinitritonError` for one that it has not."""
    return backend(target.backend).load("options").for_target(target, **given)


@frozen
class CUDAOptions(CompileOptions):
    """Compile options of one kernel for NVIDIA GPUs, named and defaulted as in Triton 3.6.0."""

    TYPES: ClassVar[Mapping[str, OptionType]] = {"warp_size": integer(WARP_SIZE, WARP_SIZE, WARP_SIZE)}
    LAUNCHED: ClassVar[Mapping[str, object]] = {"describe_tiles": True, "choose_warps": True}

    backend_name: str = "cuda"
    arch: str = "sm90"
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    enable_reflect_ftz: bool = True
    launch_pdl: bool = False
    describe_tiles: bool = False
    """Loads tiles of dots by tensor maps that the launch makes (`minitriton-describe-tiles`)."""
    choose_warps: bool = False
    """Takes more than `num_warps` warps where tiles would not stay in their registers (`analysis.register_demand.fitting_warps`); not where `num_warps` is given."""
