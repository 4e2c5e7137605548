// The graph of the state at the right: ops in layers, what they take from each other, what memory keeps in order, regions as boxes.
import { Graph, layout } from "@dagrejs/dagre";
import { button, make } from "./dom";
import { helpOn } from "./help";
import { drawn, opsOf, typeOf, within, type Drawn, type Edge, type Kind, type Node, type Op } from "./opgraph";
import { hasFacts, type Inspection } from "./payload";
import type { Session } from "./session";

const KINDS: Record<Kind, string> = { dot: "dots", global: "global memory", shared: "shared memory", exchange: "threads exchange", wait: "waits, barriers", region: "loops, branches", other: "other ops" };
const EDGES: Record<Edge["kind"], string> = { data: "a value", order: "memory keeps the order", again: "the next iteration" };
const [LETTER, PADDING, LINE] = [6.1, 9, 14];
const MOST_NODES = 700;
/** Milliseconds that the facts are waited for before the graph is drawn without them. */
const PATIENCE = 250;
const [CLOSEST, FURTHEST, READABLE] = [2.5, 0.05, 0.9];

interface Point {
  x: number;
  y: number;
}

interface Box extends Point {
  width: number;
  height: number;
}

interface Placed extends Node {
  x: number;
  y: number;
  width: number;
  height: number;
  lines: string[];
}

export class GraphTab {
  private key = "";
  private roots: Op[] = [];
  private graph: Drawn | null = null;
  private placed = new Map<string, Placed>();
  private inspection: Inspection | null = null;
  /** Regions and chains that somebody opened or folded, by the number of their op, which they keep from state to state. */
  private readonly chosen = new Map<number, boolean>();
  private readonly detail = { folds: true, scalars: false };
  private view = { x: 0, y: 0, scale: 1 };
  private size = { width: 0, height: 0 };
  /** The node that the keyboard is at. */
  private at: string | null = null;
  private hits: string[] = [];
  private readonly canvas = make("div", { id: "graph", role: "application", tabindex: "0", "aria-label": "graph of ops: arrows follow values, Enter goes to the line, Space folds, + and - zoom, 0 shows all" });
  private readonly card = make("div.card", { id: "graph-card", role: "status" });
  private readonly find = make("input", { type: "search", id: "graph-find", placeholder: "find an op or value", "aria-label": "find an op or value in the graph" }) as HTMLInputElement;
  private readonly found = make("span.rule", { role: "status" });
  private readonly about = make("span.rule", { id: "graph-about", role: "status" });

