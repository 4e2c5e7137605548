// Any two states side by side: ops of one compile by their identity, the rest by its text; as difference.py does for a pass.
import type { Row, State } from "./payload";

/** Rows of two states; `related` tells that numbers of ops mean the same in both. */
export function compare(left: State, right: State, related: boolean): Row[] {
  const pairs = related ? pairsByOp(left, right) : new Map<number, number>();
  const standing = longestIncreasing(pairs);
  const moved = new Map([...pairs].filter(([a]) => !standing.has(a)));
  matchBetween(left, right, standing, moved);
  const back = new Map([...moved].map(([a, b]) => [b, a]));
  const rows: Row[] = [];
  const names = new Names();
  const isSame = (a: string, b: string): boolean => a === b || (!related && names.agree(a, b));
  let i = 0;
  let j = 0;
  const ends: [number, number][] = [...standing].sort((a, b) => a[0] - b[0]);
  for (const [a, b] of [...ends, [left.text.length, right.text.length] as [number, number]]) {
    for (; i < a; i++) rows.push([moved.has(i) ? "moved" : "removed", i, null, moved.get(i) ?? null]);
    for (; j < b; j++) rows.push([back.has(j) ? "moved" : "added", null, j, back.get(j) ?? null]);
    if (a < left.text.length) rows.push([isSame(left.text[a]!, right.text[b]!) ? "same" : "changed", a, b, null]);
    i = a + 1;
    j = b + 1;
  }
  return rows;
}

function pairsByOp(left: State, right: State): Map<number, number> {
  const byOp = new Map<number, number>();
  right.op.forEach((op, at) => {
    if (op) byOp.set(op, at);
  });
  const pairs = new Map<number, number>();
  left.op.forEach((op, at) => {
    const found = op ? byOp.get(op) : undefined;
    if (found !== undefined) pairs.set(at, found);
  });
  return pairs;
}

/** The most pairs that keep their order (patience sorting). */
function longestIncreasing(pairs: Map<number, number>): Map<number, number> {
  const tails: number[] = [];
  const ends: number[] = [];
  const back = new Map<number, number | undefined>();
  for (const a of [...pairs.keys()].sort((x, y) => x - y)) {
    const b = pairs.get(a)!;
    let low = 0;
    for (let high = tails.length; low < high; ) {
      const middle = (low + high) >> 1;
      if (tails[middle]! < b) low = middle + 1;
      else high = middle;
    }
    back.set(a, low ? ends[low - 1] : undefined);
    tails[low] = b;
    ends[low] = a;
  }
  const standing = new Map<number, number>();
  for (let a = ends.at(-1); a !== undefined; a = back.get(a)) standing.set(a, pairs.get(a)!);
  return standing;
}

function matchBetween(left: State, right: State, standing: Map<number, number>, moved: Map<number, number>): void {
  const taken = new Set(moved.values());
  let i = 0;
  let j = 0;
  const found: [number, number][] = [];
  for (const [a, b] of [...standing, [left.text.length, right.text.length] as [number, number]].sort((x, y) => x[0] - y[0])) {
    const freeLeft = range(i, a).filter((at) => !moved.has(at));
    const freeRight = range(j, b).filter((at) => !taken.has(at));
    found.push(...alike(left, right, freeLeft, freeRight));
    i = a + 1;
    j = b + 1;
  }
  for (const [a, b] of found) standing.set(a, b);
}

const range = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at);

/** Lines of equal text, then lines of equal op between those; values' names do not count. */
function alike(left: State, right: State, a: number[], b: number[]): [number, number][] {
  const exact = common(a.map((at) => bare(left.text[at]!)), b.map((at) => bare(right.text[at]!)));
  const pairs: [number, number][] = [];
  let i = 0;
  let j = 0;
  for (const [x, y] of [...exact, [a.length, b.length] as [number, number]]) {
    const names = common(a.slice(i, x).map((at) => name(left.text[at]!)), b.slice(j, y).map((at) => name(right.text[at]!)));
    for (const [k, l] of names) pairs.push([a[i + k]!, b[j + l]!]);
    if (x < a.length) pairs.push([a[x]!, b[y]!]);
    i = x + 1;
    j = y + 1;
  }
  return pairs;
}

const VALUE = /%[\w#]+(:\d+)?/g;

/** What two compiles call the same values, learned line by line: lines that differ in nothing but such names are the same. */
class Names {
  private readonly there = new Map<string, string>();
  private readonly back = new Map<string, string>();

  agree(left: string, right: string): boolean {
    if (bare(left) !== bare(right)) return false;
    const [a, b] = [left.match(VALUE) ?? [], right.match(VALUE) ?? []];
    if (a.some((one, at) => (this.there.get(one) ?? b[at]) !== b[at] || (this.back.get(b[at]!) ?? one) !== one)) return false;
    a.forEach((one, at) => {
      this.there.set(one, b[at]!);
      this.back.set(b[at]!, one);
    });
    return true;
  }
}

const bare = (text: string): string => text.trim().replace(VALUE, "%");
const name = (text: string): string => (text.split(" = ").at(-1)?.trim().split(/[\s(]/)[0] ?? "") || text.trim();

const MOST_CELLS = 4e6;

/** The longest common subsequence of two lists of texts, as pairs of indices. */
function common(a: string[], b: string[]): [number, number][] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const pairs: [number, number][] = range(0, start).map((at) => [at, at]);
  const [n, m] = [a.length - start - end, b.length - start - end];
  if (n * m <= MOST_CELLS && n && m) {
    const width = m + 1;
    const length = new Uint16Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        length[i * width + j] =
          a[start + i] === b[start + j] ? length[(i + 1) * width + j + 1]! + 1 : Math.max(length[(i + 1) * width + j]!, length[i * width + j + 1]!);
      }
    }
    for (let i = 0, j = 0; i < n && j < m; ) {
      if (a[start + i] === b[start + j]) pairs.push([start + i++, start + j++]);
      else if (length[(i + 1) * width + j]! >= length[i * width + j + 1]!) i++;
      else j++;
    }
  }
  for (let at = end; at > 0; at--) pairs.push([a.length - at, b.length - at]);
  return pairs;
}
