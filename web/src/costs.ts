// What a run costs: totals, instruction mix, occupancy, shared memory over time; the counts go beside the lines as a heat map.
import { Trouble } from "./answers";
import { make, table } from "./dom";
import type { Heat } from "./pane";
import type { Apart, Buffers, Counts, Run, Sass } from "./payload";
import type { Session } from "./session";

export type HeatMaps = { sources: Map<string, Heat>; ptx: Map<number, Heat> };

export class CostsTab {
  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly onHeat: (maps: HeatMaps) => void,
  ) {}

  async show(): Promise<void> {
    const { compile, answers, base: first } = this.session;
    this.into.replaceChildren(make("p.hint", { role: "status" }, "running on the emulator…"));
    const against = compile === first || compile.asked?.source !== first.asked?.source ? undefined : first;
    const [run, base, sass, buffers] = await Promise.all([
      settle(answers.run(compile, against)),
      settle(against ? answers.run(against) : Promise.resolve(null)),
      settle(answers.sass(compile)),
      settle(answers.buffers(compile)),
    ]);
    if (this.session.compile !== compile) return;
    const before = base && !("problem" in base) ? base : null;
    this.into.replaceChildren(
      ...("problem" in run! ? [problem("The program was not run", run)] : run ? this.ofRun(run, before) : []),
      "problem" in sass! ? problem("Registers are not known", sass) : this.ofSass(sass!),
      "problem" in buffers! ? problem("Shared memory is not known", buffers) : this.ofBuffers(buffers!),
    );
    if (run && !("problem" in run)) this.onHeat(heatMaps(run));
  }

  private ofRun(run: Run, before: Run | null): HTMLElement[] {
    const rows = NUMBERS.filter(([key]) => run.total[key] || before?.total[key]).map(([key, text]) => {
      const [now, then] = [run.total[key] ?? 0, before?.total[key] ?? 0];
      return [text, String(now), ...(before ? [String(then), difference(now, then)] : [])];
    });
    const mix = Object.entries(run.total.mix ?? {});
    const most = Math.max(1, ...mix.map(([, count]) => count));
    const arrays = Object.entries(run.arrays).map(([name, one]) => [
      name,
      String(one.elements),
      one.first.map((x) => (typeof x === "number" ? x.toPrecision(4) : x)).join(", "),
      one.apart === undefined ? one.digest : one.apart.differing ? distanceText(one.elements, one.apart) : "the same as before the change",
    ]);
    return [
      make("section.card", { id: "totals" }, make("h4", {}, `Emulated: grid ${run.grid.join("x")}`, make("small", {}, ` ${run.seconds.toFixed(2)} s`)),
        table(before ? ["", "now", "before", ""] : ["", "all programs"], rows),
        make("p.hint", {}, "Next to a line: instructions that warps executed; sect: sectors of 32 bytes a request; confl: passes for bank conflicts."),
        ...(run.total.findings ?? []).slice(0, 6).map((text) => make("p.failed", {}, text)),
        ...(run.doubt ? [make("p.advice", { id: "doubt" }, `These ${run.doubt}. They are under What if.`)] : [])),
      make("section.card", { id: "mix" }, make("h4", {}, "Instructions, by warp"), ...mix.map(([kind, count]) => {
        const bar = make("i");
        bar.style.width = `${(100 * count) / most}%`;
        return make("div.bar", {}, make("span", {}, kind), make("span.rail", {}, bar), make("span.number", {}, String(count)));
      })),
      make("section.card", { id: "arrays" }, make("h4", {}, "Arrays after the run"), table(["name", "elements", "first", ""], arrays), ...run.output.slice(0, 20).map((line) => make("code", {}, line))),
    ];
  }

  private ofSass(sass: Sass): HTMLElement {
    const { resources } = sass;
    const percent = Math.round(100 * resources.occupancy);
    const bar = make("i");
    bar.style.width = `${percent}%`;
    return make("section.card", { id: "resources" }, make("h4", {}, "Occupancy"),
      make("div.bar", {}, make("span", {}, `${percent} % of warps`), make("span.rail", {}, bar), make("span.number", {}, `${resources.blocks} blocks`)),
      table(["", ""], [
        ["registers a thread", String(resources.registers)],
        ["bytes spilled", String(resources.spilled_bytes)],
        ["bytes of shared memory a block", String(resources.shared_bytes)],
        ["warps a block", String(resources.warps)],
      ]));
  }

  /** Buffers as boxes: time (ops of the program) across, bytes down. */
  private ofBuffers(found: Buffers): HTMLElement {
    const card = make("section.card", { id: "liveness" }, make("h4", {}, `Shared memory over time: ${found.total} bytes`));
    if (!found.buffers.length) {
      card.append(make("p.hint", {}, "the kernel takes none"));
      return card;
    }
    const [width, height] = [420, 150];
    const chart = svg("svg", { viewBox: `0 0 ${width} ${height + 16}`, width: String(width), role: "img", "aria-label": "shared memory by buffer over time" });
    found.buffers.forEach((one, at) => {
      const x = (one.live[0] / Math.max(1, found.ops)) * width;
      const w = Math.max(4, ((one.live[1] - one.live[0]) / Math.max(1, found.ops)) * width);
      const y = (one.offset / Math.max(1, found.total)) * height;
      const h = Math.max(3, (one.size / Math.max(1, found.total)) * height);
      const box = svg("rect", { x, y, width: w, height: h, fill: `hsl(${(at * 137.5) % 360} 60% 60%)`, stroke: "#0008" });
      box.append(svg("title", {}, `${one.name}: ${one.size} bytes at ${one.offset}, alive from op ${one.live[0]} to ${one.live[1]}\n${one.type}`));
      box.addEventListener("click", () => {
        if (one.line) this.session.choose({ place: { file: one.line[0], line: one.line[1] }, value: one.name.startsWith("%") ? one.name : null });
      });
      chart.append(box);
    });
    chart.append(svg("text", { x: 0, y: height + 12, "font-size": 10, fill: "currentColor" }, `op 0`), svg("text", { x: width - 40, y: height + 12, "font-size": 10, fill: "currentColor" }, `op ${found.ops}`));
    card.append(chart, table(["buffer", "bytes", "at", "alive", "line"], found.buffers.map((one) => [one.name, String(one.size), String(one.offset), `${one.live[0]}–${one.live[1]}`, one.line ? String(one.line[1]) : ""])));
    return card;
  }
}

