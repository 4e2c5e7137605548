"""Names of Triton's runtime that programs (torch among them) import or call beside launches."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import _utils, knobs
from minitriton.as_triton.run_as_triton import ALSO_NAMED, add_names
from minitriton.backends import Backend, BaseBackend, DriverBase, backends
from minitriton.backends.compiler import CUDABackend, make_backend
from minitriton.backends.nvidia.compiler import get_ptxas, sm_arch_from_capability
from minitriton.compiler import ASTSource
from minitriton.errors import MinitritonError
from minitriton.runtime.autotuner import Heuristics, OutOfResources, PTXASError, heuristics
from minitriton.runtime.cache import RemoteCacheBackend, RemoteCacheManager, get_cache_key
from minitriton.runtime.driver import driver
from minitriton.runtime.jit import (
    KernelParam,
    MockTensor,
    get_full_name,
    get_jit_fn_file_line,
    mangle_type,
    native_specialize_impl,
)
from minitriton.target import CUDAOptions, GPUTarget


@triton.autotune([triton.Config({"BLOCK": 16})], key=["n"])
@heuristics({"EVEN": lambda args: args["n"] % 16 == 0})
@triton.jit
def kernel(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), n)


LINE_OF_DEF = 1 + next(
    number for number, line in enumerate(Path(__file__).read_text().split("\n")) if line.startswith("def kernel(")
)


def test_the_place_of_a_kernel_is_its_def_below_the_decorators() -> None:
    assert get_jit_fn_file_line(kernel) == (__file__, LINE_OF_DEF)
    assert get_full_name(kernel.base_fn) == f"{__name__}.kernel"
    assert isinstance(kernel.fn, Heuristics)
    assert all(isinstance(parameter, KernelParam) for parameter in kernel.fn.fn.params)


def test_types_are_named_with_and_without_their_values() -> None:
    assert mangle_type(1) == "i32" and mangle_type(1, specialize=True) == "constexpr"
    assert native_specialize_impl(BaseBackend, 48, False, True, True) == ("i32", "D")


def test_a_stand_in_has_the_strides_of_a_contiguous_tensor() -> None:
    assert MockTensor(tl.float32, [4, 3, 2]).stride() == (6, 2, 1)


def test_errors_are_found_beside_the_autotuner() -> None:
    assert issubclass(OutOfResources, MinitritonError) and issubclass(PTXASError, MinitritonError)


def test_the_driver_is_found_in_its_module() -> None:
    assert driver.active is driver.default
    assert isinstance(driver.active, DriverBase)
    assert driver.active.map_python_to_cpp_type("*fp32") == "CUdeviceptr"
    assert driver.active.get_device_capability() == divmod(driver.active.get_current_target().arch, 10)


def test_there_is_nvidia_s_backend() -> None:
    assert backends == {"nvidia": Backend(CUDABackend, DriverBase)}
    assert make_backend(GPUTarget("cuda", 90)).get_codegen_implementation(CUDAOptions()) == {}


def test_options_are_named_with_what_their_libraries_hold(tmp_path: Path) -> None:
    library = tmp_path / "lib.bc"
    library.write_bytes(b"one")
    options = CUDAOptions(extern_libs=(("mine", str(library)),))
    before = options.hash()
    assert before == CUDAOptions(extern_libs=(("mine", str(library)),)).hash() != CUDAOptions().hash()
    library.write_bytes(b"other")
    assert options.hash() != before


def test_a_cache_key_tells_sources_options_and_environments_apart() -> None:
    backend = make_backend(GPUTarget("cuda", 90))
    sources = [ASTSource(kernel.fn.fn, {"x": kind, "n": "i32"}, {"BLOCK": 16}) for kind in ("*fp32", "*fp16")]
    keys = {
        get_cache_key(source, backend, options, environment)
        for source in sources
        for options in (CUDAOptions(), CUDAOptions(num_warps=8))
        for environment in ({}, {"USE_IR_LOC": "ttir"})
    }
    assert len(keys) == 8


def test_paths_lead_through_nested_tuples() -> None:
    nested = (1, ("a", [2, "b"]), tl.tuple(["c"]))
    paths = _utils.find_paths_if(nested, lambda _, item: isinstance(item, str))
    assert paths == [(1, 0), (1, 1, 1), (2, 0)]
    assert [_utils.get_iterable_path(nested, path) for path in paths] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "bits"), [("fp16", 16), ("float16", 16), ("bf16", 16), ("i1", 1), ("float8e5", 8), ("u64", 64)]
)
def test_element_types_have_widths_by_every_name(name: str, bits: int) -> None:
    assert _utils.get_primitive_bitwidth(name) == bits


class Store(RemoteCacheBackend):
    """A shared store in this process."""

    files: dict[tuple[str, str], bytes] = {}

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        return {name: self.files[self.key, name] for name in filenames if (self.key, name) in self.files}

    def put(self, filename: str, data: bytes) -> None:
        self.files[self.key, filename] = data


def test_files_of_a_shared_store_are_found_by_machines_that_did_not_put_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "files", {})
    with knobs.cache.scope():
        knobs.cache.remote_manager_class = Store
        knobs.cache.dir = str(tmp_path / "one")
        manager = RemoteCacheManager("key")
        paths = {name: manager.put(name, name) for name in ("a.txt", "b.txt")}
        manager.put_group("both", paths)
        knobs.cache.dir = str(tmp_path / "other")
        manager = RemoteCacheManager("key")
        found = manager.get_group("both")
        assert found is not None and {name: Path(path).read_text() for name, path in found.items()} == {
            "a.txt": "a.txt",
            "b.txt": "b.txt",
        }
        assert manager.get_file("c.txt") is None and RemoteCacheManager("other key").get_group("both") is None


def test_a_shared_store_must_be_named() -> None:
    with pytest.raises(MinitritonError, match="no shared store"):
        RemoteCacheManager("key")


TORCH_ASKS = """
import torch, triton, triton.language as tl
from torch._higher_order_ops.triton_kernel_wrap import identify_accessed_tensors

