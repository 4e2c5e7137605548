// The page: passes at the side, the chosen one before and after, the source beside it; what is clicked is marked in all of them.
import { assemblyLanguage, pythonLanguage } from "./languages";
import { Pane } from "./pane";
import { placeOf, samePlace, type Payload, type Place, type State, type Step } from "./payload";
import { areAlike, sideBySide, whole } from "./rows";

const data = JSON.parse(element("data").textContent ?? "") as Payload;
const MARKS = { changed: "~", moved: "↕", removed: "−", added: "+" } as const;

interface View {
  step: number;
  place: Place | null;
  value: string | null;
}

const view: View = { step: firstChange(), place: null, value: null };
const list = element("passes");
const filter = element("filter") as HTMLInputElement;
const unchanged = element("unchanged") as HTMLInputElement;
const fold = element("fold") as HTMLInputElement;
const file = element("file") as HTMLSelectElement;

let aligned = true;

const source = new Pane(element("source"), "source", pythonLanguage, (number) => {
  if (number !== null) choose({ place: { file: Number(file.value), line: number + 1 }, value: null });
});
const before = new Pane(element("before"), "before", assemblyLanguage, (number, value) => chosenIn(stateBefore(), number, value));
const after = new Pane(element("after"), "after", assemblyLanguage, (number, value) => chosenIn(stateAfter(), number, value));

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

function step(at: number = view.step): Step {
  const found = data.steps[at];
  if (!found) throw new Error(`there is no step ${at}`);
  return found;
}

function state(index: number): State {
  const found = data.states[index];
  if (!found) throw new Error(`there is no state ${index}`);
  return found;
}

const stateAfter = (): State => state(step().state);
const stateBefore = (): State => state(step(Math.max(view.step - 1, 0)).state);

function firstChange(): number {
  return Math.max(data.steps.findIndex((one, at) => at > 0 && one.changed), 0);
}

function chosenIn(of: State, number: number | null, value: string | null): void {
  if (number !== null) choose({ place: placeOf(of, number), value });
}

function choose(change: Partial<View>): void {
  const another = change.step !== undefined && change.step !== view.step;
  Object.assign(view, change);
  if (another) showStep();
  mark();
  history.replaceState(null, "", hash());
}

function hash(): string {
  const parts = [`step=${view.step}`];
  if (view.place) parts.push(`file=${view.place.file}`, `line=${view.place.line}`);
  if (view.value) parts.push(`value=${encodeURIComponent(view.value)}`);
  return `#${parts.join("&")}`;
}

function readHash(): void {
  const given = new URLSearchParams(location.hash.slice(1));
  const at = Number(given.get("step") ?? view.step);
  if (Number.isInteger(at) && at >= 0 && at < data.steps.length) view.step = at;
  const line = Number(given.get("line"));
  view.place = line > 0 ? { file: Number(given.get("file") ?? 0), line } : null;
  view.value = given.get("value");
}

function showList(): void {
  const wanted = filter.value.trim().toLowerCase();
  list.replaceChildren(
    ...data.steps.flatMap((one, at) => {
      const seen = (one.changed || one.error !== null || unchanged.checked || at === view.step) && one.text.toLowerCase().includes(wanted);
      return seen ? [row(one, at)] : [];
    }),
  );
}

function row(one: Step, at: number): HTMLElement {
  const item = document.createElement("li");
  item.id = `step-${at}`;
  item.role = "option";
  item.ariaSelected = String(at === view.step);
  item.className = [one.changed ? "" : "idle", one.error === null ? "" : "failed"].join(" ");
  item.title = one.text;
  const counts = Object.entries(MARKS).flatMap(([kind, mark]) => {
    const count = one.counts[kind as keyof typeof MARKS];
    return count ? [span(`k-${kind}`, `${mark}${count}`)] : [];
  });
  item.append(span("name", one.name), span("ms", `${one.ms.toFixed(one.ms < 10 ? 2 : 0)} ms`), span("counts", ""));
  item.lastElementChild?.append(...counts);
  item.addEventListener("click", () => choose({ step: at }));
  return item;
}

