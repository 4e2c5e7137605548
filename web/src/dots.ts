// Which dot of the kernel's source an op or instruction of the tensor cores is of.
import { placeOf, type Compile, type Place, type State } from "./payload";

/** Ops and instructions that multiply tiles, at every level, and the waits for them. */
const MULTIPLIES = /\btt\.dot(_scaled)?\b|\bwarp_group_dot\b|\btc_gen5_mma(_scaled)?\b|wgmma\.mma_async|\bmma\.sync|tcgen05\.mma|\bv_s?w?mfmac?\w*|\bv_w?mma\w*|\bamdg?\.\w*mfma\w*|\b[HIQD]G?MMA\b/;
const WAITS = /\bwarp_group_dot_wait\b|wgmma\.wait_group|WARPGROUP\.DEPBAR/;

/** The lines of source that have a dot, in their order, by file and line. */
const known = new WeakMap<State, ReadonlyMap<string, number>>();

function dotsOf(compile: Compile): ReadonlyMap<string, number> {
  const first = compile.states[compile.steps[0]?.state ?? 0];
  if (!first) return new Map();
  let found = known.get(first);
  if (!found) {
    const places = first.text.flatMap((text, at) => (MULTIPLIES.test(text) ? placeOf(first, at) ?? [] : []));
    const lines = [...new Map(places.map((one) => [keyOf(one), one])).values()].sort((a, b) => a.file - b.file || a.line - b.line);
    known.set(first, (found = new Map(lines.map((one, at) => [keyOf(one), at + 1]))));
  }
  return found;
}

const keyOf = (place: Place): string => `${place.file}:${place.line}`;

/** "dot 2", or "wait, dot 2", for a line of a state of a compile; empty where it is none, or the kernel has one dot only. */
export function dotNote(compile: Compile, state: State, at: number): string {
  const text = state.text[at] ?? "";
  const waits = WAITS.test(text);
  if (!waits && !MULTIPLIES.test(text)) return "";
  const number = numberOf(compile, placeOf(state, at));
  return number ? `${waits ? "wait, " : ""}dot ${number}` : "";
}

/** Whether the kernel has several dots, so that it matters which. */
export function hasDots(compile: Compile): boolean {
  return dotsOf(compile).size > 1;
}

/** The same for a line of the source. */
export function numberOf(compile: Compile, place: Place | null): number | null {
  const dots = dotsOf(compile);
  return dots.size > 1 && place ? dots.get(keyOf(place)) ?? null : null;
}

/** "Dot 1 of 2, line 19: `scores = tl.dot(q, k)`" for a line that multiplies tiles, or waits for that; null for others. */
export function dotSentence(compile: Compile, text: string, place: Place | null): string | null {
  if (place === null || !(MULTIPLIES.test(text) || WAITS.test(text))) return null;
  const dots = dotsOf(compile);
  const number = dots.get(keyOf(place));
  if (number === undefined) return null;
  const source = (compile.sources[String(place.file)] ?? "").split("\n")[place.line - 1]?.trim() ?? "";
  const which = dots.size > 1 ? `Dot ${number} of ${dots.size}` : "The only dot";
  return `${WAITS.test(text) ? "Waits for: " : ""}${which}, line ${place.line}${source ? `: \`${source}\`` : ""}`;
}
