"""Prints IR with the Triton wheel: reads paths of files from standard input, one a line, writes one JSON value a line.

The value is `[text, text with places]`, or null where the wheel refuses the file. Each file is handled in a process of its own,
since malformed IR may end it.
"""

import json
import os
import sys

from triton._C.libtriton import ir, nvidia


def printed(path: str) -> list[str]:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = ir.parse_mlir_module(path, context)
    return [module.str_nodebug(), str(module)]


def printed_in_child(path: str) -> str:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "w") as out:
            try:
                out.write(json.dumps(printed(path)))
            except BaseException:
                out.write("null")
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text or "null"


for line in sys.stdin:
    print(printed_in_child(line.strip()), flush=True)
