"""Command lines to be run on wrong input, each the same for the same seed and number on every machine.

In: a kind (of text, or of what is typed), a seed, a number, a folder to write files into. Out: a `Mutant`: the command line.

    mutant("ttgir", 1, 17, folder)      →   compile FOLDER/k.ttgir --emit llir        (the file mutated)
    mutant("signature", 1, 3, folder)   →   compile mutated_programs.py:matmul --signature '*fp16:16,,*fp16:16,...'

A text gets one to three mutations, the way people and experiments make them: a character, a token, a number, a line, a name. Nothing is known of what it means.

    %2 = arith.addi %0, %1 : i32      →   %2 = arith.addi %0, %1 : i33
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from minitriton.as_triton.compiler import compile
from minitriton.commands.signature import ast_source
from minitriton.lab.corpus.case import KERNELS, load_file
from minitriton.target import GPUTarget

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@#!^$.]?[A-Za-z_][\w.$]*|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])-?\d+")
_NAME = re.compile(r"[%@#][\w.$]+")
_TYPE = re.compile(r"\b(?:i1|i8|i16|i32|i64|f16|bf16|f32|f64|fp32|fp16|b32|b64|u64|s32|pred)\b")

_CHARACTERS = "\"'`\\{}[]()<>%@#!^$.,:;=-+*/|&~? \n\t\0\x0b019azAZ_äé→²"
_NUMBERS = ["0", "-1", "1", "2", "3", "7", "31", "33", "-5", "100000", "2147483648", "4294967296", str(2**63), str(2**64), "9" * 40, "1" * 5000]  # fmt: skip
_TYPES = ["i0", "i1", "i7", "i8", "i32", "i64", "i128", "i16777216", "i99999999999", "f16", "bf16", "f32", "f64", "f8E5M2", "f8E4M3FN", "index", "none", "si32", "b1", "b8", "b32", "b64", "u8", "s64", "pred", "f32x2", "!tt.ptr<f32>", "vector<4xi32>", "*fp16", "fp8e5"]  # fmt: skip
_NAMES = ['@"a b"', "@a-b", "@a/b", "@ä", '@"../../x"', '@""', "@" + "n" * 3000, '@"\\00"', '@"a\\22b"', "%undefined", "%0#7", "%x:2", "#no_such", "@llvm.trap", "%"]  # fmt: skip


def mutated(text: str, random: Random) -> str:
    """`text` after one mutation, rarely two or three."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(MUTATIONS)(text, random)
    return text


def change_character(text: str, random: Random) -> str:
    """One character is another."""
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(_CHARACTERS) + text[at + 1 :]


def insert_character(text: str, random: Random) -> str:
    """One character more."""
    at = random.randrange(len(text) + 1)
    return text[:at] + random.choice(_CHARACTERS) + text[at:]


def drop_character(text: str, random: Random) -> str:
    """One character less."""
    at = random.randrange(len(text) + 1)
    return text[:at] + text[at + 1 :]


def truncate(text: str, random: Random) -> str:
    """The text ends early."""
    return text[: random.randrange(len(text) + 1)]


