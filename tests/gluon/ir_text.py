"""What kernels become, checked to read and print again as it is."""

from __future__ import annotations

from xdsl.parser import Parser

from minitriton._filecheck import run_parser
from minitriton.dialects.context import make_context
from minitriton.dialects.text import print_module
from minitriton.runtime.gluon import GluonJITFunction
from minitriton.target import GPUTarget


def lines_of(kernel: GluonJITFunction, target: GPUTarget, *args: object, **options: object) -> list[str]:
    """The IR of a kernel."""
    text = run_parser(kernel, args, options, target=target).str_nodebug()
    read = Parser(make_context(), text).parse_module()
    read.verify()
    assert print_module(read) == text
    return text.splitlines()