  constructor(
    private readonly session: Session,
    into: HTMLElement,
    private readonly enlarge: () => void,
  ) {
    const chains = make("input", { type: "checkbox", id: "graph-chains", checked: "" }) as HTMLInputElement;
    chains.addEventListener("change", () => {
      this.detail.folds = chains.checked;
      this.draw();
    });
    const scalars = make("input", { type: "checkbox", id: "graph-scalars" }) as HTMLInputElement;
    scalars.addEventListener("change", () => {
      this.detail.scalars = scalars.checked;
      this.draw();
    });
    const zoom = (text: string, title: string, by: number): HTMLElement => button(text, title, () => this.zoom(by));
    this.find.addEventListener("input", () => this.search());
    this.find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.nextHit(event.shiftKey ? -1 : 1);
    });
    const tools = make("div.choices", { id: "graph-tools" }, this.find, this.found, zoom("−", "smaller (-)", 0.8), zoom("+", "larger (+)", 1.25), button("all", "all of it in sight (0)", () => this.fit()),
      button("open all", "open every region", () => this.foldAll(true)), button("fold all", "fold every region", () => this.foldAll(false)),
      make("label", { title: "cheap ops are drawn with the op that alone takes from them" }, chains, " fold chains"), make("label", { title: "indices and conditions, which all threads have alike, and views of buffers" }, scalars, " scalars, views"), button("higher", "give the graph more of the window, or less", () => this.enlarge()), this.about);
    const key = make("div.choices", { id: "graph-key", role: "note", "aria-label": "legend of the graph" },
      ...Object.entries(KINDS).map(([kind, text]) => make("span", {}, make(`i.swatch.g-${kind}`), ` ${text}`)), ...Object.entries(EDGES).map(([kind, text]) => make("span", {}, make(`i.stroke.e-${kind}`), ` ${text}`)));
    into.append(tools, make("div", { id: "graph-place" }, this.canvas, this.card), key);
    this.card.hidden = true;
    this.listen();
  }

  async show(): Promise<void> {
    const shown = this.session.view.right;
    const compile = this.session.compileOf(shown);
    if (compile.isPreview) await compile.rest;
    const state = this.session.stateOf(shown);
    const key = `${shown.compile} ${shown.state} ${this.session.view.completed}`;
    if (key !== this.key) {
      this.key = key;
      this.inspection = null;
      this.roots = hasFacts(state) ? opsOf(state) : [];
      if (!this.roots.length) {
        this.graph = null;
        this.canvas.replaceChildren(make("p.hint", {}, "Graphs are drawn of TTIR and TTGIR: choose one of their passes."));
        return;
      }
      const asked = this.session.inspected(shown);
      const soon = await Promise.race([asked, new Promise<null>((next) => setTimeout(next, PATIENCE, null))]);
      if (key !== this.key) return;
      this.inspection = soon?.inspection ?? null;
      this.draw();
      if (soon === null) {
        const found = await asked;
        if (key !== this.key) return;
        this.inspection = found?.inspection ?? null;
        if (this.inspection?.order?.length) this.draw(true);
      }
    }
    this.mark();
  }

  /** Draws the graph anew; `stays`: with what is in sight where it is. */
  private draw(stays = false): void {
    if (!this.roots.length) return;
    let graph = drawn(this.roots, this.inspection?.order ?? [], this.chosen, this.detail);
    if (graph.nodes.length > MOST_NODES && !this.chosen.size) {
      for (const op of this.roots.flatMap(within)) if (op.parent && op.children.length) this.chosen.set(op.number, false);
      graph = drawn(this.roots, this.inspection?.order ?? [], this.chosen, this.detail);
    }
    this.graph = graph;
    const before = this.at === null ? undefined : this.placed.get(this.at);
    const start = performance.now();
    const picture = this.picture(graph);
    this.about.textContent = `${this.roots.flatMap(within).length} ops, ${graph.nodes.length} drawn`;
    this.about.title = `laid out in ${Math.round(performance.now() - start)} ms`;
    this.canvas.replaceChildren(picture);
    const after = this.at === null ? undefined : this.placed.get(this.at);
    if (stays && before && after) {
      this.view.x += (before.x - after.x) * this.view.scale;
      this.view.y += (before.y - after.y) * this.view.scale;
    } else if (!stays) this.begin();
    this.move();
    this.search();
    this.mark();
  }

  /** Where the picture begins: at the chosen op, or else at the top, as large as is readable. */
  private begin(): void {
    const { width } = this.canvas.getBoundingClientRect();
    this.view = { scale: 1, x: (width - this.size.width) / 2, y: 0 };
    const chosen = this.chosenNode() ?? this.graph?.nodes.find((one) => one.kind === "dot")?.id;
    if (chosen) this.center(chosen);
  }

  private picture(graph: Drawn): SVGElement {
    this.placed = new Map(graph.nodes.map((node) => [node.id, this.measured(node)]));
    const inside = new Map<string | null, string[]>();
    const around = new Map<string, string | null>();
    for (const { id, box } of [...graph.boxes, ...graph.nodes]) {
      inside.set(box, [...(inside.get(box) ?? []), id]);
      around.set(id, box);
    }
    const pathOf = (id: string): string[] => (around.get(id) ? [...pathOf(around.get(id)!), id] : [id]);
    // An edge into a region, or out of it, goes to its box or from it.
    const edges = new Map<string | null, Edge[]>();
    for (const edge of graph.edges) {
      const [from, to] = [pathOf(edge.from), pathOf(edge.to)];
      let at = 0;
      while (from[at] === to[at]) at++;
      const within = at === 0 ? null : from[at - 1]!;
      edges.set(within, [...(edges.get(within) ?? []), { ...edge, from: from[at]!, to: to[at]! }]);
    }
    const boxes = new Map<string, Box>();
    const lines: { edge: Edge; points: Point[]; box: string | null }[] = [];
    const arrange = (box: string | null): { width: number; height: number } => {
      const g = new Graph({ multigraph: true });
      g.setGraph({ rankdir: "TB", nodesep: 12, edgesep: 6, ranksep: 22, marginx: 14, marginy: 10, ranker: "tight-tree" });
      g.setDefaultEdgeLabel(() => ({}));
      for (const id of inside.get(box) ?? []) {
        const node = this.placed.get(id);
        g.setNode(id, node ? { width: node.width, height: node.height } : arrange(id));
      }
      const known = new Set<string>();
      const own = (edges.get(box) ?? []).filter((one) => one.kind !== "again" && !known.has(`${one.kind}${one.from} ${one.to}`) && known.add(`${one.kind}${one.from} ${one.to}`));
      own.forEach((edge, at) => g.setEdge(edge.from, edge.to, { weight: edge.kind === "data" ? 2 : 1 }, String(at)));
      layout(g);
      for (const id of inside.get(box) ?? []) {
        const { x, y, width, height } = g.node(id) as Box;
        const node = this.placed.get(id);
        if (node) Object.assign(node, { x, y });
        else boxes.set(id, { x, y, width, height });
      }
      own.forEach((edge, at) => lines.push({ edge, box, points: (g.edge(edge.from, edge.to, String(at)) as { points: Point[] }).points }));
      const { width = 0, height = 0 } = g.graph() as { width?: number; height?: number };
      return { width, height };
    };
    this.size = arrange(null);
    // What is in a box was placed from its corner.
    const corner = (box: string | null): Point => {
      if (box === null) return { x: 0, y: 0 };
      const { x, y, width, height } = boxes.get(box)!;
      const outer = corner(around.get(box) ?? null);
      return { x: outer.x + x - width / 2, y: outer.y + y - height / 2 };
    };
    const moved = svg("g", { id: "graph-moved" });
    for (const { id, op } of graph.boxes) {
      const { width, height } = boxes.get(id)!;
      moved.append(svg("rect", { class: "g-box", ...corner(id), width, height, rx: 6, "data-op": op.number }));
    }
    for (const { edge, points, box } of lines) {
      const { x, y } = corner(box);
      moved.append(this.edge(edge, curve(points.map((one) => ({ x: one.x + x, y: one.y + y })))));
    }
    const nodes = [...this.placed.values()].map((node) => {
      const { x, y } = corner(node.box);
      node.x += x;
      node.y += y;
      return this.node(node);
    });
    for (const edge of graph.edges) if (edge.kind === "again") {
      const [from, to] = [this.placed.get(edge.from)!, this.placed.get(edge.to)!];
      const left = corner(to.box).x + 6;
      moved.append(this.edge(edge, `M${from.x - from.width / 2},${from.y} L${left + 8},${from.y} Q${left},${from.y} ${left},${from.y - 8} L${left},${to.y + 8} Q${left},${to.y} ${left + 8},${to.y} L${to.x - to.width / 2},${to.y}`));
    }
    moved.append(svg("g", { id: "graph-across" }), ...nodes);
    const arrow = svg("marker", { id: "graph-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse" }, svg("path", { d: "M0,0 L8,4 L0,8 z" }));
    return svg("svg", { id: "graph-svg", role: "group", "aria-label": "ops" }, svg("defs", {}, arrow), moved);
  }

  private measured(node: Node): Placed {
    const lines = linesOf(node);
    const width = Math.max(...lines.map((one) => one.length)) * LETTER + 2 * PADDING + (node.fold ? 14 : 0);
    return { ...node, lines, width, height: lines.length * LINE + 8, x: 0, y: 0 };
  }

  private edge(edge: Edge, d: string): SVGElement {
    const says = edge.kind === "data" ? edge.says.join(", ") : edge.says.join("; ");
    return svg("path", { class: `g-edge e-${edge.kind}`, d, "marker-end": "url(#graph-arrow)", "data-from": edge.from, "data-to": edge.to, "data-says": edge.says.join(" ") }, svg("title", {}, says));
  }

  private node(node: Placed): SVGElement {
    const { x, y, width, height, lines, kind, fold } = node;
    const texts = lines.map((text, at) => svg("text", { class: at ? "g-more" : "g-name", x: PADDING + (fold ? 14 : 0), y: 13 + at * LINE }, text));
    const toggle = fold ? [svg("text", { class: "g-toggle", x: 6, y: 13 }, fold === "open" ? "▾" : "▸")] : [];
    const label = `${lines.join(", ")}${fold === "open" ? ", open" : fold ? ", folded" : ""}`;
    return svg("g", { class: `g-node k-${kind}`, id: `graph-${node.id}`, role: "button", "aria-label": label, "data-node": node.id, transform: `translate(${x - width / 2} ${y - height / 2})` },
      svg("rect", { width, height, rx: 4 }), svg("rect", { class: `g-strip g-${kind}`, width: 4, height, rx: 2 }), ...toggle, ...texts);
  }

  private listen(): void {
    let dragged: { x: number; y: number; moved: boolean } | null = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      dragged = { x: event.clientX, y: event.clientY, moved: false };
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!dragged || !(event.buttons & 1)) return this.point(nodeAt(event));
      if (!dragged.moved && Math.hypot(event.clientX - dragged.x, event.clientY - dragged.y) < 4) return;
      if (!dragged.moved) this.canvas.setPointerCapture(event.pointerId);
      this.view.x += event.clientX - dragged.x;
      this.view.y += event.clientY - dragged.y;
      dragged = { x: event.clientX, y: event.clientY, moved: true };
      this.move();
    });
    this.canvas.addEventListener("click", (event) => {
      const wasDragged = dragged?.moved;
      dragged = null;
      const id = nodeAt(event);
      if (wasDragged || id === null) return;
      const target = event.target as Element;
      if (target.classList.contains("g-toggle") || event.detail > 1) this.toggle(id);
      else this.choose(id);
    });
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.x, event.clientY - box.y);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const step = 60;
      const pan: Record<string, [number, number]> = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      const actions: Record<string, () => void> = {
        ArrowDown: () => this.along("from", "to"), ArrowUp: () => this.along("to", "from"), ArrowLeft: () => this.aside(-1), ArrowRight: () => this.aside(1),
        Enter: () => this.at && this.choose(this.at), " ": () => this.at && this.toggle(this.at), "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), "0": () => this.fit(),
      };
      const by = event.shiftKey ? pan[event.key] : undefined;
      if (!by && !actions[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      if (by) {
        this.view.x += by[0];
        this.view.y += by[1];
        this.move();
      } else actions[event.key]!();
    });
  }

  /** Goes to the line of a node's op. */
  private choose(id: string): void {
    const node = this.placed.get(id);
    if (!node) return;
    this.focus(id);
    const { view } = this.session;
    const { op, place } = this.session.lineOf(view.right, node.op.line);
    const state = this.session.stateOf(view.right);
    this.session.choose({ place: this.session.translated(place, this.session.compileOf(view.right), this.session.compile), value: node.op.results[0] ?? null, op, level: state.level, text: state.text[node.op.line] ?? "" });
  }

  private toggle(id: string): void {
    const node = this.placed.get(id);
    if (!node) return;
    const isOpen = node.fold === "open" || (node.fold === "" && this.chosen.get(node.op.number) === true);
    if (node.fold === "" && !isOpen) return;
    this.chosen.set(node.op.number, !isOpen);
    this.at = id;
    this.draw(true);
    this.focus(id);
  }

  private foldAll(isOpen: boolean): void {
    for (const op of this.roots.flatMap(within)) if (op.parent && op.children.length) this.chosen.set(op.number, isOpen);
    this.draw();
    this.fit();
  }

  /** The first op that takes from the one that the keyboard is at, or gives to it; the next ones are next to it. */
  private along(mine: "from" | "to", other: "from" | "to"): void {
    if (this.at === null || !this.placed.has(this.at)) return this.focus(this.chosenNode() ?? this.graph?.nodes[0]?.id ?? null, true);
    const edges = this.graph?.edges.filter((one) => one[mine] === this.at && one.kind !== "again") ?? [];
    const next = edges.find((one) => one.kind === "data") ?? edges[0];
    if (next) this.focus(next[other], true);
  }

  /** The nearest node to the left or right about as high up. */
  private aside(by: 1 | -1): void {
    const here = this.at === null ? undefined : this.placed.get(this.at);
    if (!here) return this.along("from", "to");
    const next = [...this.placed.values()].filter((one) => Math.abs(one.y - here.y) < 40 && (one.x - here.x) * by > 1).sort((a, b) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x))[0];
    if (next) this.focus(next.id, true);
  }

  private focus(id: string | null, comes = false): void {
    this.at = id;
    for (const one of this.canvas.querySelectorAll(".g-node.at")) one.classList.remove("at");
    if (id === null) return;
    this.canvas.querySelector(`#graph-${id}`)?.classList.add("at");
    this.canvas.setAttribute("aria-activedescendant", `graph-${id}`);
    if (comes) this.center(id, true);
    this.point(id);
  }

  /** Shows what a node is, and its edges. */
  private point(id: string | null): void {
    const shown = id ?? this.at;
    for (const one of this.canvas.querySelectorAll(".g-edge")) one.classList.toggle("lit", shown !== null && (one.getAttribute("data-from") === shown || one.getAttribute("data-to") === shown));
    const node = shown === null ? undefined : this.placed.get(shown);
    this.showAcross(node);
    this.card.hidden = node === undefined;
    if (!node || this.card.dataset.of === `${this.key} ${shown} ${this.inspection !== null}`) return;
    this.card.dataset.of = `${this.key} ${shown} ${this.inspection !== null}`;
    const { op } = node;
    const compile = this.session.compileOf(this.session.view.right);
    const result = op.results[0];
    const fact = result === undefined ? undefined : this.inspection?.values[result];
    const claims = Object.entries(fact?.claims ?? {}).filter(([, numbers]) => numbers.some((one) => one > 1)).map(([claim, numbers]) => `${claim} ${numbers.join(" x ")}`);
    const about = [...(fact ? [this.inspection!.types[fact.type]?.text ?? ""] : []), ...claims, ...(fact?.range ? [`from ${fact.range[0]} to ${fact.range[1]}`] : [])];
    const others = node.ops.filter((one) => one !== op);
    const flight = this.inspection?.in_flight?.[op.number]?.text;
    const waits = this.graph?.edges.filter((one) => one.kind === "order" && one.to === shown).flatMap((one) => one.says) ?? [];
    this.card.replaceChildren(make("code", {}, op.text.length > MOST_TEXT ? `${op.text.slice(0, MOST_TEXT)}…` : op.text),
      ...(about.length ? [make("p", {}, about.join(", "))] : []), ...(others.length ? [make("p", {}, `${node.fold === "chain" ? "with" : "holds"} ${counted(others)}`)] : []),
      ...(flight ? [make("p", {}, `in flight after it: ${flight}`)] : []), ...(waits.length ? [make("p", {}, `stays where it is: ${[...new Set(waits)].join("; ")}`)] : []), helpOn(op.text, "ttgir", compile) ?? "");
  }

  /** What goes between a node and ops in other regions: drawn for the one that is pointed at only. */
  private showAcross(node: Placed | undefined): void {
    const across = this.graph?.edges.filter((one) => node && (one.from === node.id || one.to === node.id) && this.placed.get(one.from)!.box !== this.placed.get(one.to)!.box) ?? [];
    this.canvas.querySelector("#graph-across")?.replaceChildren(...across.map((edge) => {
      const [from, to] = [this.placed.get(edge.from)!, this.placed.get(edge.to)!];
      const [a, b] = [{ x: from.x, y: from.y + from.height / 2 }, { x: to.x, y: to.y - to.height / 2 }];
      const line = this.edge(edge, `M${a.x},${a.y} C${a.x},${a.y + 40} ${b.x},${b.y - 40} ${b.x},${b.y}`);
      line.classList.add("lit");
      return line;
    }));
  }

  private search(): void {
    const wanted = this.find.value.trim().toLowerCase();
    const isHit = (op: Op): boolean => op.text.toLowerCase().includes(wanted);
    this.hits = wanted ? [...this.placed.values()].filter((node) => node.ops.some(isHit)).map((node) => node.id) : [];
    const hits = new Set(this.hits);
    for (const one of this.canvas.querySelectorAll(".g-node")) {
      one.classList.toggle("hit", hits.has(one.getAttribute("data-node")!));
      one.classList.toggle("dim", hits.size > 0 && !hits.has(one.getAttribute("data-node")!));
    }
    this.found.textContent = wanted ? `${this.hits.length || "no"} node${this.hits.length === 1 ? "" : "s"}${this.hits.length ? ", Enter goes there" : ""}` : "";
  }

  private nextHit(by: 1 | -1): void {
    if (!this.hits.length) return;
    const at = this.at === null ? -1 : this.hits.indexOf(this.at);
    this.view.scale = Math.max(this.view.scale, READABLE);
    this.focus(this.hits[(at + by + this.hits.length) % this.hits.length]!);
    this.center(this.at!);
  }

  private chosenNode(): string | null {
    const { view } = this.session;
    if (!this.graph || view.right.compile !== view.compile || !view.place) return null;
    // A line of the source means the most expensive of its ops, which the pane marks.
    const text = view.text.trim();
    const number = view.op || this.roots.flatMap(within).find((op) => op.text === text)?.number;
    return (number === undefined ? undefined : this.graph.nodeOf.get(number)) ?? null;
  }

  /** Marks the chosen op and value, and brings it into sight. */
  private mark(): void {
    const { value } = this.session.view;
    const chosen = this.chosenNode();
    for (const one of this.canvas.querySelectorAll(".g-node")) one.classList.toggle("chosen", one.getAttribute("data-node") === chosen);
    for (const one of this.canvas.querySelectorAll(".g-edge")) one.classList.toggle("valued", value !== null && (one.getAttribute("data-says") ?? "").split(" ").includes(`%${value}`));
    if (chosen !== null && chosen !== this.at) {
      this.at = chosen;
      this.center(chosen, true);
    }
  }

  private center(id: string, onlyOut = false): void {
    const node = this.placed.get(id);
    if (!node) return;
    const { width, height } = this.canvas.getBoundingClientRect();
    const { x, y, scale } = this.view;
    const [left, top] = [x + node.x * scale, y + node.y * scale];
    if (onlyOut && left > 60 && left < width - 60 && top > 30 && top < height - 30) return;
    this.view = { scale, x: width / 2 - node.x * scale, y: height / 2 - node.y * scale };
    this.move();
  }

  private zoom(by: number, atX?: number, atY?: number): void {
    const { width, height } = this.canvas.getBoundingClientRect();
    const [px, py] = [atX ?? width / 2, atY ?? height / 2];
    const scale = Math.max(FURTHEST, Math.min(CLOSEST, this.view.scale * by));
    const part = scale / this.view.scale;
    this.view = { scale, x: px - (px - this.view.x) * part, y: py - (py - this.view.y) * part };
    this.move();
  }

  private fit(): void {
    const { width, height } = this.canvas.getBoundingClientRect();
    const scale = Math.min(1, (0.97 * width) / Math.max(1, this.size.width), (0.97 * height) / Math.max(1, this.size.height));
    this.view = { scale, x: (width - this.size.width * scale) / 2, y: (height - this.size.height * scale) / 2 };
    this.move();
  }

  private move(): void {
    const { x, y, scale } = this.view;
    this.canvas.querySelector("#graph-moved")?.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }
}