@triton.jit
def stores(p, value, mask):
    tl.store(p, value, mask=mask)

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    stores(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), i < n)

empty = torch.empty(64)
found = identify_accessed_tensors(add, dict(x=empty, y=empty, out=empty, n=64, BLOCK=32), {}).read_writes
print(sorted(d.name for d in found.reads), sorted(d.name for d in found.writes))
"""


def test_torch_sees_which_tensors_a_kernel_reads_and_writes(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "asks.py").write_text(TORCH_ASKS)
    done = subprocess.run(
        [sys.executable, "-m", "minitriton.run_as_triton", str(tmp_path / "asks.py")], capture_output=True, text=True
    )
    assert done.stdout.strip() == "['x', 'y'] ['out']", done.stderr


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=[0])
def unspecialised(x, n):
    pass


def test_a_kernel_says_what_it_is_not_specialised_on() -> None:
    assert unspecialised.do_not_specialize == ["n"] and unspecialised.do_not_specialize_on_alignment == [0]


def test_ptxas_and_names_of_targets_are_given_by_the_backend() -> None:
    assert [sm_arch_from_capability(arch) for arch in (80, 90)] == ["sm_80", "sm_90a"]
    try:
        expected = knobs.nvidia.ptxas.path
    except RuntimeError:
        with pytest.raises(RuntimeError):
            get_ptxas(90)
    else:
        assert get_ptxas(90).path == expected


def test_every_name_that_a_module_has_also_is_there() -> None:
    for module, names in ALSO_NAMED.items():
        here = importlib.import_module(module)
        add_names(here)
        add_names(here)
        for name in names:
            assert getattr(here, name) is not None
        assert not hasattr(here, "no_such_name")
