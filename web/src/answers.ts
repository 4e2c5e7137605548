// Where answers come from: the server that serves the page, or the page itself.
import type { Apart, CompileRequest, Buffers, Compile, Evaluated, Failure, Held, Inspection, Kept, Layout, Packed, Pattern, Problem, Run, Sass, Tiles, Timeline, Values, ValuesAsked, Verdicts } from "./payload";
import { isFailure, unpacked } from "./payload";

/** What went wrong, as the compiler says it. */
export class Trouble extends Error {
  readonly problem: Problem;

  constructor(given: Problem) {
    super(given.message);
    this.problem = { ...given, text: withoutScratch(given.text) };
  }
}

/** A text that names files, in which a text that was edited on the page is called as its file is: not as the copy that the server made. */
export function withoutScratch(text: string): string {
  return text.replaceAll(/\/[^\s:]*\/minitriton-explorer-\w+\/[0-9a-f]{16}\//g, "");
}

export interface Answers {
  /** Whether something can be compiled. */
  readonly live: boolean;
  /** `again`: from the file as it is now; `opens`: with the launch of the kernel's own file, where there is one. */
  compile(asked: CompileRequest, how?: { again?: boolean; opens?: boolean }): Promise<Compile>;
  /** The state that a link holds, which the server must have made. */
  compileLink(code: string): Promise<Compile>;
  /** The same with the lines of one step at first, `rest` has them all. */
  compileLooking(asked: CompileRequest, at: { text: string; near: number }): Promise<Compile>;
  inspect(compile: Compile, step: number): Promise<Inspection>;
  run(compile: Compile, against?: Compile): Promise<Run>;
  sass(compile: Compile): Promise<Sass>;
  check(compile: Compile): Promise<Verdicts>;
  buffers(compile: Compile): Promise<Buffers>;
  pattern(compile: Compile, step: number, op: number): Promise<Pattern>;
  /** Of the warps of the first CTA; its data is in L2 or beyond. */
  timeline(compile: Compile, data: string): Promise<Timeline>;
  /** The tile sizes that there could be, for sizes as `m=4096,n=4096`, or those of the launch. */
  tiles(compile: Compile, sizes: string): Promise<Tiles>;
  values(compile: Compile, step: number, asked: ValuesAsked): Promise<Values>;
  /** What is there of values without a server. */
  held(compile: Compile): Promise<Held | null>;
  triton(compile: Compile): Promise<Compile>;
  /** How far the arrays after a run of what Triton makes of a compile's program are from those of the compile, by name. */
  apart(compile: Compile): Promise<Record<string, Apart>>;
  layout(encodings: readonly string[], shape: readonly number[], bits: number, arch: number | string): Promise<Drawn>;
  lessons(): Promise<Lessons>;
  start(): Promise<{ groups: { title: string; kernels: Offered[] }[] }>;
  /** What the program is run with, and who said so. */
  inputs(compile: Compile): Promise<Inputs>;
  exercise(name: string, asked: CompileRequest, text: string): Promise<ExerciseResult>;
  /** What a sweep of a program may vary, and the configurations that there are for values by name. */
  sweep(compile: Compile, vary: Record<string, string[]>, orders: number): Promise<Sweep>;
  /** The text of a file that shows compiles without a server. */
  file(shown: CompileRequest[]): Promise<string>;
  /** What becomes of a configuration: of ours, or by Triton's passes. */
  evaluate(asked: CompileRequest, by?: string): Promise<Evaluated>;
}

export interface Sweep {
  own: Record<string, string>;
  rows: Offered[];
}

/** A kernel that can be opened. */
export interface Offered {
  title: string;
  about: string;
  asked: CompileRequest;
}

/** A parameter with the number it is given, or how many elements its array has. */
export interface Input {
  name: string;
  type: string;
  is_array: boolean;
  value: string;
  whose: string;
}

export interface Inputs {
  rows: Input[];
  grid: number[];
  seed: number;
  doubt: string;
}

export interface Stop {
  title: string;
  text: string;
  step: string;
  level: string;
  op: string;
  line: string;
  tab: string;
}

export interface Walk {
  name: string;
  title: string;
  asked: CompileRequest;
  stops: Stop[];
}

export interface Exercise {
  name: string;
  title: string;
  grade: number;
  task: string;
  hint: string;
  /** Why the answer works. */
  explains: string;
  wants: string;
  asked: CompileRequest;
  /** A pipeline that is refused, to be mended. */
  pipeline: string | null;
  /** In a file: answers to choose from, checked on the emulator when it was written. */
  recorded?: { title: string; ok: boolean; said: string[] }[];
}

export interface Lessons {
  tour: Walk[];
  exercises: Exercise[];
}

/** Layouts of encodings that are being written, and what the way from the first to the second costs. */
export interface Drawn {
  layouts: Layout[];
  cost: string | null;
}

export interface ExerciseResult {
  ok: boolean;
  said: string[];
}

/** A question that is being answered: its service, and what gives it up. */
interface Running {
  name: string;
  since: number;
  controller: AbortController;
}

const TOKEN = "minitriton-token";

/** Answers of the server; what was answered once about a compile is remembered. */
export class Server implements Answers {
  readonly live = true;
  /** Called when a question is asked or answered. */
  onRunning: () => void = () => undefined;
  private token = "";
  private readonly page = crypto.randomUUID();
  private readonly running = new Set<Running>();
  private known = new WeakMap<Compile, Map<string, Promise<unknown>>>();

  /** Gets the token, by the code of the address (which then leaves it) or as this browser has it, and what to show first: with the text of its file. */
  async begin(): Promise<{ asked: CompileRequest[]; texts: (string | null)[] }> {
    const given = new URLSearchParams(location.hash.slice(1));
    const code = given.get("code");
    given.delete("code");
    if (code) history.replaceState(null, "", `#${given}`);
    // The storage of this origin, port included: another page of this browser finds it there.
    this.token = localStorage.getItem(TOKEN) ?? "";
    const session = await this.post<{ token: string; asked: CompileRequest[]; texts: (string | null)[] }>("session", { code });
    this.token = session.token;
    localStorage.setItem(TOKEN, session.token);
    return session;
  }

  /** The services that somebody waits for, the one that was asked first at the front. */
  get waiting(): readonly { name: string; since: number }[] {
    return [...this.running].filter((one) => !BACKGROUND.has(one.name));
  }

  /** Gives up all questions that somebody waits for. */
  cancel(): void {
    for (const one of this.running) if (!BACKGROUND.has(one.name)) one.controller.abort();
  }

  compile = async (asked: CompileRequest, how: { again?: boolean; opens?: boolean } = {}): Promise<Compile> => {
    // Who answers about values compiles it meanwhile; what is wrong with it the compile itself says.
    if (!how.opens) void this.ask("inspect", { asked, step: 0 }).catch(() => undefined);
    return unpacked(await this.ask<Packed>("compile", { asked, ...how }));
  };
  /** The same, compiled in any case, by who answers about values. */
  states = async (asked: CompileRequest): Promise<Compile> => unpacked(await this.ask<Packed>("states", { asked, opens: true }));
  compileLink = async (code: string): Promise<Compile> => unpacked(await this.ask<Packed>("compile", { link: code }));
  compileLooking = async (asked: CompileRequest, at: { text: string; near: number }): Promise<Compile> => {
    // Two processes, side by side: one prints what is looked at and has answered when the other still prints.
    const rest = this.ask<Packed>("states", { asked }).then(unpacked);
    rest.catch(() => undefined);
    const made = unpacked(await this.ask<Packed>("compile", { asked, look: [at.text, at.near] }));
    if (made.shown !== undefined) made.rest = rest;
    return made;
  };
  inspect = (compile: Compile, step: number): Promise<Inspection> => this.once(compile, "inspect", { step });
  sass = (compile: Compile): Promise<Sass> => this.once(compile, "sass", {});
  check = (compile: Compile): Promise<Verdicts> => this.once(compile, "check", {});
  buffers = (compile: Compile): Promise<Buffers> => this.once(compile, "buffers", {});
  triton = (compile: Compile): Promise<Compile> => this.once(compile, "triton", {}, (found: Packed) => unpacked(found));
  tiles = (compile: Compile, sizes: string): Promise<Tiles> => this.once(compile, "tiles", { sizes });
  apart = (compile: Compile): Promise<Record<string, Apart>> => this.once(compile, "apart", {}, (found: { distances: Record<string, Apart> }) => found.distances);
  pattern = (compile: Compile, step: number, op: number): Promise<Pattern> => this.once(compile, "pattern", { step, op });
  timeline = (compile: Compile, data: string): Promise<Timeline> => (compile.kept ? kept(compile, (of) => of.timelines?.[data]) : this.once(compile, "timeline", { data }));
  values = (compile: Compile, step: number, asked: ValuesAsked): Promise<Values> => this.once(compile, "values", { step, ...asked });
  held = (): Promise<null> => Promise.resolve(null);
  run = (compile: Compile, against?: Compile): Promise<Run> => this.once(compile, "run", against?.asked ? { against: against.asked } : {});
  layout = (encodings: readonly string[], shape: readonly number[], bits: number, arch: number | string): Promise<Drawn> => this.ask("layout", { encodings, shape, bits, arch });
  lessons = (): Promise<Lessons> => this.ask("lessons", {});
  start = (): ReturnType<Answers["start"]> => this.ask("start", {});
  inputs = (compile: Compile): Promise<Inputs> => this.once(compile, "inputs", {});
  exercise = (name: string, asked: CompileRequest, text: string): Promise<ExerciseResult> => this.ask("exercise", { name, asked, text });
  sweep = (compile: Compile, vary: Record<string, string[]>, orders: number): Promise<Sweep> => this.ask("sweep", { asked: compile.asked, vary, orders });
  file = async (shown: CompileRequest[]): Promise<string> => (await this.ask<{ html: string }>("file", { shown })).html;
  evaluate = (asked: CompileRequest, by = ""): Promise<Evaluated> => this.ask("evaluate", { asked, by });

  private once<T, A = T>(compile: Compile, name: string, given: object, made = (found: A): T => found as unknown as T): Promise<T> {
    // What Triton compiled comes with what is known of it.
    if (compile.kept && !compile.asked) return kept(compile, (of) => of[name as "run"] as unknown as (T & object) | undefined) as Promise<T>;
    const answers = this.known.get(compile) ?? new Map<string, Promise<unknown>>();
    this.known.set(compile, answers);
    const key = `${name} ${JSON.stringify(given)}`;
    const known = answers.get(key);
    if (known) return known as Promise<T>;
    const begun = compile.isPreview ? compile.rest : undefined;
    const found = Promise.resolve(begun).then(() => this.ask<A>(name, { asked: compile.asked, stamp: compile.stamp ?? null, ...given })).then(made);
    answers.set(key, found);
    // What failed may succeed when it is asked for again: a worker that died is followed by another.
    found.catch(() => answers.delete(key));
    return found;
  }

  private async ask<T>(name: string, given: object): Promise<T> {
    const running = { name, since: performance.now(), controller: new AbortController() };
    this.running.add(running);
    this.onRunning();
    try {
      const answer = await this.post<{ ok: T } | Failure>(name, given, running.controller.signal);
      if ("error" in answer) throw new Trouble(answer.error);
      return answer.ok;
    } finally {
      this.running.delete(running);
      this.onRunning();
    }
  }

  private async post<T>(name: string, given: object, signal: AbortSignal | null = null): Promise<T> {
    let response: Response;
    try {
      response = await fetch(`/api/${name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Token": this.token, "X-Page": this.page },
        body: JSON.stringify(given),
        signal,
      });
    } catch {
      const text = signal?.aborted ? "cancelled" : "the server does not answer: start `minitriton explore` again and open the address that it prints";
      throw new Trouble({ message: text, text });
    }
    if (!response.ok) {
      const text = (await response.text()).trim();
      throw new Trouble({ message: text, text });
    }
    return (await response.json()) as T;
  }
}

/** Services that nobody waits for. */
const BACKGROUND = new Set(["check", "inspect", "states", "lessons", "inputs"]);

const NEEDS_SERVER = "this page is a file: what compiles or runs something anew needs the server, `minitriton explore` without --html";

/** The tour's kernels, with their answers, next to the lessons. */
type KeptLessons = Lessons & { compiles: Compile[] };

/** Answers that a file holds. */
export class File implements Answers {
  readonly live = false;
  private opened: Promise<KeptLessons> | null = null;
  private readonly heldOf = new WeakMap<Compile, Promise<Held | null>>();
  private readonly byTriton = new WeakMap<Compile, Promise<Compile>>();

  constructor(private readonly deflatedLessons: string | undefined) {}

  /** Of what the tour opens only. */
  compile = async (asked: CompileRequest): Promise<Compile> => {
    const { compiles } = await this.lessons();
    const found = compiles.find((one) => one.asked?.source === asked.source && one.asked.signature === asked.signature);
    return found ?? refused(NEEDS_SERVER);
  };
  compileLink = (): Promise<Compile> => refused(NEEDS_SERVER);
  compileLooking = (asked: CompileRequest): Promise<Compile> => this.compile(asked);
  lessons = (): Promise<KeptLessons> => (this.opened ??= this.inflatedLessons());
  layout = (): Promise<Drawn> => refused(NEEDS_SERVER);
  exercise = (): Promise<ExerciseResult> => refused(NEEDS_SERVER);
  start = (): ReturnType<Answers["start"]> => refused(NEEDS_SERVER);
  sweep = (): Promise<Sweep> => refused(NEEDS_SERVER);
  evaluate = (): Promise<Evaluated> => refused(NEEDS_SERVER);
  file = (): Promise<string> => refused(NEEDS_SERVER);
  inputs = (): Promise<Inputs> => refused(NEEDS_SERVER);
  run = (compile: Compile): Promise<Run> => kept(compile, (of) => of.run);
  /** They are in Triton's run. */
  apart = (): Promise<Record<string, Apart>> => Promise.resolve({});
  sass = (compile: Compile): Promise<Sass> => kept(compile, (of) => of.sass);
  check = (compile: Compile): Promise<Verdicts> => kept(compile, (of) => of.check);
  buffers = (compile: Compile): Promise<Buffers> => kept(compile, (of) => of.buffers);
  pattern = (compile: Compile, step: number, op: number): Promise<Pattern> => kept(compile, (of) => of.patterns?.[`${step}:${op}`]);

  timeline = (compile: Compile, data: string): Promise<Timeline> => kept(compile, (of) => of.timelines?.[data]);
  tiles = (compile: Compile): Promise<Tiles> => kept(compile, (of) => of.tiles);

  values = async (compile: Compile, _step: number, { name }: ValuesAsked): Promise<Values> => {
    const found = (await this.held(compile))?.values[name];
    return found ?? refused(`${NEEDS_SERVER}; it holds what tensors of the last state of TTGIR hold: choose one of those`);
  };

  held = (compile: Compile): Promise<Held | null> => {
    const text = compile.kept?.held;
    if (!text) return Promise.resolve(null);
    const found = this.heldOf.get(compile) ?? inflated<Held | Failure>(text).then((one) => (isFailure(one) ? null : one));
    this.heldOf.set(compile, found);
    return found;
  };

  private async inflatedLessons(): Promise<KeptLessons> {
    if (!this.deflatedLessons) return refused("this file was written without the tour");
    const found = await inflated<Lessons & { compiles: Packed[] }>(this.deflatedLessons);
    return { ...found, compiles: found.compiles.map(unpacked) };
  }

  triton(compile: Compile): Promise<Compile> {
    const text = compile.kept?.triton;
    if (!text) return refused("this file was written without Triton's side of this kernel");
    const found = this.byTriton.get(compile) ?? inflated<Packed | Failure>(text).then((one) => (isFailure(one) ? Promise.reject(new Trouble(one.error)) : unpacked(one)));
    this.byTriton.set(compile, found);
    return found;
  }

  inspect(compile: Compile, step: number): Promise<Inspection> {
    const found = compile.kept;
    if (!found) return refused("this file was written without the facts about values");
    const values: Inspection["values"] = {};
    let last: Inspection | undefined;
    for (let at = 0; at <= step; at++) {
      const one = found.inspect[String(at)];
      if (!one) continue;
      Object.assign(values, one.values);
      last = one;
    }
    return Promise.resolve({ values, accesses: last?.accesses ?? {}, movements: last?.movements ?? {}, in_flight: last?.in_flight ?? {}, order: last?.order ?? [], types: found.types, layouts: found.layouts });
  }
}

/** What minitriton/explorer/packing.py deflated. */
export async function inflated<T>(text: string): Promise<T> {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text()) as T;
}

function refused<T>(text: string): Promise<T> {
  return Promise.reject(new Trouble({ message: text, text }));
}

function kept<T extends object>(compile: Compile, pick: (of: Kept) => T | Failure | undefined): Promise<T> {
  const found = compile.kept && pick(compile.kept);
  if (!found) return refused("this file was written without it");
  return isFailure(found) ? Promise.reject(new Trouble(found.error)) : Promise.resolve(found);
}