function span(name: string, text: string): HTMLElement {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}

function showStep(): void {
  const one = step();
  const [from, to] = [stateBefore(), stateAfter()];
  element("title").textContent = one.text;
  element("doc").textContent = one.error ?? one.doc;
  element("doc").className = one.error === null ? "" : "failed";
  element("before-title").textContent = `before: ${from.level}${size(from)}`;
  element("after-title").textContent = `after: ${to.level}${size(to)}`;
  aligned = areAlike(one) || one.rows.length === 0;
  if (aligned && one.rows.length > 0) {
    const [left, right] = sideBySide(one, from, to, fold.checked);
    before.show(left);
    after.show(right);
  } else {
    before.show(whole(from));
    after.show(whole(to));
  }
  if (aligned) after.scrollToFirstChange();
  showList();
  element(`step-${view.step}`).scrollIntoView({ block: "nearest" });
}

const size = (of: State): string => (of.ops === null ? `, ${of.text.length} lines` : `, ${of.ops} ops`);

function mark(): void {
  for (const [pane, of] of [[before, stateBefore()], [after, stateAfter()]] as const) {
    const lines = of.text.flatMap((_, at) => (samePlace(placeOf(of, at), view.place) ? [at] : []));
    pane.mark(lines, view.value, pane === after || !aligned);
  }
  const place = view.place;
  if (place && String(place.file) !== file.value) showFile(place.file);
  source.mark(place && String(place.file) === file.value ? [place.line - 1] : [], null, true);
  element("place").textContent = place ? `line ${place.line}` : "click a line to follow it";
  element("place").title = place ? (data.files[place.file] ?? "") : "";
}

/** The first line of a file that the frontend's IR comes from. */
function firstLine(index: number): number {
  const { file: files, line: lines } = state(0);
  return Math.min(...lines.filter((_, at) => files[at] === index));
}

function showFile(index: number): void {
  file.value = String(index);
  const lines = (data.sources[String(index)] ?? "").split("\n");
  source.show(lines.map((text, number) => ({ text, number, kind: "same" })));
  source.scrollTo(firstLine(index) - 1);
}

function neighbour(direction: 1 | -1): void {
  const shown = [...list.children].map((item) => Number(item.id.slice(5)));
  const next = shown[shown.indexOf(view.step) + direction];
  if (next !== undefined) choose({ step: next });
}

function onKey(event: KeyboardEvent): void {
  if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j" || event.key === "n") neighbour(1);
  else if (event.key === "k" || event.key === "p") neighbour(-1);
  else if (event.key === "/") filter.focus();
  else if (event.key === "u") unchanged.click();
  else if (event.key === "f") fold.click();
  else return;
  event.preventDefault();
}

function keepTogether(one: HTMLElement, other: HTMLElement): void {
  one.addEventListener("scroll", () => {
    if (aligned && Math.abs(other.scrollTop - one.scrollTop) > 1) other.scrollTop = one.scrollTop;
  });
}

/** The file that most lines of the first state name: the kernel's own. */
function kernelFile(): number {
  const counts = new Map<number, number>();
  for (const at of state(0).file) if (at >= 0) counts.set(at, (counts.get(at) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

data.files.forEach((path, index) => file.add(new Option(path.split("/").at(-1) ?? path, String(index))));
element("kernel").textContent = `${data.kernel}, sm_${data.arch}`;
document.title = `${data.kernel} · minitriton`;
filter.addEventListener("input", showList);
filter.addEventListener("keydown", (event) => {
  if (event.key === "Escape" || event.key === "Enter") filter.blur();
});
unchanged.addEventListener("change", showList);
fold.addEventListener("change", showStep);
file.addEventListener("change", () => showFile(Number(file.value)));
window.addEventListener("hashchange", () => {
  readHash();
  showStep();
  mark();
});
document.addEventListener("keydown", onKey);
keepTogether(before.scroller, after.scroller);
keepTogether(after.scroller, before.scroller);
readHash();
showFile(view.place?.file ?? kernelFile());
showStep();
mark();
document.body.dataset.ready = "true";
