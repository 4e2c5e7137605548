"""Launches the kernels of a JSON file one after the other, by the driver alone: what compute-sanitizer watches.

    compute-sanitizer --tool memcheck python sanitizer_runner.py samples.json FIRST

From the sample number FIRST on. Prints `begin N` and `end N CODE` around each, CODE the driver's answer, so that whoever started it knows how
far it came: a fault may end the context, which is then made anew.
"""

from __future__ import annotations

import base64
import ctypes
import json
import sys
from pathlib import Path
from typing import Any

_MAX_DYNAMIC_SHARED = 8


class Device:
    """A context of the first device."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.check("cuInit", 0)
        self.device = ctypes.c_int()
        self.check("cuDeviceGet", ctypes.byref(self.device), 0)
        self.context = ctypes.c_void_p()
        self.open()

    def call(self, name: str, *arguments: Any) -> int:
        """The driver's answer."""
        return int(getattr(self.cuda, name)(*arguments))

    def check(self, name: str, *arguments: Any) -> None:
        """Raises unless the driver's answer is 0."""
        if code := self.call(name, *arguments):
            raise RuntimeError(f"{name}: {code}")

    def open(self) -> None:
        """Makes a context."""
        self.check("cuCtxCreate_v2", ctypes.byref(self.context), 0, self.device)

    def renew(self) -> None:
        """Another context in place of one that a fault has ended."""
        self.call("cuCtxDestroy_v2", self.context)
        self.open()

    def launch(self, sample: dict[str, Any]) -> int:
        """Runs a sample to its end; returns the driver's answer."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        text = sample["ptx"].encode() + b"\0"
        self.check("cuModuleLoadData", ctypes.byref(module), text)
        self.check("cuModuleGetFunction", ctypes.byref(function), module, sample["kernel"].encode())
        if sample["shared"] > 48 * 1024:
            self.check("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, sample["shared"])
        values: list[Any] = []
        arrays: list[ctypes.c_uint64] = []
        for parameter in sample["parameters"]:
            if "array" in parameter:
                data = base64.b64decode(parameter["array"])
                address = ctypes.c_uint64()
                self.check("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(len(data)))
                self.check("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
                arrays.append(address)
                values.append(address)
            else:
                raw = base64.b64decode(parameter["raw"])
                values.append((ctypes.c_char * len(raw)).from_buffer_copy(raw))
        pointers = (ctypes.c_void_p * max(len(values), 1))(
            *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values)
        )
        grid = (*sample["grid"], 1, 1, 1)[:3]
        code = self.call(
            "cuLaunchKernel", function, *grid, sample["threads"], 1, 1, sample["shared"], None, pointers, None
        )
        code = code or self.call("cuCtxSynchronize")
        for address in arrays:
            code = code or self.call("cuMemFree_v2", address)
        return code or self.call("cuModuleUnload", module)


def main() -> None:
    """Runs the samples from a number on."""
    samples = json.loads(Path(sys.argv[1]).read_text())
    device = Device()
    for number in range(int(sys.argv[2]), len(samples)):
        print(f"begin {number}", flush=True)
        code = device.launch(samples[number])
        print(f"end {number} {code}", flush=True)
        if code:
            device.renew()


if __name__ == "__main__":
    main()
