// Finding what passes put in and took out, and which of a line's ops is the most expensive.
import type { Compile, Row, State } from "./payload";

/** A line that a pass put in (at the right) or took out (at the left), by its number in its state. */
export interface Hit {
  step: number;
  side: "left" | "right";
  line: number;
}

/** Lines that passes put in or took out and that have `text`, in the order of the passes. */
export function changedLines(compile: Compile, text: string): Hit[] {
  const wanted = text.toLowerCase();
  return compile.steps.flatMap((step, at) => {
    const before = compile.states[compile.steps[Math.max(0, at - 1)]!.state]!;
    const after = compile.states[step.state]!;
    return step.rows.flatMap((row) => hitsOf(row, at, before, after, wanted));
  });
}

function hitsOf([kind, left, right]: Row, step: number, before: State, after: State, wanted: string): Hit[] {
  if (kind === "same" || kind === "moved") return [];
  const has = (state: State, line: number | null): boolean => line !== null && (state.text[line] ?? "").toLowerCase().includes(wanted);
  const [was, is] = [has(before, left), has(after, right)];
  // What stays in a line that changed was neither put in nor taken out.
  if (was && is) return [];
  return was ? [{ step, side: "left", line: left! }] : is ? [{ step, side: "right", line: right! }] : [];
}

const EXPENSIVE: readonly RegExp[] = [
  /warp_group_dot|tt\.dot|wgmma|tcgen05\.mma|\bmma\b|mma\.sync|HGMMA|HMMA|\bIMMA/,
  /tt\.(descriptor_)?(load|store|gather|scatter)|async_copy|async_tma|tt\.atomic|(ld|st|red|atom)\.\w*\.?global|cp\.async|\b(LDG|STG|UBLKCP|LDGSTS|RED|ATOMG)\b/,
  /convert_layout|local_(load|store|alloc)|tt\.(reduce|scan|sort|histogram)|(ld|st)\.shared|[ls]tmatrix|shfl|\b(LDS|STS|LDSM|STSM|SHFL)\b/,
  /barrier|\bbar\.|wait|fence|\b(BAR|SYNCS|WARPSYNC)\b/,
  /math\.|div|rem|sqrt|ex2|lg2|rcp|\bMUFU\b/,
];

/** Line numbers of a state, the most expensive op first: by what they executed, where that is known, or else by what they are. */
export function byCost(state: State, lines: readonly number[], executed: (line: number) => number): number[] {
  const rank = (line: number): number => {
    const found = EXPENSIVE.findIndex((one) => one.test(state.text[line] ?? ""));
    return found < 0 ? EXPENSIVE.length : found;
  };
  return [...lines].sort((a, b) => rank(a) - rank(b) || executed(b) - executed(a) || a - b);
}
