"""What goes wrong in an interpreted kernel, with the location in the kernel's source.

In: an error raised inside the meaning of an op, which knows no location. Out: the same error at the op's location.
"""

from minitriton.errors import MinitritonError


class InterpreterError(MinitritonError):
    """A program did what no run on a GPU may do: an access outside every array, a failed assertion, an unknown op."""


class UnsupportedOpError(InterpreterError):
    """An op, or a form of it, that the interpreter cannot run: nothing is known of the program."""
