"""The launch call as machine code, made by llvmlite: reading the arguments and calling the driver without `ctypes`.

In: a kernel's function, launch shape and parameter layout. Out: a built-in function
`launch(grid_x, grid_y, grid_z, stream, *values) -> CUresult` that costs about 0.1 µs besides the driver. It is one
function for all kernels, compiled once a process (some milliseconds), bound to a kernel by the address of its state:

    state: cuLaunchKernelEx | CUfunction | parameter count | parameter bytes | codes | offsets | CUlaunchConfig
           | CUfunction for few blocks, null until it is made | as many as are few | what makes it

Everything that a launch writes is on the native stack, so launches from several threads do not meet. The functions of
CPython that it calls belong to the stable ABI (Python/C API, "PyLong", "PyFloat"); `METH_FASTCALL` is the calling form.
"""

from __future__ import annotations

import ctypes
import functools
import warnings
from collections.abc import Callable
from typing import Any

from minitriton.errors import MinitritonError

_METH_FASTCALL = 0x80

_FUNCTION = """
define ptr @launch(ptr %self, ptr %args, i64 %count) {{
entry:
  %state = call ptr inttoptr (i64 {PyLong_AsVoidPtr} to ptr)(ptr %self)
  %function.p = getelementptr i8, ptr %state, i64 8
  %n.p = getelementptr i8, ptr %state, i64 16
  %bytes.p = getelementptr i8, ptr %state, i64 24
  %codes.p = getelementptr i8, ptr %state, i64 32
  %offsets.p = getelementptr i8, ptr %state, i64 40
  %template = getelementptr i8, ptr %state, i64 48
  %small.p = getelementptr i8, ptr %state, i64 104
  %most.p = getelementptr i8, ptr %state, i64 112
  %call = load ptr, ptr %state
  %function.many = load ptr, ptr %function.p
  %function.small = load ptr, ptr %small.p
  %most = load i64, ptr %most.p
  %n = load i64, ptr %n.p
  %bytes = load i64, ptr %bytes.p
  %codes = load ptr, ptr %codes.p
  %offsets = load ptr, ptr %offsets.p
  %config = alloca [56 x i8], align 8
  %size = alloca i64, align 8
  %extra = alloca [5 x ptr], align 8
  %parameters = alloca i8, i64 %bytes, align 16
  call void @llvm.memcpy.p0.p0.i64(ptr %config, ptr %template, i64 56, i1 false)
  call void @llvm.memset.p0.i64(ptr %parameters, i8 0, i64 %bytes, i1 false)
  %expected = add i64 %n, 4
  %arity = icmp eq i64 %count, %expected
  br i1 %arity, label %grid, label %wrong
wrong:
  ret ptr null
grid:
  br label %dimension
dimension:
  %d = phi i64 [ 0, %grid ], [ %d.next, %dimension ]
  %blocks = phi i64 [ 1, %grid ], [ %blocks.next, %dimension ]
  %dim.a = getelementptr ptr, ptr %args, i64 %d
  %dim.o = load ptr, ptr %dim.a
  %dim.m = call i64 inttoptr (i64 {PyLong_AsUnsignedLongLongMask} to ptr)(ptr %dim.o)
  %dim.wide = icmp ugt i64 %dim.m, 4294967295
  %dim.v = select i1 %dim.wide, i64 4294967295, i64 %dim.m
  %dim.t = trunc i64 %dim.v to i32
  %blocks.next = mul i64 %blocks, %dim.v
  %dim.c = getelementptr i32, ptr %config, i64 %d
  store i32 %dim.t, ptr %dim.c
  %d.next = add i64 %d, 1
  %d.more = icmp ult i64 %d.next, 3
  br i1 %d.more, label %dimension, label %stream
stream:
  %is.small = icmp ule i64 %blocks.next, %most
  %function.known = select i1 %is.small, ptr %function.small, ptr %function.many
  %stream.a = getelementptr ptr, ptr %args, i64 3
  %stream.o = load ptr, ptr %stream.a
  %stream.v = call i64 inttoptr (i64 {PyLong_AsUnsignedLongLongMask} to ptr)(ptr %stream.o)
  %stream.c = getelementptr i8, ptr %config, i64 32
  store i64 %stream.v, ptr %stream.c
  %unknown = icmp eq ptr %function.known, null
  br i1 %unknown, label %ask, label %known
ask:
  %make.p = getelementptr i8, ptr %state, i64 120
  %make = load ptr, ptr %make.p
  call void %make()
  %function.made = load ptr, ptr %small.p
  br label %known
known:
  %function = phi ptr [ %function.known, %stream ], [ %function.made, %ask ]
  br label %head
head:
  %i = phi i64 [ 0, %known ], [ %i.next, %next ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %parameter, label %enqueue
parameter:
  %slot = add i64 %i, 4
  %value.a = getelementptr ptr, ptr %args, i64 %slot
  %object = load ptr, ptr %value.a
  %code.a = getelementptr i8, ptr %codes, i64 %i
  %code = load i8, ptr %code.a
  %offset.a = getelementptr i64, ptr %offsets, i64 %i
  %offset = load i64, ptr %offset.a
  %to = getelementptr i8, ptr %parameters, i64 %offset
  %skipped = icmp eq i8 %code, 0
  br i1 %skipped, label %next, label %kind
kind:
  %is.float = icmp uge i8 %code, 16
  br i1 %is.float, label %wide, label %integer
wide:
  %is.map = icmp eq i8 %code, 64
  br i1 %is.map, label %map, label %floating
map:
  %from = call i64 inttoptr (i64 {PyLong_AsUnsignedLongLongMask} to ptr)(ptr %object)
  %from.p = inttoptr i64 %from to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from.p, i64 128, i1 false)
  br label %next
integer:
  %int = call i64 inttoptr (i64 {PyLong_AsUnsignedLongLongMask} to ptr)(ptr %object)
  switch i8 %code, label %int64 [ i8 1, label %int8  i8 2, label %int16  i8 4, label %int32 ]
int8:
  %v8 = trunc i64 %int to i8
  store i8 %v8, ptr %to
  br label %next
int16:
  %v16 = trunc i64 %int to i16
  store i16 %v16, ptr %to
  br label %next
int32:
  %v32 = trunc i64 %int to i32
  store i32 %v32, ptr %to
  br label %next
int64:
  store i64 %int, ptr %to
  br label %next
floating:
  %float = call double inttoptr (i64 {PyFloat_AsDouble} to ptr)(ptr %object)
  %is.single = icmp eq i8 %code, 20
  br i1 %is.single, label %single, label %double
single:
  %narrow = fptrunc double %float to float
  store float %narrow, ptr %to
  br label %next
double:
  store double %float, ptr %to
  br label %next
next:
  %i.next = add i64 %i, 1
  br label %head
enqueue:
  %error = call ptr inttoptr (i64 {PyErr_Occurred} to ptr)()
  %sound = icmp eq ptr %error, null
  br i1 %sound, label %launch, label %wrong
launch:
  store i64 %bytes, ptr %size
  store ptr inttoptr (i64 1 to ptr), ptr %extra
  %e1 = getelementptr ptr, ptr %extra, i64 1
  store ptr %parameters, ptr %e1
  %e2 = getelementptr ptr, ptr %extra, i64 2
  store ptr inttoptr (i64 2 to ptr), ptr %e2
  %e3 = getelementptr ptr, ptr %extra, i64 3
  store ptr %size, ptr %e3
  %e4 = getelementptr ptr, ptr %extra, i64 4
  store ptr null, ptr %e4
  %thread = call ptr inttoptr (i64 {PyEval_SaveThread} to ptr)()
  %code.r = call i32 %call(ptr %config, ptr %function, ptr null, ptr %extra)
  call void inttoptr (i64 {PyEval_RestoreThread} to ptr)(ptr %thread)
  %code.w = zext i32 %code.r to i64
  %result = call ptr inttoptr (i64 {PyLong_FromLong} to ptr)(i64 %code.w)
  ret ptr %result
}}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

_PYTHON_FUNCTIONS = (
    "PyLong_AsVoidPtr", "PyLong_AsUnsignedLongLongMask", "PyFloat_AsDouble", "PyErr_Occurred", "PyEval_SaveThread",
    "PyEval_RestoreThread", "PyLong_FromLong",
)  # fmt: skip

CODES = {"x": 0, "b": 1, "B": 1, "h": 2, "H": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "f": 20, "d": 24, "T": 64}
"""`struct` codes as the machine code knows them: the size in bytes, plus 16 for floats; `x` is a value that is not passed, `T` the
address of a tensor map that is passed by value."""


class _MethodDef(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class _State(ctypes.Structure):
    """What the machine code reads of a kernel; `template` is a CUlaunchConfig without grid and stream."""

    _fields_ = [
        ("call", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("codes", ctypes.c_void_p),
        ("offsets", ctypes.c_void_p),
        ("template", ctypes.c_char * 56),
        ("small_grid", ctypes.c_void_p),
        ("most", ctypes.c_uint64),
        ("make", ctypes.c_void_p),
    ]


@functools.cache
def _machine_code() -> tuple[object, int]:
    """The execution engine (kept alive) and the address of `launch` in it."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    addresses = {
        name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _PYTHON_FUNCTIONS
    }
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    module = llvm.parse_assembly(_FUNCTION.format(**addresses))
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address("launch")


