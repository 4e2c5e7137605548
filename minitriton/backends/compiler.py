"""`GPUTarget`, the options and the backend, under the module path that Triton programs import them from.

make_backend(GPUTarget("cuda", 90, 32)).parse_options({"num_warps": 8})    →    CUDAOptions(num_warps=8, ...)
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol

from minitriton.runtime.cache import compiler_fingerprint
from minitriton.target import CUDAOptions, GPUTarget


class Language(Enum):
    """What a kernel is written in."""

    TRITON = 0
    GLUON = 1


class Addressed(Protocol):
    """A tensor of torch, or what lends its address."""

    def data_ptr(self) -> int: ...


class Launched(Protocol):
    """What launches read of a kernel's metadata."""

    num_warps: int
    num_ctas: int
    shared: int


class BaseBackend:
    """What programs ask of Triton's backend objects: what arguments are specialised on, and what a key means for the IR."""

    supports_native_tensor_specialization = True
    """Whether `native_specialize_impl` may answer without asking the backend."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    @staticmethod
    def parse_attr(desc: str) -> list[list[str | int]]:
        """The IR attributes that a specialisation key stands for."""
        return [["tt.divisibility", 16]] if "D" in desc else []

    @staticmethod
    def get_int_specialization(arg: int, **kwargs: object) -> str:
        """ "D" for a number divisible by 16, if `align` is asked for."""
        return "D" if kwargs.get("align", False) and arg % 16 == 0 else ""

    @staticmethod
    def get_tensor_specialization(arg: Addressed, **kwargs: object) -> str:
        """ "D" for an address divisible by 16, if `align` is asked for."""
        return "D" if kwargs.get("align", False) and arg.data_ptr() % 16 == 0 else ""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether the backend compiles for `target`."""
        raise NotImplementedError

    def hash(self) -> str:
        """Names all that compiles depend on in addition to their sources and options."""
        raise NotImplementedError

    def parse_options(self, options: Mapping[str, object]) -> CUDAOptions:
        """The compile options among `options`."""
        raise NotImplementedError

    def load_dialects(self, context: object) -> None:
        """Adds the backend's dialects to `context`."""
        raise NotImplementedError

    def get_module_map(self) -> dict[str, object]:
        """Modules that stand for others on the backend's targets."""
        raise NotImplementedError


class CUDABackend(BaseBackend):
    """The backend of NVIDIA GPUs: its options, and a name for all that compiles depend on."""

    binary_ext = "cubin"
    stages: dict[str, Callable[[object, dict[str, object]], object]]
    """Stage → what runs it, for `knobs.runtime.add_stages_inspection_hook`; set by the compile that calls the hook."""

    def make_ttir(self, mod: object, metadata: dict[str, object], options: object, capability: int) -> object:
        """TTIR cleaned up, of the frontend's."""
        return self.stages["ttir"](mod, metadata)

    def make_ttgir(self, mod: object, metadata: dict[str, object], options: object, capability: int) -> object:
        """TTGIR, of TTIR."""
        return self.stages["ttgir"](mod, metadata)

    def make_llir(self, mod: object, metadata: dict[str, object], options: object, capability: int) -> object:
        """LLVM IR, of TTGIR."""
        return self.stages["llir"](mod, metadata)

    def make_ptx(self, mod: object, metadata: dict[str, object], options: object, capability: int) -> object:
        """PTX, of LLVM IR."""
        return self.stages["ptx"](mod, metadata)

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cuda"

    def parse_options(self, options: Mapping[str, object]) -> CUDAOptions:
        """The compile options of a launch among `options`; other names are the kernel's and are passed over."""
        known = CUDAOptions.__dataclass_fields__
        given = {k: v for k, v in options.items() if k in known}
        return CUDAOptions.for_target(self.target, **{**CUDAOptions.LAUNCHED, **given})

    def get_target_name(self, options: CUDAOptions) -> str:
        """The target as the IR names it, `cuda:90`."""
        return f"cuda:{str(options.arch).removeprefix('sm')}"

    def pack_metadata(self, metadata: Launched) -> tuple[int, int, int]:
        """What launches are given of a kernel's metadata."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: CUDAOptions) -> dict[str, object]:
        """Nothing: the frontend knows what its target can do."""
        return {}

    def get_module_map(self) -> dict[str, object]:
        """Nothing: device functions are called by the same names on every target."""
        return {}

    def load_dialects(self, context: object) -> None:
        """A context has every dialect from the start."""

    def hash(self) -> str:
        """Names the target and everything else that compiles depend on in addition to their sources and options."""
        return f"{compiler_fingerprint()}-{self.target.arch}"


def make_backend(target: GPUTarget) -> CUDABackend:
    """The backend of `target`."""
    return CUDABackend(target)


__all__ = ["BaseBackend", "CUDABackend", "CUDAOptions", "GPUTarget", "Language", "make_backend"]
