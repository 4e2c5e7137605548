// A state as a graph: its ops, nested as their regions are, what each takes from which, and what is drawn of it when chains and regions are folded.
import type { State } from "./payload";

/** An op: the line that it begins on, and the ops of its regions. */
export interface Op {
  line: number;
  number: number;
  name: string;
  text: string;
  parent: Op | null;
  children: Op[];
  /** Names of its results; those that its regions begin with are given by its head. */
  results: string[];
  inner: string[];
  uses: string[];
}

/** What is drawn as one node: an op, one with the cheap ops that only it takes from, a folded region, or the head of an open one. */
export interface Node {
  id: string;
  op: Op;
  /** The ops that it stands for, itself among them. */
  ops: Op[];
  kind: Kind;
  /** The region whose box it is in. */
  box: string | null;
  /** Whether it stands for more than it shows: "region" or "chain", to be opened; "open": the head of an open region. */
  fold: "" | "region" | "chain" | "open";
}

export interface Edge {
  from: string;
  to: string;
  kind: "data" | "order" | "again";
  /** Values, or why. */
  says: string[];
}

export interface Drawn {
  nodes: Node[];
  edges: Edge[];
  /** Open regions by the id of their box: the op, and the box that it is in. */
  boxes: { id: string; op: Op; box: string | null }[];
  /** The node that stands for an op, by the op's number. */
  nodeOf: Map<number, string>;
}

export type Kind = "dot" | "global" | "shared" | "exchange" | "wait" | "region" | "other";

const KINDS: readonly (readonly [Kind, RegExp])[] = [
  ["dot", /warp_group_dot$|tt\.dot|mma$|tc_gen5/],
  ["wait", /barrier|wait|fence|commit/],
  ["global", /tt\.(load|store|atomic_\w+)$|descriptor_|tma|async_copy|bulk/],
  ["shared", /local_(load|store|alloc|dealloc)|memdesc/],
  ["exchange", /convert_layout|tt\.(reduce|scan|sort|histogram|gather|trans|cat|join|split)/],
];
const CHEAP = /^(arith|math)\.|^tt\.(splat|expand_dims|broadcast|addptr|bitcast|make_range|reshape|int_to_ptr|ptr_to_int|fp_to_fp|precise_\w+|mulhiui|clampf|elementwise\w*|extern_elementwise)$|^ttg\.memdesc_/;
const NAME = /^\s*(?:%[^=]*= )?"?((?:[a-z_]+\.)+[a-z_0-9]+)/;
const ENDS = /(^|\.)(yield|return|reduce\.return|scan\.return|condition|warp_yield)$/;

/** The ops of a state, by its lines; the module and constants are left out. */
export function opsOf(state: State): Op[] {
  const roots: Op[] = [];
  const open: { op: Op; indent: number }[] = [];
  state.text.forEach((text, line) => {
    const number = state.op[line]!;
    const indent = text.length - text.trimStart().length;
    const name = NAME.exec(text)?.[1];
    if (!number || name === undefined || name === "builtin.module" || text.startsWith("module")) return;
    while (open.length && open.at(-1)!.indent >= indent) open.pop();
    const parent = open.at(-1)?.op ?? null;
    const own = /^\s*%([\w.]+)/.exec(text)?.[1];
    const defined = state.defines[line] ?? [];
    const isResult = (one: string): boolean => one.split("#")[0] === own || text.trimStart().startsWith(`%${one}`);
    const op: Op = { line, number, name, text: text.trim(), parent, children: [], results: defined.filter(isResult), inner: defined.filter((one) => !isResult(one)), uses: state.uses[line] ?? [] };
    if (parent) parent.children.push(op);
    else roots.push(op);
    open.push({ op, indent });
  });
  return roots;
}

export function kindOf(op: Op): Kind {
  return op.children.length ? (op.name === "tt.reduce" || op.name === "tt.scan" ? "exchange" : "region") : (KINDS.find(([, found]) => found.test(op.name))?.[0] ?? "other");
}

const isConstant = (op: Op): boolean => op.name === "arith.constant";

/** Whether an op computes a number that all threads have alike: an index, a condition. */
const isScalar = (op: Op): boolean => !op.children.length && /^arith\.|^tt\.get_(program_id|num_programs)$/.test(op.name) && /^(i\d+|index)$/.test(typeOf(op));

/** All ops below, and the op itself. */
export function within(op: Op): Op[] {
  return [op, ...op.children.flatMap(within)];
}

const isView = (op: Op): boolean => /^ttg\.memdesc_/.test(op.name);

/** Whether cheap ops are folded, and whether scalars and views of buffers are drawn. */
export interface Detail {
  folds: boolean;
  scalars: boolean;
}

/** Ops whose bodies say nothing that they do not. */
const SMALL = /^tt\.(reduce|scan|map_elementwise)$/;

/** Whether an op's regions are open: as somebody chose, or else all but the bodies of reductions. */
function isOpen(op: Op, chosen: ReadonlyMap<number, boolean>): boolean {
  return op.children.length > 0 && (chosen.get(op.number) ?? !SMALL.test(op.name));
}

