// The page: passes at the side, two states beside the source, what is known of what is chosen below.
import { AccessTab } from "./access";
import { File, inflated, Server, Trouble, withoutScratch, type Answers } from "./answers";
import { CompareTab } from "./compare";
import { CostsTab, type HeatMaps } from "./costs";
import { button, element, make, sayTrouble, withCode } from "./dom";
import { FactsTab } from "./facts";
import { GraphTab } from "./graph";
import { showDifferences, showLegend } from "./bar";
import { hasDots } from "./dots";
import { showFailure } from "./failure";
import { Inspector } from "./inspector";
import { LayoutTab } from "./layouts";
import { LearnTab } from "./learn";
import { PassList } from "./passes";
import { archName, areSame, baseName, hasFacts, preview, unpacked, type Compile, type CompileRequest, type Packed, type Step, type Verdict } from "./payload";
import { Session, type Change, type Shown } from "./session";
import { Sides } from "./sides";
import { addSplitter } from "./splitter";
import { chooseKernel } from "./start";
import { SweepTab } from "./sweep";
import { TilesTab } from "./tiles";
import { TimeTab } from "./timeline";
import { ValuesTab } from "./values";
import { WhatIfTab } from "./whatif";

/** What stands in the page: all of it, or what to ask the server for. */
type Given = { compiles: string; lessons?: string } | { live: true };

async function start(): Promise<void> {
  const given = JSON.parse(element("data").textContent ?? "") as Given;
  const server = "live" in given ? new Server() : null;
  const answers: Answers = server ?? new File("lessons" in given ? given.lessons : undefined);
  const compiles: Compile[] = "compiles" in given ? (await inflated<Packed[]>(given.compiles)).map(unpacked) : [];
  if (server) showWaiting(server);
  const { asked: begun, texts } = server ? await server.begin() : { asked: [], texts: [] };
  const linked = new URLSearchParams(location.hash.slice(1)).get("state");
  const isStart = server !== null && !linked && (begun.length === 0 || location.hash === "#start");
  if (isStart) compiles.push(await chooseKernel(answers));
  for (const [at, asked] of isStart ? [] : begun.entries()) {
    const text = texts[at];
    const made = compiledOrMended(asked, answers);
    const isThere = text && begun.length === 1 ? await Promise.race([made.then(() => true), new Promise((next) => setTimeout(next, PATIENCE))]) : true;
    compiles.push(isThere ? await made : preview(asked, text!, made));
  }
  if (!compiles.length && linked) compiles.push(await answers.compileLink(linked));
  nameCompiles(compiles);
  const session = new Session(answers, compiles, begun.length === 0 && answers.live);
  let firstTrouble: unknown;
  if (linked && answers.live && begun.length) {
    try {
      const made = await answers.compileLink(linked);
      made.label = "from the link";
      session.view.compile = session.add(made);
      Object.assign(session.view, session.aroundStep(session.view.compile, session.view.step));
    } catch (error) {
      firstTrouble = error;
    }
  }
  build(session);
  if (begun.length === 0 && answers.live) session.writeAddress();
  if (firstTrouble) trouble(firstTrouble);
  document.body.dataset.ready = "source";
  performance.mark("source");
  await compiles[0]!.rest;
  document.body.dataset.ready = "true";
  performance.mark("ready", { detail: compiles[0]!.took });
  if (server) for (const [at, asked] of begun.entries()) if (compiles[at]?.stored) void verified(session, compiles[at], asked, server);
}

/** A compile, be it one that is mended on the page first. */
async function compiledOrMended(asked: CompileRequest, answers: Answers): Promise<Compile> {
  try {
    return await answers.compile(asked, { opens: true });
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    document.body.dataset.ready = "failed";
    return new Promise<Compile>((mended) => showFailure(error.problem, asked, answers, mended));
  }
}

/** Compiles again what an earlier process compiled, and shows that where it is not the same. */
async function verified(session: Session, compile: Compile, asked: CompileRequest, server: Server): Promise<void> {
  await atRest(session);
  try {
    const again = await server.states(asked);
    if (!areSame(compile, again)) session.complete(compile, again);
    delete compile.stored;
  } catch (error) {
    trouble(error);
  }
  performance.mark("verified");
}

