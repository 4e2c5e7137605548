// Finding what passes put in and took out, and which of a line's ops is the most expensive.
import type { Compile, Row, State } from "./payload";

/** A line that a pass put in (at the right) or took out (at the left), by its number in its state. */
export interface Hit {
  step: number;
  side: "left" | "right";
  line: number;
  /** The op that becomes the instruction looked for, where the line has that op and not its name. */
  becomes?: string;
}

/** The op of TTGIR by which a pass decides on an instruction, by how a name of the instruction begins, the longest first where several fit. */
const DECIDED: readonly (readonly [word: RegExp, op: RegExp])[] = [
  [/^(wgmma[._]?wait|warpgroup\.(depbar|wait))/, /ttng\.warp_group_dot_wait/],
  [/^([hiq]?gmma|wgmma)/, /ttng\.warp_group_dot\b/],
  [/^(tcgen05|utc\w*mma|umma)/, /ttng\.tc_gen5_mma\b/],
  [/^([hid]?mma|mfma|wmma|v_mfma|v_wmma|tensor.?core)/, /ttng\.(warp_group_dot|tc_gen5_mma)\b|tt\.dot\b(?=.*-> tensor<[^>]*#mma)/],
  [/^(cp\.async\.bulk|tma\b|utma|ublkcp)/, /ttng\.async_tma_\w+/],
  [/^(cp\.async|ldgsts)/, /ttg\.async_copy_global_to_local/],
  [/^(mbarrier|syncs)/, /ttng\.\w*barrier\w*/],
  [/^(bar\.|bar$|s_barrier|_*syncthreads)/, /ttg\.local_barrier|gpu\.barrier/],
];

/** Lines that passes put in or took out and that have `text`, or the op that becomes it, in the order of the passes. */
export function changedLines(compile: Compile, text: string): Hit[] {
  const wanted = text.toLowerCase();
  const op = DECIDED.find(([word]) => word.test(wanted))?.[1];
  const becomes = (line: string): string | undefined => (op ? op.exec(line)?.[0] : undefined);
  const has = (line: string): boolean => line.toLowerCase().includes(wanted) || becomes(line) !== undefined;
  const hit = (step: number, side: Hit["side"], line: number, text: string): Hit => {
    const name = text.toLowerCase().includes(wanted) ? undefined : becomes(text);
    return { step, side, line, ...(name ? { becomes: name } : {}) };
  };
  // A kernel may have the op from the start, as those in Gluon do.
  const first = (compile.states[compile.steps[0]!.state]?.text ?? []).flatMap((line, at) => (becomes(line) ? [hit(0, "right", at, line)] : []));
  return [...first, ...compile.steps.flatMap((step, at) => {
    const before = compile.states[compile.steps[Math.max(0, at - 1)]!.state]!;
    const after = compile.states[step.state]!;
    return step.rows.flatMap(([kind, left, right]: Row): Hit[] => {
      if (kind === "same" || kind === "moved") return [];
      const [was, is] = [left === null ? "" : before.text[left] ?? "", right === null ? "" : after.text[right] ?? ""];
      // What stays in a line that changed was neither put in nor taken out.
      if (has(was) === has(is)) return [];
      return [has(was) ? hit(at, "left", left!, was) : hit(at, "right", right!, is)];
    });
  })];
}

const EXPENSIVE: readonly RegExp[] = [
  /warp_group_dot\b|tt\.dot|wgmma\.mma|tcgen05\.mma|\bmma\b|mma\.sync|HGMMA|HMMA|\bIMMA/,
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
