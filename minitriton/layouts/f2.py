"""Linear algebra over F2, the field of two elements, on Python integers.

A vector of bits is an integer; a matrix is the sequence of its columns. Addition is exclusive or.

    columns (0b01, 0b11):  maps x = 0b10 to 0b11, x = 0b11 to 0b10
"""

from collections.abc import Iterable, Sequence


def is_power_of_two(value: int) -> bool:
    """Whether `value` is 1, 2, 4, 8, ..."""
    return value > 0 and value & (value - 1) == 0


def log2(value: int) -> int:
    """The exponent of a power of two."""
    return value.bit_length() - 1


def rank(vectors: Iterable[int]) -> int:
    """The number of linearly independent vectors among `vectors`."""
    return len(echelon(vectors))


def echelon(vectors: Iterable[int]) -> list[int]:
    """A basis of the span of `vectors` in which no two vectors have the same highest bit."""
    basis: list[int] = []
    for vector in vectors:
        vector = reduce_by(basis, vector)
        if vector:
            basis.append(vector)
    return basis


def reduce_by(basis: Sequence[int], vector: int) -> int:
    """`vector` with every leading bit of `basis` (as `echelon` made it, in its order) cleared; 0 if it is in the span."""
    for b in basis:
        reduced = vector ^ b
        if reduced < vector:
            vector = reduced
    return vector


def apply(columns: Sequence[int], value: int) -> int:
    """The image of the bit vector `value` under the matrix with these columns."""
    result = 0
    for column in columns:
        if not value:
            break
        if value & 1:
            result ^= column
        value >>= 1
    return result


def transpose(columns: Sequence[int], num_rows: int) -> list[int]:
    """The rows of the matrix, each an integer whose bit `c` is the entry in column `c`."""
    rows = [0] * num_rows
    for c, column in enumerate(columns):
        while column:
            low = column & -column
            rows[low.bit_length() - 1] |= 1 << c
            column ^= low
    return rows


def reduced_rows(rows: Iterable[int]) -> list[int]:
    """The reduced row echelon form, pivots at the lowest set bit, sorted by pivot, zero rows dropped."""
    pivots: dict[int, int] = {}
    for row in rows:
        for low, other in pivots.items():
            if row & low:
                row ^= other
        if not row:
            continue
        low = row & -row
        for key, other in pivots.items():
            if other & low:
                pivots[key] = other ^ row
        pivots[low] = row
    return [pivots[low] for low in sorted(pivots)]


def solve(a_columns: Sequence[int], b_columns: Sequence[int], num_rows: int) -> list[int] | None:
    """The columns of X with `A X = B`, free variables zero; None if some column of B is not in the image of A."""
    num_a = len(a_columns)
    rows = reduced_rows(transpose([*a_columns, *b_columns], num_rows))
    solution = [0] * len(b_columns)
    for row in rows:
        low = row & -row
        pivot = low.bit_length() - 1
        if pivot >= num_a:
            return None
        rest = row >> num_a
        while rest:
            bit = rest & -rest
            solution[bit.bit_length() - 1] |= low
            rest ^= bit
    return solution


def span(vectors: Sequence[int]) -> list[int]:
    """Every combination of `vectors`: entry `i` is the image of `i` under the matrix with these columns."""
    values = [0]
    for vector in vectors:
        values += [value ^ vector for value in values]
    return values
