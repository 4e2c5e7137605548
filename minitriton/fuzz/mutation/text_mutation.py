"""Makes text wrong, or different, the way people and experiments do: a character, a token, a number, a line, a name.

In: a text and a source of randomness. Out: the text after one to three mutations. Nothing is known here of what the text means.

    %2 = arith.addi %0, %1 : i32      →   %2 = arith.addi %0, %1 : i33
                                      →   %2 = arith.addi %0, %0 : i32
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

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
