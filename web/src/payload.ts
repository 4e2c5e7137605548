// What minitriton/explorer/payload.py, inspection.py and execution.py write, and what is read off it.

export type Kind = "same" | "changed" | "moved" | "removed" | "added";
export type Row = [kind: Kind, left: number | null, right: number | null, other: number | null];
export type Claim = "contiguity" | "divisibility" | "constancy";
export type FileLine = [file: number, line: number];

export interface State {
  level: string;
  ops: number | null;
  text: string[];
  op: number[];
  file: number[];
  line: number[];
  defines: Record<string, string[]>;
  uses: Record<string, string[]>;
  number?: number[];
}

/** What packing.py makes of states and rows: lines that states name by their index, rows in runs. */
interface PackedState {
  level: string;
  ops: number | null;
  at: number[];
  number?: number[];
}
type Lines = Omit<State, "level" | "ops" | "number">;
type RowRun = [kind: Kind, left: number | null, right: number | null, other: number | null, count: number];
export type Packed = Omit<Compile, "states" | "steps"> & { lines: Lines; states: PackedState[]; steps: (Omit<Step, "rows"> & { rows: RowRun[] })[] };

/** As it is shown: `sm_90`, `gfx942`. */
export function archName(arch: number | string): string {
  return typeof arch === "number" ? `sm_${arch}` : arch;
}

export function unpacked({ lines, ...packed }: Packed): Compile {
  return { ...packed, states: packed.states.map((one) => stateOf(one, lines)), steps: packed.steps.map((one) => ({ ...one, rows: one.rows.flatMap(rowsOf) })) };
}

function stateOf({ at, ...state }: PackedState, lines: Lines): State {
  const found: State = { ...state, text: at.map((one) => lines.text[one]!), op: at.map((one) => lines.op[one]!), file: at.map((one) => lines.file[one]!), line: at.map((one) => lines.line[one]!), defines: {}, uses: {} };
  at.forEach((one, number) => {
    const [defines, uses] = [lines.defines[one], lines.uses[one]];
    if (defines) found.defines[number] = defines;
    if (uses) found.uses[number] = uses;
  });
  return found;
}

function rowsOf([kind, left, right, other, count]: RowRun): Row[] {
  const on = (line: number | null, by: number): number | null => (line === null ? null : line + by);
  return Array.from({ length: count }, (_, by) => [kind, on(left, by), on(right, by), other]);
}

export interface Step {
  name: string;
  text: string;
  doc: string;
  ms: number;
  state: number;
  changed: boolean;
  error: string | null;
  edit: boolean;
  counts: Partial<Record<Kind, number>>;
  rows: Row[];
}

/** What is asked: minitriton/explorer/compile_request.py. */
export interface CompileRequest {
  source: string;
  signature?: string;
  arch?: number | string;
  options?: string[];
  pipeline?: string;
  edits?: [kind: string, text: string][];
  kernel_text?: string;
  anyway?: boolean;
  states?: { after: number; text: string }[];
  [more: string]: unknown;
}

export interface Compile {
  kernel: string;
  arch: number | string;
  pipeline: string;
  own: string;
  files: string[];
  sources: Record<string, string>;
  states: State[];
  steps: Step[];
  declared?: Declared[];
  /** What each op of its TTIR and TTGIR does, by name. */
  docs?: Record<string, string>;
  asked?: CompileRequest;
  code?: string;
  command?: string;
  /** The signature, where nobody gave one. */
  made_up?: string;
  /** Files that it was made of: questions about it are refused once one has changed. */
  stamp?: Record<string, string>;
  /** When the compile ended, in seconds since 1970, and how many it took. */
  took?: { ended: number; seconds: number };
  options?: Record<string, number>;
  /** The one step whose states, before and after it, have lines by now; the others have them once `rest` is there. */
  shown?: number;
  /** The same compile with all lines and differences. */
  rest?: Promise<Compile>;
  /** Whether there is nothing of it yet but the text of the kernel's file. */
  isPreview?: boolean;
  /** Whether it was compiled earlier and is compiled again meanwhile, to be compared. */
  stored?: boolean;
  label?: string;
  kept?: Kept;
  /** Of what Triton made, the compile of the same program. */
  of?: Compile;
}

/** A layout of a Gluon kernel at a line that writes it. */
export interface Declared extends Place {
  text: string;
  bits: number;
  layout: Layout;
}

/** The layouts that the chosen line of a compile writes. */
export function declaredAt(compile: Compile, place: Place | null): Declared[] {
  return place === null ? [] : (compile.declared ?? []).filter((one) => one.file === place.file && one.line === place.line);
}

