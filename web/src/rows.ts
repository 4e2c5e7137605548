// A difference as two texts of as many lines, filled up where the other side has more, and folded where both are alike.
import type { Shown } from "./pane";
import type { Row, State } from "./payload";

const CONTEXT = 3;

/** Lines of the state after that are shown though they are alike, with others around them; null: all are. */
export type Fold = ReadonlySet<number> | null;

const LEAST_IN_COMMON = 0.1;

/** Whether the two sides have enough in common to stand line by line: a step to another representation has not. */
export function areAlike(rows: readonly Row[]): boolean {
  const common = rows.filter(([, a, b]) => a !== null && b !== null).length;
  return common > LEAST_IN_COMMON * rows.length;
}

export function sideBySide(all: readonly Row[], before: State, after: State, fold: Fold): [Shown[], Shown[]] {
  const left: Shown[] = [];
  const right: Shown[] = [];
  for (const [rows, folded] of runs(all, fold)) {
    if (folded) {
      left.push(foldOf(rows));
      right.push(foldOf(rows));
      continue;
    }
    for (const [kind, a, b] of rows) {
      left.push(lineOf(before, a, a === null ? "filler" : kind));
      right.push(lineOf(after, b, b === null ? "filler" : kind));
    }
  }
  return [left, right];
}

/** Both sides in one column: what was removed over what came for it. Lines of the state before have negative numbers. */
export function inOneColumn(all: readonly Row[], before: State, after: State, fold: Fold): Shown[] {
  return runs(all, fold).flatMap(([rows, folded]): Shown[] =>
    folded ? [foldOf(rows)] : rows.flatMap(([kind, a, b]) => [
      // What moved is shown where it is now.
      ...(a !== null && (kind === "removed" || kind === "changed") ? [{ ...lineOf(before, a, kind === "changed" ? "old" : kind), number: oldNumber(a) }] : []),
      ...(b === null ? [] : [lineOf(after, b, kind)]),
    ]),
  );
}

/** The number of a line of the state before in one column; its own reverse. */
export function oldNumber(number: number): number {
  return -number - 1;
}

const foldOf = (rows: readonly Row[]): Shown => ({ text: `⋯ ${rows.length} lines alike`, number: null, kind: "fold" });

export function whole(state: State): Shown[] {
  return state.text.map((text, number) => ({ text, number, kind: "same" }));
}

function lineOf(state: State, at: number | null, kind: string): Shown {
  return at === null ? { text: "", number: null, kind } : { text: state.text[at] ?? "", number: at, kind };
}

/** Runs of rows, those to be folded, and those to be shown. */
function runs(rows: readonly Row[], fold: Fold): [Row[], boolean][] {
  const near = rows.map(() => fold === null);
  rows.forEach(([kind, , right], at) => {
    if (kind === "same" && !fold?.has(right ?? -1)) return;
    for (let k = Math.max(0, at - CONTEXT); k <= Math.min(rows.length - 1, at + CONTEXT); k++) near[k] = true;
  });
  const found: [Row[], boolean][] = [];
  rows.forEach((row, at) => {
    const folded = !near[at];
    const last = found.at(-1);
    if (last && last[1] === folded) last[0].push(row);
    else found.push([[row], folded]);
  });
  return found;
}