/** What is drawn of `roots`: `chosen` says which regions and chains, by the number of their op, were opened or folded. */
export function drawn(roots: readonly Op[], order: readonly (readonly [number, number, string])[], chosen: ReadonlyMap<number, boolean>, { folds, scalars }: Detail): Drawn {
  const isLeftOut = (op: Op): boolean => isConstant(op) || (!scalars && (isScalar(op) || isView(op)));
  const all = roots.flatMap(within);
  const makers = new Map<string, { op: Op; isInner: boolean }>();
  for (const op of all) {
    for (const name of op.results) makers.set(name, { op, isInner: false });
    for (const name of op.inner) makers.set(name, { op, isInner: true });
  }
  const users = new Map<Op, Op[]>();
  for (const op of all) for (const name of op.uses) {
    const made = makers.get(name);
    if (made && !made.isInner) users.set(made.op, [...(users.get(made.op) ?? []), op]);
  }
  const result: Drawn = { nodes: [], edges: [], boxes: [], nodeOf: new Map() };
  const ends = new Map<Op, string[]>();

  const add = (op: Op, ops: Op[], box: string | null, fold: Node["fold"]): void => {
    const id = `n${op.line}`;
    result.nodes.push({ id, op, ops, kind: kindOf(op), box, fold });
    for (const one of ops) result.nodeOf.set(one.number, id);
  };
  const addAll = (ops: readonly Op[], box: string | null): void => {
    const roots = folds ? chains(ops, users, chosen) : new Map<Op, Op>();
    const members = new Map<Op, Op[]>();
    for (const op of ops) {
      const root = roots.get(op) ?? op;
      members.set(root, [...(members.get(root) ?? []), op]);
    }
    for (const op of ops) {
      if (isLeftOut(op) || (roots.get(op) ?? op) !== op) continue;
      const inside = members.get(op)!.filter((one) => !isLeftOut(one));
      if (!isOpen(op, chosen)) {
        const folded = inside.flatMap(within);
        add(op, folded, box, op.children.length ? "region" : inside.length > 1 ? "chain" : "");
        continue;
      }
      const id = `b${op.line}`;
      result.boxes.push({ id, op, box });
      add(op, inside, id, "open");
      addAll(op.children, id);
      ends.set(op, op.children.filter((one) => ENDS.test(one.name)).map((one) => `n${one.line}`));
    }
  };
  addAll(roots, null);

  const edges = new Map<string, Edge>();
  const connect = (from: string | undefined, to: string | undefined, kind: Edge["kind"], says: string): void => {
    if (from === undefined || to === undefined || from === to) return;
    const key = `${kind} ${from} ${to}`;
    const known = edges.get(key);
    if (!known) edges.set(key, { from, to, kind, says: [says] });
    else if (!known.says.includes(says)) known.says.push(says);
  };
  for (const op of all) for (const name of op.uses) {
    let made = makers.get(name);
    while (made && !scalars && isView(made.op)) made = makers.get(made.op.uses[0] ?? "");
    // What everything takes from says nothing: the parameters.
    if (!made || isLeftOut(made.op) || isLeftOut(op) || made.op.name === "tt.func") continue;
    const froms = made.isInner ? [result.nodeOf.get(made.op.number)] : ends.get(made.op) ?? [result.nodeOf.get(made.op.number)];
    for (const from of froms.length ? froms : [result.nodeOf.get(made.op.number)]) connect(from, result.nodeOf.get(op.number), "data", `%${name}`);
  }
  const byNumber = new Map(all.map((op) => [op.number, op]));
  for (const [before, after, why] of order) {
    const tail = byNumber.get(before);
    const from = (tail && ends.get(tail)?.[0]) ?? result.nodeOf.get(before);
    connect(from, result.nodeOf.get(after), "order", why);
  }
  for (const [op, from] of ends) if (/\.(for|while)$/.test(op.name)) for (const one of from) connect(one, `n${op.line}`, "again", "the next iteration");
  result.edges = [...edges.values()];
  return result;
}

/** Ops that only wait or set up, of which several follow each other. */
const isWait = (op: Op): boolean => kindOf(op) === "wait" && !op.results.length && !op.children.length;

/** For cheap ops that only one op of their block takes from that op, or what that is folded into: no path leaves the chain but from its end. So with
 * barriers of one kind that follow each other. */
function chains(ops: readonly Op[], users: ReadonlyMap<Op, Op[]>, chosen: ReadonlyMap<number, boolean>): Map<Op, Op> {
  const roots = new Map<Op, Op>();
  const block = new Set(ops);
  let next: Op | null = null;
  for (const op of [...ops].reverse()) {
    if (next !== null && next.name === op.name && isWait(op) && chosen.get((roots.get(next) ?? next).number) !== true) roots.set(op, roots.get(next) ?? next);
    if (!CHEAP.test(op.name) && !isConstant(op)) next = op;
    const takers = users.get(op) ?? [];
    if (!CHEAP.test(op.name) || op.children.length || isConstant(op) || !takers.length || takers.some((one) => !block.has(one))) continue;
    const ends = new Set(takers.map((one) => roots.get(one) ?? one));
    const [end] = ends;
    if (ends.size !== 1 || end!.children.length || ENDS.test(end!.name) || chosen.get(end!.number) === true) continue;
    roots.set(op, end!);
  }
  return roots;
}

/** What an op gives, shortly: 128x64xf32. */
export function typeOf(op: Op): string {
  const after = op.text.slice(Math.max(op.text.lastIndexOf(" -> "), op.text.lastIndexOf(" : ")));
  const found = /(?:tensor|memdesc)<([\dx]*[^,>]+)/.exec(after)?.[1];
  return op.results.length && !op.children.length ? (found ?? /^ (?:->|:) ([\w!.]+)/.exec(after)?.[1] ?? "") : "";
}
