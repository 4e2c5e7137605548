"""Settings of the compiler and the runtime, in groups: each reads its environment variable until a program sets it.

    knobs.autotuning.print            →  True if TRITON_PRINT_AUTOTUNING=1
    knobs.autotuning.print = True     →  and TRITON_PRINT_AUTOTUNING becomes 1 for child processes
    with knobs.cache.scope():         →  changes of this group, and of its variables, end with the block
        knobs.cache.dir = folder
    del knobs.cache.dir               →  the environment decides again (so does `knobs.cache.dir = knobs.env`)

Names and variables are Triton's. Hooks (`knobs.runtime.launch_enter_hook.add(f)`) live here too, because programs look for them here.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Self, TypeVar, overload

from minitriton.errors import MinitritonError
from minitriton.host.frozen import frozen
from minitriton.knobs.changes import NotingList, changes, notice_the_environment
from minitriton.knobs.hook_types import (
    AutotuneListener,
    BuildImpl,
    CompilationListener,
    InitHandleHook,
    JITHook,
    JITHookCompileInfo,
    KernelAttr,
    LaunchArgumentsHook,
    LaunchHook,
    PipelineStagesHook,
)

__all__ = [
    "AutotuneListener", "BuildImpl", "CompilationListener", "CompileTimes", "Env", "HookChain", "InitHandleHook", "JITHook", "JITHookCompileInfo",
    "KernelAttr", "LaunchArgumentsHook", "LaunchHook", "NvidiaTool", "PipelineStagesHook", "amd", "autotuning", "base_knobs", "build", "cache",
    "compilation", "emulator", "env", "language", "nvidia", "propagate_env", "proton", "redis", "refresh_knobs", "runtime",
    "setenv", "toenv",
]  # fmt: skip


T = TypeVar("T", covariant=True)
Hook = TypeVar("Hook", bound=Callable[..., object])


class Env:
    """The type of `env`."""


env = Env()
"""Assigned to a knob, hands it back to the environment."""

propagate_env = True
"""Whether setting a knob sets its environment variable too."""

_TRUE = frozenset({"1", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "false", "off", "n", "no", ""})


def _boolean(key: str, default: bool | None) -> bool | None:
    text = os.environ.get(key)
    if text is None:
        return default
    if text.lower() not in _TRUE | _FALSE:
        raise MinitritonError(f"{key} is {text!r}, which is neither true nor false", help=f"set {key}=1 or {key}=0")
    return text.lower() in _TRUE


def setenv(key: str, value: str | None) -> None:
    """Sets an environment variable, or unsets it; nothing where `propagate_env` is off."""
    if not propagate_env:
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def toenv(val: object) -> tuple[str | None] | None:
    """The text of a value for an environment variable, in a tuple; `(None,)` to unset it, None for what has no such text."""
    if val is None:
        return (None,)
    if isinstance(val, bool):
        return ("1" if val else "0",)
    return (str(val),) if isinstance(val, (int, str)) else None


class env_base(Generic[T]):
    """A knob backed by the environment variable `key`. Subclasses say in `get` what its text means: a `T`."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.keys: tuple[str, ...] = (key,)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, group: None, owner: type) -> Self: ...
    @overload
    def __get__(self, group: base_knobs, owner: type | None = None) -> T: ...
    def __get__(self, group: base_knobs | None, owner: type | None = None) -> Self | T:
        if group is None:
            return self
        if self.name in group.__dict__:
            return self.transform(group.__dict__[self.name])
        return self.get()

    def __set__(self, group: base_knobs, value: object) -> None:
        if isinstance(value, Env):
            self.__delete__(group)
            return
        group.__dict__[self.name] = value
        text = toenv(value)
        if text is not None:
            setenv(self.key, text[0])

    def __delete__(self, group: base_knobs) -> None:
        group.__dict__.pop(self.name, None)

    def get(self) -> T:
        """What the environment says."""
        raise NotImplementedError

    def transform(self, value: Any) -> T:
        """What reading the knob gives when a program has set it to `value`."""
        return value