/** Answers that a page without a server has within it. */
export interface Kept {
  inspect: Record<string, Inspection>;
  types: TypeRow[];
  layouts: Layout[];
  run?: Run | Failure;
  sass?: Sass | Failure;
  check?: Verdicts | Failure;
  buffers?: Buffers | Failure;
  patterns?: Record<string, Pattern>;
  timelines?: Record<string, Timeline | Failure>;
  tiles?: Tiles | Failure;
  /** What tensors of its last state hold, deflated. */
  held?: string;
  /** What Triton makes of the program, a compile or a failure, deflated. */
  triton?: string;
}

export interface Failure {
  error: Problem;
}

export interface Problem {
  message: string;
  text: string;
  help?: string | null;
  file?: string | null;
  line?: number | null;
  /** The text of that file. */
  source?: string | null;
  /** Whether it is the order of passes that is refused: they can be run anyway. */
  contract?: boolean;
}

export interface TypeRow {
  text: string;
  shape?: number[];
  bits?: number;
  layout?: number;
}

export interface Layout {
  encoding: string;
  kind: "distributed" | "shared";
  shape: number[];
  bases: Record<string, number[][]>;
  padding?: [interval: number, put: number][];
}

export interface ValueFact {
  type: number;
  origin: string;
  line?: FileLine | null;
  rule?: string;
  claims?: Record<Claim, number[]>;
  limits?: Record<Claim, ([name: string, claim: Claim, axis: number] | null)[]>;
  constant?: number;
  range?: [number, number];
}

export interface Access {
  op: number;
  name: string;
  pointer: string;
  /** The parameter that the pointers begin with. */
  array: string;
  mask: string | null;
  bytes: number;
  width: number;
  most: number;
  limit: string;
  reason: string;
  claim: Claim | null;
  axis: number;
  chain: string[];
  hint: string;
}

export interface SharedCost {
  instruction: string;
  instructions: number;
  wavefronts: number;
  conflicts: number;
  bytes: number;
}

export interface Movement {
  name: string;
  from: number | null;
  to: number | null;
  bits: number;
  cost: { kind: string; text: string; shuffles?: number; scratch_bytes?: number; loads?: SharedCost[]; stores?: SharedCost[] };
}

/** What is in flight after an op: how many groups of dots and of copies, and what they are. */
export interface InFlight {
  dots: number;
  copies: number;
  text: string;
}

export interface Inspection {
  values: Record<string, ValueFact>;
  accesses: Record<string, Access>;
  movements: Record<string, Movement>;
  in_flight?: Record<string, InFlight>;
  /** Pairs of ops that memory keeps in order, each with why. */
  order?: [before: number, after: number, why: string][];
  types: TypeRow[];
  layouts: Layout[];
}

export interface Counts {
  instructions?: number;
  requests?: number;
  sectors?: number;
  sectors_per_request?: number;
  bytes?: number;
  wasted?: number;
  shared_requests?: number;
  wavefronts?: number;
  conflicts?: number;
  barriers?: number;
  mix?: Record<string, number>;
  findings?: string[];
}

export interface ArraySummary {
  elements: number;
  first: (number | string)[];
  digest: string;
  apart?: Apart;
}

/** The tile sizes of a kernel by the model: minitriton/explorer/tiles.py. */
export interface Tiles {
  title: string;
  said: string[];
  head: string[];
  rows: (number | string)[][];
  dropped_head: string[];
  dropped: (number | string)[][];
  own: { row: number | null; text: string };
  reasons: { what: string; count: number }[];
  fit: number;
  configs: Record<string, number>[];
  grids: string[];
  sizes: string;
  items: Record<string, string>;
  asked: CompileRequest;
}

/** How far an array is from that of another run: minitriton/explorer/array_distance.py. */
export interface Apart {
  differing: number;
  sizes?: number[];
  not_finite?: number;
  beyond?: number;
  larger?: number;
  first?: number[];
  at?: number[];
  now?: number | string;
  before?: number | string;
  absolute?: number;
  relative?: number;
  ulps?: number;
}

export interface Run {
  grid: number[];
  seconds: number;
  total: Counts;
  sources: (Counts & { file: number; line: number })[];
  ptx: Record<string, Counts>;
  output: string[];
  /** Why what was found may come from made-up inputs. */
  doubt: string;
  arrays: Record<string, ArraySummary>;
}

export interface Resources {
  registers: number;
  spilled_bytes: number;
  shared_bytes: number;
  blocks: number;
  warps: number;
  occupancy: number;
}

