// Making and finding elements.

export function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/** What the page's policy lets styles and scripts through by. */
export const nonce = document.querySelector<HTMLScriptElement>("script[nonce]")?.nonce ?? "";

type Child = Node | string | null;

/** An element with a class, attributes and children: make("td.wide", {title: "t"}, "text"). */
export function make(selector: string, given: Record<string, string> = {}, ...children: Child[]): HTMLElement {
  const [tag = "div", ...classes] = selector.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
  made.append(...children.filter((child): child is Node | string => child !== null));
  return made;
}

export function button(text: string, title: string, onClick: () => void): HTMLButtonElement {
  const made = make("button", { type: "button", title }, text) as HTMLButtonElement;
  made.addEventListener("click", onClick);
  return made;
}

export function table(heads: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  return make(
    "table",
    {},
    make("thead", {}, make("tr", {}, ...heads.map((text) => make(text ? "th" : "td", {}, text)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))))),
  );
}

/** Text in which what stands between backticks is code. */
export function withCode(text: string): (string | HTMLElement)[] {
  return text.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));
}

/** Says what is wrong, or what goes on, over everything; nothing where `text` is empty. */
export function sayTrouble(text: string, isWrong = true): void {
  const banner = element("banner");
  banner.textContent = text;
  banner.classList.toggle("failed", isWrong);
  element("banner-row").hidden = text === "";
}

export function option(text: string, value: string): HTMLOptionElement {
  return new Option(text, value);
}