class env_str(env_base[str]):
    def __init__(self, key: str, default: str) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> str:
        found = os.environ.get(self.key)
        return self.default if found is None else found


class env_path(env_base[str]):
    """A path; a variable that is empty counts as unset. Its default is computed when it is read: it may depend on another knob."""

    def __init__(self, key: str, default: Callable[[], str]) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> str:
        return os.environ.get(self.key) or self.default()


env_str_callable_default = env_path
"""Triton's name of it."""


class env_size(env_base[int]):
    """A number of bytes: digits, and K, M or G for powers of 1024."""

    def __init__(self, key: str, default: str = "0") -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> int:
        text = os.environ.get(self.key)
        return self.transform(self.default if text is None else text)

    def transform(self, value: int | str) -> int:
        found = re.fullmatch(r"\s*(\d{1,15})\s*([KMG]?)i?B?\s*", str(value), re.IGNORECASE)
        if found is None:
            raise MinitritonError(f"{self.key} is {value!r}, which is not a size", help=f"write it as in {self.key}=2G")
        return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2].upper()]


class env_bool(env_base[bool]):
    def __init__(self, key: str, default: bool = False) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> bool:
        return bool(_boolean(self.key, self.default))


class env_bool_or_names(env_base[bool | str]):
    """Yes, no, or any other text."""

    def get(self) -> bool | str:
        text = os.environ.get(self.key, "")
        return text.lower() in _TRUE if text.lower() in _TRUE | _FALSE else text


class env_int(env_base[int]):
    def __init__(self, key: str, default: int = 0) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> int:
        text = os.environ.get(self.key)
        if text is None:
            return self.default
        try:
            return int(text)
        except ValueError:
            raise MinitritonError(
                f"{self.key} is {text!r}, which is not an integer", help="unset it or give digits"
            ) from None


class env_seconds(env_base[float]):
    """A length of time; 0 stands for no limit."""

    def __init__(self, key: str, default: float) -> None:
        super().__init__(key)
        self.default = default

    def get(self) -> float:
        text = os.environ.get(self.key)
        if text is None:
            return self.default
        try:
            seconds = float(text)
        except ValueError:
            seconds = -1.0
        if not 0 <= seconds < float("inf"):
            raise MinitritonError(
                f"{self.key} is {text!r}, which is not a number of seconds",
                help="unset it, or give as in 2.5; 0: no limit",
            )
        return seconds


class env_opt_str(env_base[str | None]):
    def get(self) -> str | None:
        return os.environ.get(self.key)


class env_opt_path(env_base[str | None]):
    """The first of several variables that names a path; empty ones count as unset."""

    def __init__(self, *keys: str) -> None:
        super().__init__(keys[0])
        self.keys = keys

    def get(self) -> str | None:
        return next((found for key in self.keys if (found := os.environ.get(key))), None)


class env_folders(env_base[tuple[str, ...]]):
    """Folders with the separator of `PATH` between them."""

    def get(self) -> tuple[str, ...]:
        return self.transform(os.environ.get(self.key, ""))

    def transform(self, value: str) -> tuple[str, ...]:
        return tuple(os.path.abspath(folder) for folder in value.split(os.pathsep) if folder)


class env_opt_bool(env_base[bool | None]):
    def get(self) -> bool | None:
        return _boolean(self.key, None)


class env_class(env_base[type | None]):
    """A class named as `module:Class`, which must derive from one called `base`."""

    def __init__(self, key: str, base: str) -> None:
        super().__init__(key)
        self.base = base

    def get(self) -> type | None:
        text = os.environ.get(self.key)
        if text is None:
            return None
        module, colon, name = text.partition(":")
        if not colon:
            raise MinitritonError(f"{self.key} is {text!r}", help="write it as module:Class")
        try:
            found = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise MinitritonError(f"{self.key} is {text!r}: {error}", help="write it as module:Class") from None
        if not isinstance(found, type) or self.base not in {c.__name__ for c in found.mro()}:
            raise MinitritonError(f"{self.key} names {text!r}, which does not derive from {self.base}")
        return found


