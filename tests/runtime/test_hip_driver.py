"""AMD's driver against a library with the same calls (`mock_hip.c`), whose launches are recorded: what arrives is compared with the code object's
metadata, as the assembly writes them, and run on the emulator. Each test is a process of its own, as a process has one driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COMPILER = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler for the mock of libamdhip64")

START = """
import ctypes
import numpy as np
import minitriton as triton
import minitriton.language as tl
from minitriton.emulator import amdgcn
from minitriton.runtime import driver
from minitriton.runtime.hip_driver import DeviceBuffer, HipDriver, hip_driver
from minitriton.target import GPUTarget

class Recorded(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("shared", ctypes.c_uint32), ("stream", ctypes.c_uint64),
                ("bytes", ctypes.c_uint64), ("arguments", ctypes.c_ubyte * 4096), ("name", ctypes.c_char * 128)]

def recorded():
    return Recorded.in_dll(hip_driver().library, "mock_last_launch")

@triton.jit
def scale(x, flag, factor, n, out, half, long, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, v * factor + flag + half + long, mask=i < n)

@triton.jit
def sums(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK))))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("hip") / "libamdhip64.so"
    assert COMPILER is not None
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", made, HERE / "mock_hip.c"], check=True)
    return made


SERVER = """
import json, os, sys, traceback
triton.compile(triton.compiler.ASTSource(sums, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 128}), GPUTarget("hip", "gfx942", 64)).asm["hsaco"]
for line in sys.stdin:
    given = json.loads(line)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.environ.update(given["environment"])
        for output in (1, 2):
            os.dup2(os.open(given["said"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), output)
        try:
            exec(given["program"], globals())
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    os.waitpid(child, 0)
    print("over", flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """A process that has imported and used the compiler, and no driver; programs run in its forks."""
    folder = tmp_path_factory.mktemp("server")
    file = folder / "server.py"
    file.write_text(START + SERVER)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache")}
    with subprocess.Popen(
        [sys.executable, file], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def run(server: subprocess.Popen[str], library: Path, program: str, tmp_path: Path, **more: str) -> str:
    """What a program prints with the mock for HIP's library."""
    assert server.stdin is not None and server.stdout is not None
    environment = {"TRITON_LIBHIP_PATH": str(library), "TRITON_CACHE_DIR": str(tmp_path / "cache"), **more}
    said = tmp_path / "said"
    print(
        json.dumps({"program": program, "environment": environment, "said": str(said)}), file=server.stdin, flush=True
    )
    assert server.stdout.readline() == "over\n"
    return said.read_text()


def test_a_launch_passes_what_the_code_object_asks_for(
    server: subprocess.Popen[str], library: Path, tmp_path: Path
) -> None:
    program = """
x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
dx, dout = DeviceBuffer(4000, tl.float32), DeviceBuffer(4000, tl.float32)
dx.copy_from(x)
given = {"x": dx.data_ptr(), "flag": True, "factor": 2.5, "n": 1000, "out": dout.data_ptr(), "half": 3, "long": 1 << 40}
kernel = scale[(4,)](dx, True, 2.5, 1000, dout, 3, 1 << 40, BLOCK=256)
assert kernel.metadata.target == GPUTarget("hip", "gfx942", 64), kernel.metadata.target
found = recorded()
assert (list(found.grid), list(found.block), found.shared, found.name) == ([4, 1, 1], [256, 1, 1], 0, b"scale")
entry = amdgcn.parse(kernel.asm["amdgcn"]).kernels["scale"]
ends = [p.offset + p.size for p in entry.parameters]
assert max(ends) <= found.bytes, (ends, found.bytes)
data = bytes(found.arguments)[: found.bytes]
names = [n for n, t in kernel.src.signature.items() if t != "constexpr"]
formats = {"u64": "<u8", "b64": "<i8", "b32": "<i4", "b8": "<i1"}
for name, p in zip(names, entry.parameters):
    kind = "<f4" if name == "factor" else formats[p.type]
    value = np.frombuffer(data, kind, 1, p.offset)[0]
    assert value == given[name], (name, value, given[name])
assert len(entry.parameters) == len(names) + 2
assert not any(data[p.offset : p.offset + p.size] != bytes(8) for p in entry.parameters[len(names) :])
report = amdgcn.run(kernel.asm["amdgcn"], None, tuple(found.grid), [x, 1, 2.5, 1000, out, 3, 1 << 40], threads=found.block[0])
assert report.ok
dout.copy_from(out)
back = np.zeros(1000, np.float32)
dout.copy_to(back)
np.testing.assert_array_equal(back, out)
np.testing.assert_allclose(out, x * np.float32(2.5) + 4 + 2.0**40, rtol=1e-6)
scale[(2, 3)](dx, False, 1.0, 7, dout, 3, 5, BLOCK=512)
assert list(recorded().grid) == [2, 3, 1] and ctypes.c_int.in_dll(hip_driver().library, "mock_launches").value == 2
del dx, dout
assert ctypes.c_int64.in_dll(hip_driver().library, "mock_live_bytes").value == 0
print("done")
"""
    assert run(server, library, program, tmp_path) == "done\n"


