// The drawer below: one tab at a time, shown anew when what is looked at changes.
import { element } from "./dom";
import type { Session } from "./session";

export interface Tab {
  name: string;
  title: string;
  show: () => void | Promise<void>;
}

export class Inspector {
  private asked = 0;

  constructor(
    private readonly session: Session,
    private readonly tabs: readonly Tab[],
    private readonly onTrouble: (error: unknown) => void,
  ) {
    const bar = element("tabs");
    tabs.forEach((tab, at) => {
      const made = document.createElement("button");
      made.type = "button";
      made.id = `tab-${tab.name}`;
      made.role = "tab";
      made.textContent = tab.title;
      made.title = `key ${at < 10 ? (at + 1) % 10 : "tw"[at - 10]!}`;
      made.setAttribute("aria-controls", `panel-${tab.name}`);
      made.addEventListener("click", () => session.choose({ tab: tab.name }));
      bar.append(made);
    });
  }

  /** The element that a tab fills; made when the page is. */
  static panel(name: string): HTMLElement {
    const made = document.createElement("div");
    made.id = `panel-${name}`;
    made.className = "panel";
    made.role = "tabpanel";
    made.hidden = true;
    element("panels").append(made);
    return made;
  }

  select(number: number): void {
    const tab = this.tabs[number];
    if (tab) this.session.choose({ tab: tab.name });
  }

  /** Ends when what was asked for is shown. */
  async show(): Promise<void> {
    const chosen = this.tabs.find((tab) => tab.name === this.session.view.tab) ?? this.tabs[0]!;
    for (const tab of this.tabs) {
      element(`panel-${tab.name}`).hidden = tab !== chosen;
      element(`tab-${tab.name}`).setAttribute("aria-selected", String(tab === chosen));
    }
    const asked = ++this.asked;
    const panels = element("panels");
    panels.setAttribute("aria-busy", "true");
    try {
      await chosen.show();
    } catch (error) {
      this.onTrouble(error);
    } finally {
      if (asked === this.asked) panels.setAttribute("aria-busy", "false");
    }
  }
}