@frozen
class NvidiaTool:
    """A program of the CUDA toolkit and its release (`12.8`)."""

    path: str
    version: str

    @staticmethod
    @functools.cache
    def from_path(path: str) -> NvidiaTool | None:
        """The tool at `path`, or None where nothing there answers as one."""
        import subprocess

        try:
            text = subprocess.check_output([path, "--version"], stderr=subprocess.STDOUT, text=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        found = re.search(r"release (\d+\.\d+)", text)
        return NvidiaTool(path, found[1]) if found else None


_OWN_TOOLS = Path(__file__).parents[1] / "backends" / "nvidia" / "bin"
"""Where Triton keeps its tools; here is a `ptxas` that starts the machine's."""


def cuda_homes() -> list[str]:
    """Where a CUDA toolkit may be: `CUDA_HOME`, `CUDA_PATH`, the usual folder."""
    return [home for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda") if home]


class env_nvidia_tool(env_base[NvidiaTool]):
    """A program of the CUDA toolkit: named by its variable, at Triton's path, on the PATH, or below CUDA_HOME."""

    def __init__(self, binary: str) -> None:
        super().__init__(f"TRITON_{binary.upper()}_PATH")
        self.binary = binary

    def get(self) -> NvidiaTool:
        return self.transform(os.environ.get(self.key))

    def transform(self, value: str | None) -> NvidiaTool:
        import shutil

        in_toolkits = [str(Path(home) / "bin" / self.binary) for home in cuda_homes()]
        candidates = [value, str(_OWN_TOOLS / self.binary), shutil.which(self.binary), *in_toolkits]
        for path in candidates:
            tool = NvidiaTool.from_path(path) if path else None
            if tool is not None:
                return tool
        raise MinitritonError(f"cannot find {self.binary}", help=f"install the CUDA toolkit or set {self.key}")


@frozen
class CompileTimes:
    """Microseconds of one compile, as `knobs.compilation.listener` gets them."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        return sum(t for _, t in self.lowering_stages)

    @property
    def total(self) -> int:
        return self.ir_initialization + self.total_lowering + self.store_results


class base_knobs:
    """A group of knobs."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        changes.note()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        changes.note()

    @property
    def knob_descriptors(self) -> dict[str, env_base[object]]:
        return {name: d for name, d in type(self).__dict__.items() if isinstance(d, env_base)}

    @property
    def knobs(self) -> dict[str, object]:
        """Every knob's value now."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self) -> Self:
        """A group of its own with the same settings."""
        other = type(self)()
        other.__dict__.update(self.__dict__)
        return other

    def reset(self) -> Self:
        """Hands every knob back to the environment."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self) -> Generator[None]:
        """Undoes, at the end of the block, what it did to these knobs and their variables."""
        settings = dict(self.__dict__)
        variables = {d.key: os.environ.get(d.key) for d in self.knob_descriptors.values()}
        try:
            yield
        finally:
            self.__dict__.clear()
            self.__dict__.update(settings)
            changes.note()
            for key, value in variables.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


class HookChain(NotingList[Hook]):
    """Functions called in order (in reverse order if `reversed`). A list, so that asking whether there are any costs nothing."""

    def __init__(self, reversed: bool = False) -> None:
        super().__init__()
        self.reversed = reversed

    @property
    def calls(self) -> HookChain[Hook]:
        return self

    def add(self, func: Hook) -> None:
        if func not in self:
            self.append(func)

    def remove(self, func: Hook) -> None:
        if func in self:
            super().remove(func)

    def __call__(self, *args: object, **kwargs: object) -> None:
        for hook in self[::-1] if self.reversed else self[:]:
            hook(*args, **kwargs)


class build_knobs(base_knobs):
    cc = env_opt_str("CC")
    cudacrt_path = env_opt_str("TRITON_CUDACRT_PATH")
    cudart_path = env_opt_str("TRITON_CUDART_PATH")
    impl: BuildImpl | None = None

    @property
    def backend_dirs(self) -> set[str]:
        return {path for path in (self.cudacrt_path, self.cudart_path) if path is not None}


class redis_knobs(base_knobs):
    key_format = env_str("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}")
    host = env_str("TRITON_REDIS_HOST", "localhost")
    port = env_int("TRITON_REDIS_PORT", 6379)


def _own_cache_dir() -> str:
    """`minitriton` below the user's cache folder (XDG Base Directory Specification); below `TRITON_HOME` if that is set."""
    if os.environ.get("TRITON_HOME"):
        return os.path.join(cache.home_dir, ".cache", "minitriton")
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "minitriton")


class cache_knobs(base_knobs):
    home_dir = env_path("TRITON_HOME", lambda: os.path.expanduser("~/"))
    dump_dir = env_path("TRITON_DUMP_DIR", lambda: cache.get_triton_dir("dump"))
    override_dir = env_path("TRITON_OVERRIDE_DIR", lambda: cache.get_triton_dir("override"))
    dir = env_path("TRITON_CACHE_DIR", _own_cache_dir)
    key_file = env_path("MINITRITON_KEY_FILE", lambda: os.path.expanduser("~/.local/state/minitriton/key"))
    """The user's key, by which recordings, stores and states are known as the user's own (docs/security.md)."""
    size = env_size("MINITRITON_CACHE_SIZE", "2G")
    """Bytes that compiled kernels may take; the least recently used go first. 0: no limit."""
    manager_class = env_class("TRITON_CACHE_MANAGER", "CacheManager")
    remote_manager_class = env_class("TRITON_REMOTE_CACHE_BACKEND", "RemoteCacheBackend")

    def get_triton_dir(self, dirname: str) -> str:
        return os.path.join(self.home_dir, ".triton", dirname)


class compilation_knobs(base_knobs):
    override = env_bool("TRITON_KERNEL_OVERRIDE")
    dump_ir = env_bool("TRITON_KERNEL_DUMP")
    dump_ir_extract_di_local_variables = env_bool("LLVM_EXTRACT_DI_LOCAL_VARIABLES")
    store_binary_only = env_bool("TRITON_STORE_BINARY_ONLY")
    always_compile = env_bool("TRITON_ALWAYS_COMPILE")
    use_ir_loc = env_opt_str("USE_IR_LOC")
    enable_asan = env_bool("TRITON_ENABLE_ASAN")
    disable_line_info = env_bool("TRITON_DISABLE_LINE_INFO")
    enable_remarks = env_bool("MLIR_ENABLE_REMARK")
    diagnostics = env_str("MLIR_ENABLE_DIAGNOSTICS", "")
    """Words with commas between them: `remarks`, and `choices` for what heuristics chose, `operations` and `stacktraces` for notes after each (see `remarks`)."""

    @property
    def remarks_are_wanted(self) -> bool:
        """Whether passes say what they did not do: `MLIR_ENABLE_REMARK=1`, or `remarks` among the diagnostics."""
        return self.enable_remarks or "remarks" in self.diagnostics.split(",")

    front_end_debugging = env_bool("TRITON_FRONT_END_DEBUGGING")
    disable_llvm_opt = env_bool_or_names("DISABLE_LLVM_OPT")
    """Whether LLVM does not optimise; or flags of LLVM's that are on while it does, with commas between them."""
    dump_llvm_ir = env_bool("LLVM_IR_ENABLE_DUMP")
    time_passes = env_bool("MLIR_ENABLE_TIMING")
    time_llvm_passes = env_bool("LLVM_ENABLE_TIMING")

    @property
    def shows_passes(self) -> bool:
        """Whether something is printed while kernels are compiled, which a cached kernel would hide."""
        return self.remarks_are_wanted or self.dump_llvm_ir or self.time_passes or self.time_llvm_passes

    dump_passes = env_str("MLIR_ENABLE_DUMP", "0")
    dump_passes_path = env_opt_path("MLIR_DUMP_PATH")
    reproducer_path = env_opt_path("TRITON_REPRODUCER_PATH")
    allow_non_constexpr_globals = env_bool("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
    instrumentation_mode: str = ""
    listener: CompilationListener | None = None


class autotuning_knobs(base_knobs):
    cache = env_bool("TRITON_CACHE_AUTOTUNING")
    print = env_bool("TRITON_PRINT_AUTOTUNING")
    listener: AutotuneListener | None = None


class runtime_knobs(base_knobs):
    interpret = env_bool("TRITON_INTERPRET")
    debug: bool = False
    override_arch = env_opt_path("TRITON_OVERRIDE_ARCH")
    trusted = env_folders("MINITRITON_TRUSTED")
    """Folders whose Python files may be run, and whose text may be shown, although only data names them (docs/security.md)."""

    launch_enter_hook: HookChain[LaunchHook] = HookChain()
    launch_exit_hook: HookChain[LaunchHook] = HookChain(reversed=True)
    launch_arguments_hook: HookChain[LaunchArgumentsHook] = HookChain()
    """minitriton's own: called before each launch with the kernel, its resolved grid, its arguments and its compile options."""
    kernel_load_start_hook: HookChain[InitHandleHook] = HookChain()
    kernel_load_end_hook: HookChain[InitHandleHook] = HookChain(reversed=True)
    jit_cache_hook: JITHook | None = None
    jit_post_compile_hook: JITHook | None = None
    add_stages_inspection_hook: PipelineStagesHook | None = None


class language_knobs(base_knobs):
    fp32_default = env_opt_str("TRITON_F32_DEFAULT")
    default_fp_fusion = env_bool("TRITON_DEFAULT_FP_FUSION", True)
    force_disable_fp_fusion = env_bool("TRITON_FORCE_DISABLE_FP_FUSION")
    triton_version = env_str("MINITRITON_TRITON_VERSION", "3.6.0")
    """The version of Triton that programs see, and whose rules the language has where versions disagree: 3.6 to 3.9."""


class nvidia_knobs(base_knobs):
    cuobjdump = env_nvidia_tool("cuobjdump")
    nvdisasm = env_nvidia_tool("nvdisasm")
    ptxas = env_nvidia_tool("ptxas")
    ptxas_blackwell = env_nvidia_tool("ptxas-blackwell")
    dump_nvptx = env_bool("NVPTX_ENABLE_DUMP")
    disable_ptxas_opt = env_bool("DISABLE_PTXAS_OPT")
    ptxas_options = env_opt_str("PTXAS_OPTIONS")
    assembler = env_opt_path("MINITRITON_ASSEMBLER")
    """nvjitlink, ptxas or driver, in place of the first that is at hand."""
    ptxas_path = env_opt_path("MINITRITON_PTXAS", "TRITON_PTXAS_PATH")
    mock_ptx_version = env_opt_str("TRITON_MOCK_PTX_VERSION")
    dump_ptxas_log = env_bool("TRITON_DUMP_PTXAS_LOG")
    libdevice_path = env_opt_path("MINITRITON_LIBDEVICE", "TRITON_LIBDEVICE_PATH")
    libcuda_path = env_opt_str("TRITON_LIBCUDA_PATH")


class amd_knobs(base_knobs):
    """For AMD's GPUs. What pipelines look at are the three of async copies, pingpong and transposes; the others programs read and set."""

    use_buffer_ops = env_bool("AMDGCN_USE_BUFFER_OPS", True)
    use_buffer_atomics = env_bool("AMDGCN_USE_BUFFER_ATOMICS", True)
    buffer_ops_analyze_small_tensor_range = env_bool("AMDGCN_ANALYZE_SMALL_TENSOR_RANGE")
    dump_amdgcn = env_bool("AMDGCN_ENABLE_DUMP")
    libhip_path = env_opt_str("TRITON_LIBHIP_PATH")
    ocml_path = env_opt_path("MINITRITON_OCML")
    use_block_pingpong = env_opt_bool("TRITON_HIP_USE_BLOCK_PINGPONG")
    use_in_thread_transpose = env_opt_bool("TRITON_HIP_USE_IN_THREAD_TRANSPOSE")
    use_async_copy = env_bool("TRITON_HIP_USE_ASYNC_COPY")
    scalarize_packed_fops = env_bool("AMDGCN_SCALARIZE_PACKED_FOPS")


class proton_knobs(base_knobs):
    disable = env_bool("TRITON_PROTON_DISABLE")
    cupti_lib_dir = env_str("TRITON_CUPTI_LIB_PATH", str(_OWN_TOOLS.parent / "lib" / "cupti"))
    enable_nvtx = env_bool("TRITON_ENABLE_NVTX", True)


class emulator_knobs(base_knobs):
    """minitriton's own: launches on host arrays."""

    interpret = env_bool("MINITRITON_INTERPRET")
    """Whether launches run the TTIR on the interpreter; so does `TRITON_INTERPRET`."""

    check = env_str("MINITRITON_EMULATOR_CHECK", "first")
    """Which launches look after races, uninitialised reads and waits, and count costs: "first" of each compiled kernel, "1"
    all, "0" none. It takes 2 to 10 times as long (15 example kernels, 2026-11-21), less than compiling them."""

    seconds = env_seconds("MINITRITON_EMULATOR_SECONDS", 300.0)
    """The processor time that a launch may take on the emulator or the interpreter, before it is an error at the loop that it is in."""

    races = env_str("MINITRITON_RACES", "warn")
    """What a race between programs of a launch on host arrays is: "warn" or "error". Some programs are meant to race."""

    timed_programs = env_int("MINITRITON_EMULATOR_TIMED_PROGRAMS", 64)
    """Under `run_as_triton --cpu`, how many programs of a launch run where only its time is asked for (`do_bench`, `@autotune`); 0: all."""


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()
emulator = emulator_knobs()


COMPILED_IN: tuple[tuple[base_knobs, str], ...] = (
    *((runtime, name) for name in ("override_arch", "debug")),
    *((language, name) for name in ("fp32_default", "default_fp_fusion", "force_disable_fp_fusion", "triton_version")),
    *((compilation, name) for name in ("disable_llvm_opt", "disable_line_info", "dump_ir_extract_di_local_variables")),
    *((compilation, name) for name in ("override", "use_ir_loc", "instrumentation_mode", "enable_asan")),
    *((nvidia, name) for name in ("assembler", "ptxas_path", "ptxas_options", "disable_ptxas_opt", "mock_ptx_version")),
    (nvidia, "libdevice_path"),
    (amd, "ocml_path"),
    (cache, "override_dir"),
)
"""The settings that decide what is compiled: a kernel that was compiled under others is not launched."""


def compiled_in() -> str:
    """The settings that decide what is compiled and that somebody has set, as text."""
    if changes.settings is not None:
        return changes.settings
    count = changes.count
    text = "".join(f" {name}={getattr(group, name)!r}" for group, name in COMPILED_IN if _is_set(group, name))
    if changes.count == count:
        changes.settings = text
    return text


def launches_are_watched() -> bool:
    """Whether launches are reported to anyone, or are made in debug mode."""
    if changes.watched is not None:
        return changes.watched
    count = changes.count
    watched = any((runtime.launch_arguments_hook, runtime.launch_enter_hook, runtime.launch_exit_hook, runtime.debug))
    if changes.count == count:
        changes.watched = watched
    return watched


def _is_set(group: base_knobs, name: str) -> bool:
    knob = type(group).__dict__.get(name)
    if isinstance(knob, env_base):
        return name in group.__dict__ or any(key in os.environ for key in knob.keys)
    return getattr(group, name) != knob


def refresh_knobs() -> None:
    """Reads again what is read once because every launch asks for it."""
    runtime.debug = bool(_boolean("TRITON_DEBUG", False))
    compilation.instrumentation_mode = os.environ.get(
        "TRITON_INSTRUMENTATION_MODE", "poison" if _boolean("MINITRITON_POISON", False) else ""
    )


refresh_knobs()
notice_the_environment()
