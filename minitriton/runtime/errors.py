"""The runtime's errors under the names that Triton programs catch."""

from minitriton.errors import AssemblerError, MinitritonError, OutOfResources
from minitriton.interpreter.errors import InterpreterError


class AutotunerError(MinitritonError):
    """No configuration is left to try."""

    def __str__(self) -> str:
        return f"Autotuner error: {super().__str__()}"


PTXASError = AssemblerError

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError"]