_MAKES = ctypes.PYFUNCTYPE(None)
"""Called with the interpreter's lock held."""


def _made_when_asked(state: _State, make: Callable[[], int]) -> Any:
    """What gives `state` the function for few blocks; the other one where it cannot be made."""

    def make_it() -> None:
        found = state.function
        try:
            found = make()
        except MinitritonError as error:
            warnings.warn(f"launches of few blocks take the kernel as it is for many: {error}", stacklevel=2)
        finally:
            state.small_grid = found

    return _MAKES(make_it)


class _StateAddress(int):
    """The address of a kernel's state, which it keeps alive; the built-in function holds it as its `self`."""

    kept: tuple[object, ...]


def native_launch(
    call: Any,
    function: int,
    codes: str,
    offsets: list[int],
    parameter_bytes: int,
    template: bytes,
    keep: object = None,
    small_grid: tuple[int | Callable[[], int], int] = (0, 0),
) -> Callable[..., int]:
    """The launch function of one kernel. `codes` are `struct` codes of its parameters, `offsets` their offsets in bytes;
    `call` is the driver's `cuLaunchKernelEx`; `template` is a CUlaunchConfig, and `keep` what it points at. `small_grid`: another
    function, and up to how many blocks it is launched in place of `function`; or what makes it when the first such launch comes."""
    _, address = _machine_code()
    code_bytes = (ctypes.c_uint8 * max(len(codes), 1))(*(CODES[c] for c in codes))
    offset_words = (ctypes.c_int64 * max(len(offsets), 1))(*offsets)
    state = _State(
        ctypes.cast(call, ctypes.c_void_p).value,
        function,
        len(codes),
        parameter_bytes,
        ctypes.addressof(code_bytes),
        ctypes.addressof(offset_words),
    )
    ctypes.memmove(ctypes.addressof(state) + _State.template.offset, template, 56)
    small_grid_function, state.most = small_grid
    if isinstance(small_grid_function, int):
        state.small_grid, made_later = small_grid_function, None
    else:
        made_later = _made_when_asked(state, small_grid_function)
        state.make = ctypes.cast(made_later, ctypes.c_void_p).value
    method = _MethodDef(b"launch", address, _METH_FASTCALL, b"launch(x, y, z, stream, *values) -> CUresult")
    handle = _StateAddress(ctypes.addressof(state))
    handle.kept = (state, code_bytes, offset_words, method, call, keep, made_later)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(method), handle, None)