def test_the_device_says_what_it_is(server: subprocess.Popen[str], library: Path, tmp_path: Path) -> None:
    program = """
active = driver.active
assert active.get_current_target() == GPUTarget("hip", "gfx1100", 32)
assert active.get_device_capability() == (11, 0)
properties = active.utils.get_device_properties(0)
assert (properties["warpSize"], properties["multiprocessor_count"], properties["max_shared_mem"]) == (32, 304, 65536)
buffer = DeviceBuffer(4096, tl.float32)
kernel = sums[(1,)](buffer, buffer, BLOCK=1024)
assert (kernel.n_regs, list(recorded().block), recorded().shared) == (24, [128, 1, 1], kernel.metadata.shared)
assert kernel.metadata.shared > 0
print("done")
"""
    assert run(server, library, program, tmp_path, MOCK_HIP_ARCH="gfx1100") == "done\n"


def test_failures_have_hip_s_names_and_say_what_to_do(
    server: subprocess.Popen[str], library: Path, tmp_path: Path
) -> None:
    program = """
from minitriton.compiler import ASTSource
from minitriton.errors import MinitritonError
def error(call):
    try:
        call()
    except MinitritonError as found:
        return str(found)
    raise AssertionError("no error")

buffer = DeviceBuffer(64, tl.float32)
source = ASTSource(sums, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 64})
other = triton.compile(source, GPUTarget("hip", "gfx950", 64))
assert "is compiled for gfx950, and the GPU is gfx942" in error(lambda: other[(1,)](buffer, buffer))
assert "hipErrorNoBinaryForGpu (209): no kernel image" in error(lambda: hip_driver().load("sums", other.asm["hsaco"], 0, 0))
mine = triton.compile(source, GPUTarget("hip", "gfx942", 64))
assert "lacks kernel 'other'; it has sums" in error(lambda: hip_driver().load("other", mine.asm["hsaco"], 0, 0))
assert "70000, Hardware limit: 65536" in error(lambda: hip_driver().load("sums", mine.asm["hsaco"], 70000, 0))
assert "hipErrorOutOfMemory" in error(lambda: DeviceBuffer(1 << 31))
assert "128 bytes do not fit" in error(lambda: buffer.copy_from(bytes(128)))
mine[(1,)](buffer, buffer)
ctypes.c_int.in_dll(hip_driver().library, "mock_fail_next").value = 1
assert "launching kernel 'sums' failed: hipErrorInvalidValue (1)" in error(lambda: mine[(1,)](buffer, buffer))
print("done")
"""
    assert run(server, library, program, tmp_path) == "done\n"


def test_without_a_device_arrays_of_the_host_run_on_the_emulator(
    server: subprocess.Popen[str], library: Path, tmp_path: Path
) -> None:
    program = """
from minitriton.errors import MinitritonError
assert driver.active.get_current_target().backend == "cuda"
x, out = np.ones(64, np.float32), np.zeros(1, np.float32)
kernel = triton.compile(triton.compiler.ASTSource(sums, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 64}), GPUTarget("hip", "gfx942", 64))
kernel[(1,)](x, out)
assert out[0] == 64
try:
    kernel.run
    kernel._init_handles()
    raise AssertionError("no error")
except MinitritonError as error:
    assert "no AMD GPU" in str(error), error
print("done")
"""
    assert run(server, library, program, tmp_path, MOCK_HIP_NONE="1") == "done\n"