def change_number(text: str, random: Random) -> str:
    """A number is a neighbouring one, its double, or one of those that programs trip over."""

    def other(old: str) -> str:
        # Python reads no more than 4300 digits.
        value = int(old) if len(old) < 4000 else 0
        return random.choice([*_NUMBERS, str(value + 1), str(value - 1), str(2 * value), str(value // 2), "-" + old])

    return _replace_one(_NUMBER, text, random, other)


def change_type(text: str, random: Random) -> str:
    """A type is another one."""
    return _replace_one(_TYPE, text, random, lambda _: random.choice(_TYPES))


def change_name(text: str, random: Random) -> str:
    """A name is another one of the text, or one that needs care."""
    names = _NAME.findall(text)
    return _replace_one(_NAME, text, random, lambda _: random.choice(names if random.random() < 0.7 else _NAMES))


def change_name_everywhere(text: str, random: Random) -> str:
    """A symbol has another name, wherever it stands."""
    names = re.findall(r"@[\w.$]+", text)
    return text.replace(random.choice(names), random.choice(_NAMES)) if names else change_name(text, random)


def drop_token(text: str, random: Random) -> str:
    """A token is missing."""
    tokens = _TOKEN.findall(text)
    if tokens:
        del tokens[random.randrange(len(tokens))]
    return "".join(tokens)


def repeat_token(text: str, random: Random) -> str:
    """A token stands twice, or very often."""
    tokens = _TOKEN.findall(text)
    if tokens:
        at = random.randrange(len(tokens))
        tokens.insert(at, tokens[at] * random.choice((1, 1, 1, 2000)))
    return "".join(tokens)


def swap_tokens(text: str, random: Random) -> str:
    """Two tokens are swapped."""
    tokens = _TOKEN.findall(text)
    if tokens:
        a, b = random.randrange(len(tokens)), random.randrange(len(tokens))
        tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def copy_token(text: str, random: Random) -> str:
    """A token is one from elsewhere in the text."""
    tokens = _TOKEN.findall(text)
    if tokens:
        tokens[random.randrange(len(tokens))] = random.choice(tokens)
    return "".join(tokens)


def nest(text: str, random: Random) -> str:
    """Brackets within brackets, or a string or a comment that does not end."""
    at = random.randrange(len(text) + 1)
    inserted = random.choice("([{<") * random.choice((1, 3, 400, 3000)) if random.random() < 0.7 else '"' + "a" * 60
    return text[:at] + inserted + text[at:]


def drop_line(text: str, random: Random) -> str:
    """A line is missing."""
    lines = text.split("\n")
    del lines[random.randrange(len(lines))]
    return "\n".join(lines)


def repeat_line(text: str, random: Random) -> str:
    """A line stands twice."""
    lines = text.split("\n")
    at = random.randrange(len(lines))
    return "\n".join([*lines[: at + 1], *lines[at:]])


def move_line(text: str, random: Random) -> str:
    """A line stands elsewhere."""
    lines = text.split("\n")
    lines.insert(random.randrange(len(lines)), lines.pop(random.randrange(len(lines))))
    return "\n".join(lines)


def _replace_one(pattern: re.Pattern[str], text: str, random: Random, other: Callable[[str], str]) -> str:
    found = list(pattern.finditer(text))
    if not found:
        return change_character(text, random)
    match = random.choice(found)
    return text[: match.start()] + other(match[0]) + text[match.end() :]


MUTATIONS: tuple[Callable[[str, Random], str], ...] = (
    change_character, insert_character, drop_character, truncate, change_number, change_number, change_type, change_name,
    change_name_everywhere, drop_token, repeat_token, swap_tokens, copy_token, nest, drop_line, repeat_line, move_line,
)  # fmt: skip


TEXTS = ("ttir", "ttgir", "llir", "ptx")
KINDS = (*TEXTS, "command", "pipeline", "signature")
FOLDER = "DIR"
"""Stands in a command line for the folder that the mutant may write to."""


@dataclass(frozen=True)
class Mutant:
    """What is run: `tool` is `minitriton` or `minitriton-opt`; `path` the file of mutated text, if there is one."""

    kind: str
    tool: str
    arguments: tuple[str, ...]
    path: Path | None = None


def mutant(kind: str, seed: int, number: int, folder: Path) -> Mutant:
    """Mutant `number` of a kind; a text is written below `folder`."""
    random = Random(f"{kind} {seed} {number}")
    program = random.randrange(len(PROGRAMS))
    if kind in TEXTS:
        return _of_text(kind, program, random, folder)
    return {"command": _of_command, "pipeline": _of_pipeline, "signature": _of_signature}[kind](program, random, folder)


def _of_text(kind: str, program: int, random: Random, folder: Path) -> Mutant:
    path = folder / f"k.{kind}"
    path.write_bytes(mutated(text_of(program, kind), random).encode(errors="surrogatepass"))
    arch = str(PROGRAMS[program].arch)
    if kind in ("ttir", "ttgir") and random.random() < 0.2:
        passes = random.sample(("-canonicalize", "-cse", "-triton-licm", "-symbol-dce", "-inline", "-sccp"), 2)
        return Mutant(kind, "minitriton-opt", (str(path), *passes, "--verify-each"), path)
    if kind == "llir" or random.random() < (0.8 if kind != "ptx" else 0.1):
        emitted = random.choice(TEXTS[TEXTS.index(kind) :])
        more = ("--verify-each",) if random.random() < 0.2 else ()
        return Mutant(kind, "minitriton", ("compile", str(path), "--arch", arch, "--emit", emitted, *more), path)
    # Text of the later stages does not say what its pointers point at.
    types = ("--signature", PROGRAMS[program].types) if kind == "ptx" else ()
    reproducers = ("--reproducers", str(folder / "reproducers"))
    return Mutant(kind, "minitriton", ("check", str(path), *types, "--arch", arch, *reproducers), path)


def _compile(program: Program, *more: str) -> list[str]:
    options = [part for option in program.options for part in ("--option", option)]
    return ["compile", program.reference, "--arch", str(program.arch), *options, *more]


def _of_signature(program: int, random: Random, folder: Path) -> Mutant:
    chosen = PROGRAMS[program]
    # `=` before a word that begins with a dash, as a shell's user must write it.
    arguments = _compile(chosen, f"--signature={mutated(chosen.signature, random)}", "--emit", random.choice(TEXTS))
    return Mutant("signature", "minitriton", tuple(arguments))


def _of_pipeline(program: int, random: Random, folder: Path) -> Mutant:
    chosen, text = PROGRAMS[program], text_of(program, "pipeline")
    if random.random() < 0.6:
        text = _passes_elsewhere(text, random)
    if random.random() < 0.6:
        text = mutated(text, random)
    verify = ("--verify-each",) if random.random() < 0.5 else ()
    arguments = _compile(chosen, "--signature", chosen.signature, f"--pipeline={text}", "--emit", "ptx", *verify)
    return Mutant("pipeline", "minitriton", tuple(arguments))


def _passes_elsewhere(text: str, random: Random) -> str:
    """A pass left out, run twice, or run elsewhere."""
    passes = text.split(",")
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(passes))
        moved = passes[at] if random.random() < 0.3 else passes.pop(at)
        if random.random() < 0.7:
            passes.insert(random.randrange(len(passes) + 1), moved)
    return ",".join(passes)


_COMMANDS: tuple[tuple[str, ...], ...] = (
    ("minitriton", "compile", "KERNEL", "--signature", "SIGNATURE", "--emit", "ttgir", "--arch", "90", "--option", "num_warps=4"),
    ("minitriton", "compile", "KERNEL", "--signature", "SIGNATURE", "--option", "num_stages=2", "--timings", "--statistics"),
    ("minitriton", "compile", "KERNEL", "--signature", "SIGNATURE", "--option", "maxnreg=128", "--emit", "ptx"),
    ("minitriton", "compile", "KERNEL", "--signature", "SIGNATURE", "--option", "extern_libs={'a': 'b'}"),
    ("minitriton", "compile", "KERNEL", "--signature", "SIGNATURE", "--option", "without=minitriton", "--print-after-each"),
    ("minitriton", "compile", "DIR/k.ttir", "--emit", "ptx", "--verify-each", "-o", "DIR/out.ptx"),
    ("minitriton", "check", "KERNEL", "--signature", "SIGNATURE", "--grid", "2", "--arg", "n=100", "--size", "x=4000"),
    ("minitriton", "check", "DIR/k.ttir", "--grid", "1,1,1", "--seed", "3", "--reproducers", "DIR/r"),
    ("minitriton", "passes", "tritongpu-coalesce"),
    ("minitriton", "cache", "size"),
    ("minitriton", "cache", "path"),
    ("minitriton", "--version"),
    ("minitriton-opt", "DIR/k.ttir", "-canonicalize", "-convert-triton-to-tritongpu=target=cuda:90 num-warps=4", "-o", "DIR/out"),
    ("minitriton-opt", "DIR/k.ttir", "--pass-pipeline=builtin.module(inline,cse{})", "-split-input-file", "--mlir-timing"),
    ("minitriton-opt", "DIR/k.ttir", "-triton-loop-unroll", "--reproducer=DIR/r.mlir", "--verify-each"),
)  # fmt: skip
_FIXED = ("-o", "--reproducers", "--out", "--load")
"""Options whose values stay as they are: nothing is written, and no code run, outside of the folder."""


def _of_command(program: int, random: Random, folder: Path) -> Mutant:
    tool, *words = random.choice(_COMMANDS)
    (folder / "k.ttir").write_text(text_of(program, "ttir"), "utf-8")
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(len(words) + 1)
        action = random.choice(("drop", "repeat", "mutate", "mutate", "mutate", "swap"))
        if at == len(words) or action == "swap":
            random.shuffle(words)
        elif action == "drop":
            del words[at]
        elif action == "repeat":
            words.insert(at, words[at])
        elif words[at] not in ("KERNEL", "SIGNATURE") and not _is_location(words, at):
            words[at] = mutated(words[at], random)
    names = {"KERNEL": PROGRAMS[program].reference, "SIGNATURE": PROGRAMS[program].signature}
    arguments = [names.get(word, word).replace(FOLDER, str(folder)) for word in words]
    # A word with a null character cannot be given to a program.
    return Mutant("command", tool, tuple(word.replace("\0", "0") for word in arguments if not _runs_long(word)))


def _is_location(words: list[str], at: int) -> bool:
    return FOLDER in words[at] or (at > 0 and words[at - 1] in _FIXED)


def _runs_long(word: str) -> bool:
    """Thousands of kernels to fuzz, or of programs to run, are no wrong input: they take the time that they take."""
    return word.isdigit() and int(word[:9]) > 2000


# The programs whose texts are mutated: the kernels of `minitriton_kernels/mutated.py`, which between them have every kind of op and instruction.
#
# text_of(3, "ttgir")    →   the TTGIR of the fourth of them

MUTATED = KERNELS / "mutated.py"


@dataclass(frozen=True)
class Program:
    """A kernel with its signature (as `minitriton compile` takes it), its architecture and options."""

    kernel: str
    signature: str
    arch: int = 90
    options: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """The kernel as the command line names it."""
        return f"{MUTATED}:{self.kernel}"

    @property
    def types(self) -> str:
        """The runtime part of the signature: what `minitriton check` takes for IR text."""
        return ",".join(part for part in self.signature.split(",") if "=" not in part)


PROGRAMS = (
    Program("masked_sum", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=256"),
    Program("matmul", "*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,N=32,STEP=32"),
    Program("matmul", "*fp16:16,*fp16:16,*fp16:16,i32:16,M=32,N=32,STEP=16", arch=80, options=("num_warps=2",)),
    Program("scanned", "*i32:16,*i32:16,i32,N=64", options=("num_warps=2",)),
    Program("transposed", "*fp32:16,*fp32:16,i32:16,M=32,N=16", options=("num_warps=1",)),
    Program("with_descriptor", "*fp32:16,*fp32:16,i32,i32:16,TILE=16"),
    Program("transposed", "*fp16,*fp16,i64,M=4,N=16", arch=75, options=("num_warps=1",)),
)


@functools.cache
def text_of(number: int, stage: str) -> str:
    """The text of program `number` at a stage; `pipeline` is the text of its passes."""
    program = PROGRAMS[number]
    options: dict[str, object] = {
        name: int(value) for name, _, value in (option.partition("=") for option in program.options)
    }
    source = ast_source(getattr(load_file(MUTATED, "minitriton"), program.kernel), program.signature)
    compiled = compile(source, GPUTarget("cuda", program.arch, 32), options, assemble=False)
    return compiled.metadata.pipeline if stage == "pipeline" else str(compiled.asm[stage])
