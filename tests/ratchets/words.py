"""The words that docs/glossary.md asks to avoid, as patterns, and where they stand.

    python tests/ratchets/words.py [PACKAGE | PAGE.md]      each place, the word, the line

A pattern finds the sense that is to be avoided, not the others: `Cartesian product`, `floating point` and the sum of numbers are fine.
"""

from __future__ import annotations

import functools
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

sys.path.insert(0, __file__.rpartition("/")[0])
from sources import Text, files, identifiers, pages, sources


@dataclass(frozen=True)
class Word:
    """`pattern` finds a word: in a sentence that has `near`, where it is given, and not in one that has `unless`; in `packages` only, where
    they are given."""

    pattern: str
    instead: str
    near: str = ""
    unless: str = ""
    packages: frozenset[str] = frozenset()
    only_messages: bool = False


_DOTS = r"\b(dots?|wgmma|mma|MMAs?|tl\.dot|tensor cores?|accumulat\w*|products?)\b"
_ARITHMETIC = r"\b(mul\w*|factors?|overflow\w*|quotients?|differences?|exact\w*|round\w*|fus\w+|exponents?|integers?)\b"
_SIZES = r"(dimensions|sizes|shape|strides|extents|factors|elements|numbers|bounds|bases|counts|lengths|divisors)"

WORDS = (
    Word(
        r"(?<!cartesian )(?<!inner )(?<!outer )(?<!kronecker )(?<!cross )(?<!matrix )(?<!itertools\.)(?<!\w\.)\bproducts?\b"
        rf"(?! of (the |its |all |their |two |both )*{_SIZES})(?!\()",
        "dot, matmul, MMA",
        unless=_ARITHMETIC,
    ),
    Word(r"\b(sums?|totals?)\b(?! of (two|all|both|the|its) )", "accumulator", near=_DOTS, unless=_ARITHMETIC),
    Word(r"\bbehind\b|\bin front of\b", "after, before"),
    Word(r"(?<!\bin )(?<!\btakes )(?<!\btake )(?<!take the )(?<!takes the )(?<!in its )(?<!\bto )(?<!^)\bplaces?\b(?! (a|the|it|them|each|buffers|shared)\b)",
         "location, index, offset, slot"),
    Word(r"\blies?\b(?! (between|within)\b)|\bside by side\b", "is K-major, is contiguous, is at"),
    Word(r"\bchang(es?|ed|ing) sides\b|\bturned\b(?! (on|off|into|out)\b)", "operands swapped, transposed"),
    Word(r"\brun(s|ning)? on(?=[.,;:)]|$| (while|until|when|after|behind|beside|into|past)\b)|\bon (its|their) way\b", "asynchronous, outstanding"),
    Word(r"\bruns? ahead\b|\bstart(s|ed)? early\b", "prefetched, pipelined"),
    Word(r"\bby parts\b|\bcuts?\b(?! off)|\bpieces?\b", "sliced, split, partial vector, tail"),
    Word(r"\bone text\b", "one inline-asm statement"),
    Word(r"\bcopies in turn\b|\brounds? of (a|the) ring\b|\bring's rounds?\b", "multi-buffered"),
    Word(r"\bhand(s|ed|ing)? (it |them |this |that |what it \w+ )?on\b", "forwards, propagates"),
    Word(r"\btold\b", "given, known, inferred from"),
    Word(r"\bdear(er|est)?\b|\bcheap to ask\b", "expensive"),
    Word(r"\b(is|are|was|were) worth\b", "ablation, contribution of a pass"),
    Word(
        r"(?<!\bpass )(?<!\bmemory )\borders\b(?! of magnitude)", "pass orders", packages=frozenset({"lab", "explorer", "fuzz"})
    ),
    Word(r"\bown pipelines?\b", "default pipeline"),
    Word(r"(?<!pareto )(?<!in )(?<!up )\bfronts?\b(?!([- ](door|end)))", "Pareto fronts"),
    Word(r"\bjudg(e|es|ed|ing|ement)\b|\bbench(es)?\b", "evaluated, evaluator, worker"),
    Word(
        r"(?<!floating )(?<!fixed )(?<!decimal )(?<!entry )(?<!binary )(?<!float )(?<!code )\bpoints?\b(?! (to|at|into)\b)",
        "configurations, candidates",
        packages=frozenset({"lab"}),
    ),
    Word(r"\b(is|are|has|have) no\b(?! (longer|more|less|attribute)\b)", "is not a, invalid, missing", only_messages=True),
    Word(r"\bkept\b", "cached, stored", near=r"\b(caches?|cached|disks?|in memory|files?|stores?|processes|start)\b"),
    Word(r"\bmend(s|ed|ing)?\b", "fixed, fixes"),
    Word(r"\bbeside\b", "next to, compared with, in addition to"),
    Word(r"\bwhich threads? holds?\b|\bthreads? holds? what\b", "layout, ownership of elements"),
    Word(r"\bthe way it goes\b|\bcomes? of (it|them|that|this)\b", "path, result"),
    Word(r"\bof which\b", "two sentences"),
)  # fmt: skip