/** Milliseconds that a page waits for a compile before it shows the kernel's file alone. */
const PATIENCE = 60;

/** Says what takes longer than a moment, and lets it be cancelled. */
function showWaiting(server: Server): void {
  const what = element("busy-what");
  const show = (): void => {
    const [first] = server.waiting;
    const seconds = first ? Math.floor((performance.now() - first.since) / 1000) : 0;
    element("busy").hidden = seconds < 1;
    if (first) what.textContent = `${SERVICES[first.name] ?? first.name}, ${seconds} s`;
  };
  server.onRunning = show;
  window.setInterval(show, 500);
  element("cancel").addEventListener("click", () => server.cancel());
}

const SERVICES: Record<string, string> = { compile: "compiling", run: "running on the emulator", sass: "assembling", triton: "Triton compiles", pattern: "watching an access", timeline: "timing warps", values: "running on the interpreter", exercise: "checking the answer", file: "writing the file", sweep: "looking for configurations", evaluate: "sweeping", tiles: "looking for tile sizes" };

function build(session: Session): void {
  const whatIf = new WhatIfTab(session, Inspector.panel("whatif"));
  const passes = new PassList(session, (hit) => sides.find(hit));
  const sides = new Sides(session, extraStates(session), trouble);
  let heat: HeatMaps | null = null;
  const facts = new FactsTab(session, Inspector.panel("facts"), () => session.choose({ tab: "layout" }));
  const layout = new LayoutTab(session, Inspector.panel("layout"), whatIf);
  const access = new AccessTab(session, Inspector.panel("access"));
  const costs = new CostsTab(session, Inspector.panel("costs"), (maps) => {
    heat = maps;
    sides.showHeat(maps.sources, maps.ptx);
    legend();
  });
  const learn = new LearnTab(session, Inspector.panel("learn"), whatIf, (line) => sides.reveal(line));
  const time = new TimeTab(session, Inspector.panel("time"));
  const values = new ValuesTab(session, Inspector.panel("values"));
  const comparison = new CompareTab(session, Inspector.panel("compare"), async () => {
    await tritons(session);
    session.choose({});
  });
  const setDrawer = addSplitter(element("splitter"), element("work"));
  const graph = new GraphTab(session, Inspector.panel("graph"), () => setDrawer(Number(element("splitter").getAttribute("aria-valuenow")) > 60 ? 38 : 85));
  const tiles = new TilesTab(session, Inspector.panel("tiles"), (asked) => whatIf.open(asked));
  const sweep = new SweepTab(session, Inspector.panel("sweep"), (asked) => whatIf.open(asked));
  let sweepOf: Compile | null = null;
  let costsOf: Compile | null = null;
  let tilesOf: Compile | null = null;
  const inspector = new Inspector(
    session,
    [
      { name: "facts", title: "Facts", show: () => facts.show() },
      { name: "layout", title: "Layout", show: () => layout.show() },
      { name: "access", title: "Access", show: () => access.show() },
      {
        name: "costs",
        title: "Costs",
        show: () => {
          if (costsOf === session.compile) return;
          costsOf = session.compile;
          return costs.show();
        },
      },
      { name: "whatif", title: "What if", show: () => whatIf.show() },
      { name: "learn", title: "Learn", show: () => learn.show() },
      { name: "time", title: "Time", show: () => time.show() },
      { name: "values", title: "Values", show: () => values.show() },
      { name: "compare", title: "Compare", show: () => comparison.show() },
      { name: "graph", title: "Graph", show: () => graph.show() },
      {
        name: "tiles",
        title: "Tune",
        show: () => {
          if (tilesOf === session.compile) return;
          tilesOf = session.compile;
          return tiles.show();
        },
      },
      {
        name: "sweep",
        title: "Sweep",
        show: () => {
          if (sweepOf !== null && session.base === sweepOf) return;
          sweepOf = session.base;
          return sweep.show();
        },
      },
    ],
    trouble,
  );

  function showStep(): void {
    const { view, compile } = session;
    const one = compile.steps[view.step]!;
    element("title").textContent = one.text;
    showPassTools(session, (change) => void whatIf.editPass(change, view.step));
    showDocumentation(one, passes.verdictOf(view.step), compile.files);
    element("kernel").textContent = `${compile.kernel}, ${archName(compile.arch)}`;
    document.title = `${compile.kernel} · minitriton`;
    sides.showSides();
    const counts = costsOf === compile ? heat : null;
    sides.showHeat(counts?.sources ?? new Map(), counts?.ptx ?? new Map());
    sides.showInFlight().catch(trouble);
    passes.show();
    showDifferences(session, session.answers.live ? (asked) => void whatIf.open(asked) : null, () => session.choose({ tab: "whatif" }));
    legend();
  }

  function legend(): void {
    const isCounted = costsOf === session.compile && heat !== null;
    const hasFlights = hasFacts(session.stateOf(session.view.right)) && session.stateOf(session.view.right).level === "ttgir";
    showLegend([isCounted ? COUNTED : "", hasFlights ? "next to an op: copies and dots in flight after it" : "", hasDots(session.compile) ? "dot 1, dot 2: which dot of the source it is of" : ""].filter(Boolean).join("; "));
  }

  session.watch((before) => {
    const { view } = session;
    const isOther = before.compile !== view.compile;
    const isCompleted = before.completed !== view.completed;
    if (isOther) {
      heat = null;
      passes.showVerdicts([]);
      passes.find(true);
      learned = learnFacts(session);
      checkSoon();
    }
    if (isOther || before.step !== view.step || before.left.state !== view.left.state || before.left.compile !== view.left.compile || before.right.state !== view.right.state || before.right.compile !== view.right.compile || (isCompleted && !sides.isUpToDate())) showStep();
    else if (isCompleted) {
      passes.show();
      sides.fillSelects();
    }
    sides.mark();
    void inspector.show().then(() => performance.mark(isCompleted ? "completed" : "shown"));
  });

  element("banner-close").addEventListener("click", () => sayTrouble(""));
  const check = element("check") as HTMLButtonElement;
  let checked: Promise<unknown> = Promise.resolve();
  let ofKernel = "";
  let learned: Promise<void> = Promise.resolve();
  function checkSoon(): void {
    const compile = session.compile;
    check.textContent = "checking…";
    check.className = "";
    check.title = "every pass is run on the emulator";
    ofKernel = "";
    // Of several edits in a row the last is checked, after what is being checked, and after what clicks wait for.
    checked = Promise.all([checked, learned.then(() => atRest(session))]).then(() => (session.compile === compile ? session.answers.check(compile) : null)).then(
      (found) => {
        if (session.compile !== compile || found === null) return;
        passes.showVerdicts(found.steps);
        const broken = found.steps.filter((one) => one?.ok === false);
        showDocumentation(compile.steps[session.view.step]!, passes.verdictOf(session.view.step), compile.files);
        // Of the first step nothing is compared: it is what the others are compared with.
        const isRun = found.steps.slice(1).some((one) => one && one.verdict !== "not executable" && one.verdict !== "unchanged");
        const hasGaps = found.steps.some((one) => one?.verdict === "not executable");
        if (!broken.length && hasGaps && !isRun) {
          check.textContent = "? no pass could be run";
          check.className = "";
          check.title = [...new Set(found.steps.flatMap((one) => (one?.why ? [one.why] : [])))].join("\n");
          return;
        }
        check.textContent = broken.length ? `✗ ${broken.map((one) => `${one!.name}${one!.lacks?.length ? ` without ${one!.lacks.join(", ")}` : ""}`).join(", ")}` : "✓ every pass keeps the numbers";
        check.className = broken.length ? "broken" : "holds";
        check.title = broken.map((one) => one!.why).join("\n");
        ofKernel = broken.length ? "" : withoutScratch((found.kernel ?? []).join("\n"));
        if (!ofKernel) return;
        const lines = [...new Set([...ofKernel.matchAll(/\.py:(\d+)/g)].map((one) => one[1]!))];
        check.textContent += `, but see the kernel${lines.length ? `: line ${lines[0]}` : ""}`;
        check.className = "doubt";
        check.title = ofKernel;
      },
      (error: unknown) => {
        if (session.compile !== compile) return;
        check.textContent = "not checked";
        check.className = "";
        check.title = error instanceof Trouble ? error.problem.text : String(error);
      },
    );
  }
  check.addEventListener("click", () => {
    const broken = [...document.querySelectorAll<HTMLElement>("#passes .broken")][0]?.closest("li");
    if (broken) session.choose({ step: Number(broken.id.slice(5)) });
    else if (ofKernel) sayTrouble(ofKernel);
  });

  window.addEventListener("hashchange", () => {
    if (location.hash === "#start") location.reload();
    else session.choose(session.readHash());
  });
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement || target.closest("[data-editing]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (element("help") as HTMLDialogElement).open) return;
    const step = session.view.step;
    const live = session.answers.live;
    const actions: Record<string, () => void> = {
      j: () => passes.next(1), n: () => passes.next(1), k: () => passes.next(-1), p: () => passes.next(-1),
      "/": () => passes.focusFilter(), u: () => passes.toggleUnchanged(), f: () => sides.toggleFold(),
      e: () => whatIf.focus(), s: () => sides.source.focus(), b: () => sides.focusLeft(), d: () => sides.toggleColumns(), a: () => sides.panes.right.focus(),
      t: () => inspector.select(10), w: () => inspector.select(11), ",": () => sides.nextMatch(-1), ".": () => sides.nextMatch(1), "?": () => showHelp(), Escape: () => (document.activeElement as HTMLElement | null)?.blur(),
      ...(live ? { x: () => void whatIf.editPass("skip", step), "[": () => void whatIf.editPass("up", step), "]": () => void whatIf.editPass("down", step) } : {}),
      ...Object.fromEntries([..."1234567890"].map((key, at) => [key, () => inspector.select(at)])),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  element("help-button").addEventListener("click", showHelp);

  Object.assign(session.view, session.aroundStep(session.view.compile, session.view.step));
  if (session.compiles.length > 1) session.view.tab = "compare";
  const change: Change = session.readHash();
  Object.assign(session.view, change.step !== undefined ? session.aroundStep(session.view.compile, change.step) : {}, change);
  showStep();
  sides.mark();
  const begin = (): void => {
    learned = inspector.show().then(() => learnFacts(session));
    checkSoon();
  };
  session.awaitRest(trouble);
  if (session.compile.isPreview) void session.compile.rest!.then(begin);
  else begin();
}

const COUNTED = "next to a line: instructions that warps executed, sectors of 32 bytes a request to memory, passes for bank conflicts";
const REST = 400;
const LONGEST_WAIT = 5000;

/** Waits until nobody has clicked for a moment: what is computed in the background takes processors that a click wants. */
async function atRest(session: Session): Promise<void> {
  if (!session.answers.live) return;
  const end = performance.now() + LONGEST_WAIT;
  for (let left = REST; left > 0 && performance.now() < end; left = session.changed + REST - performance.now()) {
    await new Promise((next) => setTimeout(next, left));
  }
}

/** Asks for the facts of every state while nobody clicks, so that a click need not wait for them: the shown state's first. */
async function learnFacts(session: Session): Promise<void> {
  if (!session.answers.live) return;
  const compile = session.compile;
  const { step } = session.view;
  const all = compile.steps.flatMap((one, at) => ((one.changed || at === 0) && hasFacts(compile.states[one.state]!) ? [at] : []));
  all.sort((a, b) => Math.abs(a - step) - Math.abs(b - step));
  for (const at of all) {
    if (session.compile !== compile) return;
    await new Promise((next) => requestIdleCallback(next, { timeout: 1000 }));
    try {
      await session.answers.inspect(compile, at);
    } catch {
      // Who clicks there reads why.
      return;
    }
  }
}

/** What Triton makes of the program that is shown, as one of the compiles: its number. */
async function tritons(session: Session): Promise<number> {
  const made = await session.answers.triton(session.compile);
  made.label ??= "Triton 3.6.0";
  made.of ??= session.compile;
  const at = session.compiles.indexOf(made);
  return at < 0 ? session.add(made) : at;
}

/** A name for each compile that the others do not have: its kernel and target, or what it was asked for and the first was not. */
function nameCompiles(compiles: readonly Compile[]): void {
  const first = compiles[0]?.asked;
  for (const one of compiles) {
    const { asked } = one;
    const isAlike = one !== compiles[0] && first !== undefined && asked?.source === first.source;
    const changed = !isAlike || !asked ? [] : [
      ...(one.arch !== compiles[0]!.arch ? [archName(one.arch)] : []), ...(asked.options ?? []).filter((text) => !first.options?.includes(text)),
      ...(asked.edits ?? []).filter((edit) => !first.edits?.some((other) => other.join() === edit.join())).map((edit) => edit.join(" ")),
      ...(asked.pipeline && asked.pipeline !== first.pipeline ? ["another pipeline"] : []), ...(asked.signature !== first.signature ? ["another signature"] : []),
    ];
    one.label ??= changed.length ? `${one.kernel} with ${changed.join(", ")}` : `${one.kernel}, ${archName(one.arch)}`;
  }
}

/** States that cost something to make: machine code, and what Triton makes of the same kernel. */
function extraStates(session: Session): { text: string; value: string; load: () => Promise<Shown> }[] {
  const sass = async (): Promise<Shown> => {
    const compile = session.compile;
    await compile.rest;
    let state = compile.states.findIndex((one) => one.level === "sass");
    if (state < 0) {
      const found = await session.answers.sass(compile);
      if (!found.state) throw new Trouble({ message: found.why ?? "", text: found.why ?? "" });
      state = compile.states.push(found.state) - 1;
    }
    return { compile: session.view.compile, state };
  };
  const triton = async (): Promise<Shown> => {
    const compile = session.compile;
    const level = session.stateOf(session.view.right).level;
    sayTrouble("Triton compiles…", false);
    const at = await tritons(session);
    const made = session.compiles[at]!;
    sayTrouble("");
    const name = compile.steps[session.view.step]?.name;
    const step = made.steps.findIndex((one) => one.name === name);
    const last = made.states.map((one) => one.level).lastIndexOf(level);
    return { compile: at, state: step >= 0 ? made.steps[step]!.state : Math.max(0, last) };
  };
  const found = [{ text: "sass: the machine code", value: "sass", load: sass }];
  if (session.answers.live || session.compiles.some((one) => one.kept?.triton)) found.push({ text: "Triton 3.6.0, at this pass", value: "triton", load: triton });
  return found;
}

/** What a pass is for: its first paragraph, and the rest where somebody asks. */
/** Buttons that leave the chosen pass out, or move it. */
function showPassTools(session: Session, edit: (change: "skip" | "up" | "down") => void): void {
  const { view, compile } = session;
  const mayEdit = session.answers.live && view.step > 0 && compile.steps[view.step]?.edit !== true;
  const tools = [["skip", "leave out", "compile without this pass (x)"], ["up", "earlier", "before the pass before it ([)"], ["down", "later", "after the pass after it (])"]] as const;
  element("pass-tools").replaceChildren(...(mayEdit ? tools.map(([change, text, title]) => button(text, title, () => edit(change))) : []));
}

function showDocumentation(step: Step, verdict: Verdict | null, files: readonly string[]): void {
  const place = element("doc");
  const why = step.error ?? (verdict?.ok === false ? verdict.why : null);
  const wrong = why === null ? null : files.reduce((text, path) => text.replaceAll(path, baseName(path)), why);
  place.className = wrong === null ? "" : "failed";
  if (wrong !== null) {
    place.textContent = wrong;
    return;
  }
  const [first = "", ...rest] = step.doc.split(/\n\s*\n/);
  place.replaceChildren(...withCode(first.replaceAll("\n", " ")));
  if (rest.length) place.append(" ", make("details", {}, make("summary", {}, "more"), ...rest.map((one) => make("p", {}, ...withCode(one)))));
}

function trouble(error: unknown): void {
  sayTrouble(error instanceof Trouble ? error.problem.text : String(error));
}

function showHelp(): void {
  const dialog = element("help") as HTMLDialogElement;
  if (!dialog.open) dialog.showModal();
}

start().catch((error: unknown) => {
  trouble(error);
  document.body.dataset.ready = "failed";
});