const MOST_TEXT = 300;

/** What stands in a node: the op, what it gives, and what is folded into it. */
function linesOf(node: Node): string[] {
  const { op, ops, fold } = node;
  const result = op.results[0]?.split("#")[0];
  const first = op.name === "tt.func" ? `${/@(\w+)/.exec(op.text)?.[1] ?? "kernel"}(…)` : op.name;
  const gives = [result ? `%${result}` : "", typeOf(op)].filter(Boolean).join(" ");
  const others = ops.filter((one) => one !== op);
  const more = fold === "chain" ? `+ ${counted(others)}` : fold === "region" && others.length > 3 ? `${others.length} ops` : "";
  return [first, gives, more].filter(Boolean).map((one) => (one.length > WIDEST ? `${one.slice(0, WIDEST)}…` : one));
}

const WIDEST = 42;

/** What ops there are, each kind once: 2 subf, exp2. */
function counted(ops: readonly Op[]): string {
  const counts = new Map<string, number>();
  for (const { name } of ops) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => `${count > 1 ? `${count} ` : ""}${name.replace(/^(arith|math|tt|ttg|ttng|scf)\./, "")}`).join(", ");
}

function nodeAt(event: MouseEvent): string | null {
  return (event.target as Element).closest?.(".g-node")?.getAttribute("data-node") ?? null;
}

function svg(tag: string, given: Record<string, string | number>, ...children: (Node_ | string)[]): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, typeof value === "number" ? String(Math.round(value * 10) / 10) : value);
  made.append(...children);
  return made;
}

type Node_ = globalThis.Node;

/** A line through points, rounded at each. */
function curve(points: readonly Point[]): string {
  const at = (one: Point): string => `${Math.round(one.x)},${Math.round(one.y)}`;
  const middle = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const inner = points.slice(1, -1).map((one, n) => ` Q${at(one)} ${at(n === points.length - 3 ? points.at(-1)! : middle(one, points[n + 2]!))}`);
  return points.length < 3 ? `M${points.map(at).join(" L")}` : `M${at(points[0]!)}${inner.join("")}`;
}