_IN_NAMES = {
    "behind": "after", "beside": "next to, with", "dear": "expensive", "dearer": "expensive", "dearest": "most expensive",
    "judge": "evaluate", "judged": "evaluated", "judges": "evaluate", "lies": "is at", "mend": "fix", "mended": "fixed", "mends": "fix",
    "piece": "part, slice, fragment", "pieces": "parts, slices, fragments", "place": "location, index, offset, slot",
    "places": "locations, indices, offsets, slots", "told": "given, known", "turned": "transposed",
}  # fmt: skip
"""Words that no identifier has, whatever its case. Those with another sense that is fine (`product`, `sums`, `total`, `kept`) do not count."""

_VERBS = {"place", "PlaceSharedMemory", "place_shared_memory", "_place_arguments"}
_IN_PLACE = re.compile(r"in_?place", re.IGNORECASE)


def in_identifiers() -> Iterator[Found]:
    """The words in names that the package defines."""
    for file, (_, tree) in files().items():
        for name, line, is_function in identifiers(tree):
            if is_function and name in _VERBS:
                continue
            for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", _IN_PLACE.sub("", name)):
                if instead := _IN_NAMES.get(word.lower()):
                    yield Found(Text(file, line, name, False), word, instead, name)


@dataclass(frozen=True)
class Found:
    """A word where it should not be."""

    text: Text
    word: str
    instead: str
    sentence: str

    @property
    def package(self) -> str:
        """The package of its file, or the name of its page."""
        return self.text.file.split("/")[0].removesuffix(".py")


_NEVER = "(?!)"
_EACH = [tuple(re.compile(text, re.IGNORECASE) for text in (w.pattern, w.near, w.unless or _NEVER)) for w in WORDS]
_ANY = re.compile("|".join(f"(?:{w.pattern})" for w in WORDS), re.IGNORECASE)


def in_text(text: Text) -> Iterator[Found]:
    """The words of one text."""
    if not _ANY.search(text.text):
        return
    package = text.file.split("/")[0].removesuffix(".py")
    flat = re.sub(r"``?[^`]*``?", "`", " ".join(text.text.split()))
    for sentence in re.split(r"(?<=[.:;])\s", flat):
        for word, (pattern, near, unless) in zip(WORDS, _EACH, strict=True):
            if (word.packages and package not in word.packages) or (word.only_messages and not text.is_message):
                continue
            if near.search(sentence) and not unless.search(sentence):
                yield from (Found(text, m[0], word.instead, sentence) for m in pattern.finditer(sentence))


@functools.cache
def found() -> tuple[Found, ...]:
    """All of them, in the package and the pages, in prose and in names."""
    texts = chain(chain.from_iterable(source.texts for source in sources()), pages())
    return (*(each for text in texts for each in in_text(text)), *in_identifiers())


def counts() -> Counter[str]:
    """How many there are by package, and by page."""
    return Counter(each.package for each in found())


if __name__ == "__main__":
    for one in found():
        if not sys.argv[1:] or one.package in sys.argv[1:] or one.text.file in sys.argv[1:]:
            print(f"{one.text.file}:{one.text.line}: {one.word!r} ({one.instead}): {one.sentence}")
    print(counts().total(), dict(Counter(each.word.lower() for each in found()).most_common(40)), file=sys.stderr)
