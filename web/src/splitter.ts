// The line between the texts and the drawer, to be dragged, or moved by the arrow keys.

const LEAST = 15;
const MOST = 85;
const STEP = 4;

/** Lets `handle` say how many hundredths of `grid` the drawer takes; gives what sets them. */
export function addSplitter(handle: HTMLElement, grid: HTMLElement): (percent: number) => void {
  const set = (percent: number): void => {
    const part = Math.round(Math.max(LEAST, Math.min(MOST, percent)));
    grid.style.setProperty("--drawer", `${part}%`);
    handle.setAttribute("aria-valuenow", String(part));
  };
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
  });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const { bottom, height } = grid.getBoundingClientRect();
    set((100 * (bottom - event.clientY)) / height);
  });
  handle.addEventListener("keydown", (event) => {
    const by = { ArrowUp: STEP, ArrowDown: -STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    set(Number(handle.getAttribute("aria-valuenow")) + by);
  });
  return set;
}