/** "3 of 64 elements differ, by up to 0.002 at [1, 2] (0.502 for 0.5), 0.4 % of it, 16 ulps; ...". */
export function distanceText(elements: number, apart: Apart): string {
  if (apart.sizes) return `${apart.sizes.join(" elements for ")}`;
  if (!apart.differing) return "equal numbers in other bits (signs of zeros, or what is not a number)";
  const number = (of: number | string | undefined): string => (typeof of === "number" ? String(Number(of.toPrecision(5))) : of ?? "");
  const parts = [`${apart.differing.toLocaleString("en")} of ${elements.toLocaleString("en")} elements differ`];
  const exact = (of: number | string | undefined): string => (typeof of === "number" ? String(Number(of.toPrecision(10))) : of ?? "");
  const at = `at [${(apart.at ?? []).join(", ")}] (${exact(apart.now)} for ${exact(apart.before)})`;
  if (apart.absolute === undefined) parts.push(at);
  else parts.push(`by up to ${number(apart.absolute)}${apart.not_finite ? "" : ` ${at}`}`);
  if (apart.relative !== undefined) parts.push(`up to ${number(Number((100 * apart.relative).toPrecision(3)))} % of the other`);
  if (apart.ulps !== undefined) parts.push(`up to ${number(apart.ulps)} ${apart.ulps === 1 ? "ulp" : "ulps"}`);
  if (apart.not_finite) parts.push(`${apart.not_finite} not finite in one, such as ${at}`);
  const beyond = apart.beyond ? `; ${apart.beyond.toLocaleString("en")} by more than rounding in another order explains` : "; each within what rounding in another order does";
  const larger = apart.larger === undefined ? "" : `; ${((100 * apart.larger) / (apart.differing - (apart.not_finite ?? 0))).toFixed(0)} % of them are larger in magnitude, which rounding does not do: it makes as many smaller`;
  const rounding = apart.beyond === undefined ? "" : beyond + larger;
  return `${parts.join(", ")}, first at [${(apart.first ?? []).join(", ")}]${rounding}`;
}

export const NUMBERS: [key: Exclude<keyof Counts, "mix" | "findings" | "sectors_per_request">, text: string][] = [
  ["instructions", "instructions of warps"],
  ["requests", "requests to global memory"],
  ["sectors", "sectors of 32 bytes"],
  ["bytes", "bytes asked for"],
  ["wasted", "bytes moved and not asked for"],
  ["shared_requests", "requests to shared memory"],
  ["wavefronts", "passes over its banks"],
  ["conflicts", "of them for bank conflicts"],
  ["barriers", "barriers"],
];

export function difference(now: number, then: number): string {
  if (now === then) return "=";
  return `${now > then ? "+" : "−"}${Math.abs(now - then)}${then ? ` (${Math.round((100 * (now - then)) / then)} %)` : ""}`;
}

/** Instructions of a line, and what its accesses cost, hottest red. */
export function heatMaps(run: Run): HeatMaps {
  const most = Math.max(1, ...run.sources.map((one) => one.instructions ?? 0));
  const mostPtx = Math.max(1, ...Object.values(run.ptx).map((one) => one.instructions ?? 0));
  return {
    sources: new Map(run.sources.filter((one) => one.instructions).map((one) => [`${one.file}:${one.line}`, heat(one, most)])),
    ptx: new Map(Object.entries(run.ptx).map(([line, one]) => [Number(line), heat(one, mostPtx)])),
  };
}

function heat(counts: Counts, most: number): Heat {
  const parts = [String(counts.instructions ?? 0)];
  if (counts.sectors_per_request) parts.push(`${counts.sectors_per_request} sect`);
  if (counts.conflicts) parts.push(`${counts.conflicts} confl`);
  const all = [
    `${counts.instructions ?? 0} instructions of warps`,
    counts.requests ? `${counts.requests} requests to global memory, ${counts.sectors_per_request ?? 0} sectors each, ${counts.bytes ?? 0} bytes, ${counts.wasted ?? 0} wasted` : "",
    counts.shared_requests ? `${counts.shared_requests} requests to shared memory, ${counts.wavefronts ?? 0} passes, ${counts.conflicts ?? 0} for conflicts` : "",
    counts.barriers ? `${counts.barriers} barriers` : "",
    ...Object.entries(counts.mix ?? {}).map(([kind, count]) => `${kind}: ${count}`),
    ...(counts.findings ?? []),
  ];
  return { text: parts.join(" "), part: (counts.instructions ?? 0) / most, title: all.filter(Boolean).join("\n") };
}

export type Wrong = { problem: string };

export async function settle<T>(promise: Promise<T>): Promise<T | Wrong> {
  try {
    return await promise;
  } catch (error) {
    return { problem: error instanceof Trouble ? error.problem.text : String(error) };
  }
}

const problem = (text: string, wrong: Wrong): HTMLElement => make("section.card", {}, make("h4", {}, text), make("pre", {}, wrong.problem));

export function svg(tag: string, given: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}
