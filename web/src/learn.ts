// The guided tour and the exercises: pages that use the explorer itself.
import { make } from "./dom";
import type { Session } from "./session";
import type { WhatIfTab } from "./whatif";

export class LearnTab {
  constructor(
    readonly session: Session,
    private readonly into: HTMLElement,
    readonly whatIf: WhatIfTab,
  ) {}

  show(): void {
    this.into.replaceChildren(make("p.hint", {}, "Nothing here yet."));
  }
}