/** What a tensor holds: minitriton/explorer/values.py. */
export interface Values {
  name: string;
  type: string;
  array: string;
  shape: number[];
  index: number[];
  run: number;
  runs: number;
  programs: number;
  rows: number;
  data: (number | string)[];
  least: number;
  most: number;
  mean: number;
  strange: number;
  /** Every so many rows and columns one is here. */
  every?: [rows: number, columns: number];
  /** In how many runs it is made, where only the first is here. */
  of?: number;
}

/** What a file holds: tensors of the last TTGIR, and the kernel's arrays before a run and after it. */
export interface Held {
  values: Record<string, Values>;
  arrays: Record<string, [before: Values, after: Values]>;
}

/** Which value, of which program, in which of its runs, at which index of the first axes. */
export interface ValuesAsked {
  name: string;
  program: number;
  run: number;
  index: number[];
}

export type WarpKind = "issue" | "copies" | "dots" | "barrier" | "loads" | "shared" | "other";

/** The warps of one CTA by a model of time: minitriton/explorer/timeline.py. */
export interface Timeline {
  cycles: number;
  data: string;
  warps: [start: number, end: number, kind: WarpKind, line: number][][];
  flights: { kind: "copies" | "stores" | "loads" | "dots"; start: number; end: number; amount: number; line: number }[];
  lines: [ptx: number, file: number, line: number][];
  shares: Partial<Record<WarpKind, number>>;
  busy: { tensor?: number; pipe?: number };
  waits: [kind: WarpKind, file: number, line: number, cycles: number][];
  is_partial: boolean;
}

export interface Sass {
  resources: Resources;
  state: State | null;
  why?: string;
}

export interface Verdict {
  name: string;
  verdict: string;
  ok: boolean;
  why: string;
  /** Passes whose work it lacks, where its contract is broken. */
  lacks?: string[];
}

export interface Verdicts {
  steps: (Verdict | null)[];
  kernel?: string[];
}

export interface Buffer {
  name: string;
  kind: string;
  offset: number;
  size: number;
  live: [number, number];
  line: FileLine | null;
  type: string;
}

export interface Buffers {
  total: number;
  ops: number;
  places: (FileLine | null)[];
  buffers: Buffer[];
}

export interface Pattern {
  name: string;
  array: string;
  elements: number;
  bytes: number;
  line: FileLine | null;
  programs: { program: number[]; offsets: (number | null)[]; warps: number[] }[];
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

/** What is shown of a kernel while it is compiled: its file. */
export function preview(asked: CompileRequest, text: string, rest: Promise<Compile>): Compile {
  const [path = "", kernel = ""] = asked.source.split(":");
  const state: State = { level: "ttir", ops: null, text: [], op: [], file: [], line: [], defines: {}, uses: {} };
  const step: Step = { name: "frontend", text: "compiling…", doc: "The kernel is being compiled: its passes are listed as soon as they have run.", ms: 0, state: 0, changed: true, error: null, edit: false, counts: {}, rows: [] };
  return { kernel: kernel || baseName(path), arch: asked.arch ?? "…", pipeline: "", own: "", files: [path], sources: { 0: text }, states: [state], steps: [step], asked, shown: 0, isPreview: true, rest };
}

/** Whether two compiles have the same states. */
export function areSame(one: Compile, other: Compile): boolean {
  const texts = (of: Compile): string => JSON.stringify([of.steps.map((step) => [step.text, step.state, step.error]), of.states.map((state) => [state.text, state.line]), of.sources]);
  return texts(one) === texts(other);
}

export function baseName(path: string | undefined): string {
  return path?.split("/").at(-1) ?? "";
}

/** Whether the lines of a state have not come yet. */
export function isToCome(compile: Compile, state: number): boolean {
  return compile.shown !== undefined && compile.states[state]?.text.length === 0;
}

/** Whether the analyses know something of a state. */
export function hasFacts(state: State): boolean {
  return state.level === "ttir" || state.level === "ttgir";
}

export function samePlace(a: Place | null, b: Place | null): boolean {
  return a !== null && b !== null && a.file === b.file && a.line === b.line;
}

export function isFailure(found: object): found is Failure {
  return "error" in found;
}

/** The step that left a state. */
export function stepOf(compile: Compile, state: number): number {
  return compile.steps.findIndex((one) => one.state === state);
}

/** What stands for a state in a list. */
export function titleOf(compile: Compile, state: number): string {
  const found = compile.states[state];
  const step = compile.steps[stepOf(compile, state)];
  return step ? `${found?.level ?? ""}: after ${step.name}` : (found?.level ?? "");
}

/** What became of a configuration of a sweep: "right", "wrong", ..., why, and its numbers by name. */
export interface Evaluated {
  result: string;
  reason: string;
  numbers: Record<string, number>;
}
