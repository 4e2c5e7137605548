// What minitriton/explorer/payload.py writes: one compile.

export type Kind = "same" | "changed" | "moved" | "removed" | "added";
export type Row = [kind: Kind, left: number | null, right: number | null, other: number | null];

export interface State {
  level: string;
  ops: number | null;
  text: string[];
  op: number[];
  file: number[];
  line: number[];
  defines: Record<string, string[]>;
  uses: Record<string, string[]>;
}

export interface Step {
  name: string;
  text: string;
  doc: string;
  ms: number;
  state: number;
  changed: boolean;
  error: string | null;
  counts: Partial<Record<Kind, number>>;
  rows: Row[];
}

export interface Payload {
  kernel: string;
  arch: number;
  pipeline: string;
  files: string[];
  sources: Record<string, string>;
  states: State[];
  steps: Step[];
}

/** A place in the user's source: a file's number and a line from 1. */
export interface Place {
  file: number;
  line: number;
}

export function placeOf(state: State, at: number): Place | null {
  const file = state.file[at] ?? -1;
  return file < 0 ? null : { file, line: state.line[at] ?? 0 };
}

export function samePlace(a: Place | null, b: Place | null): boolean {
  return a !== null && b !== null && a.file === b.file && a.line === b.line;
}
