// What a pointer does to something that goes on beyond its frame: drag, wheel, pinch, hover, click.

const click = 5; // pixels that a press may move and be a click still

export class Pointer {
  // acts are pan(dx), zoom(factor, x), hover(x, y) with null when it leaves, click(x, y), and hint() when the wheel turns
  // over what isn't active. All are in pixels of the element.
  constructor(el, acts) {
    this.el = el;
    this.acts = acts;
    this.down = new Map();
    this.moved = 0;
    this.off = new AbortController();
    const on = (name, f, options) => el.addEventListener(name, f, { signal: this.off.signal, ...options });
    on("pointerdown", (e) => this.press(e));
    on("pointermove", (e) => this.move(e));
    on("pointerup", (e) => this.release(e));
    on("pointercancel", (e) => { this.down.delete(e.pointerId); this.moved = Infinity; });
    on("pointerleave", () => { if (this.down.size === 0) acts.hover(null, null); });
    on("wheel", (e) => this.wheel(e), { passive: false });
  }

  close() { this.off.abort(); }

  at(e) {
    const r = this.el.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  }

  press(e) {
    if (e.button !== 0) return;
    if (this.down.size === 0) this.moved = 0;
    this.down.set(e.pointerId, this.at(e));
    this.gap = this.spread();
  }

  // spread is how far two fingers are apart.
  spread() {
    const [a, b] = [...this.down.values()];
    return a && b ? Math.max(10, Math.abs(a[0] - b[0])) : 0;
  }

  move(e) {
    const [x, y] = this.at(e);
    const was = this.down.get(e.pointerId);
    if (!was) {
      if (e.pointerType === "mouse") this.acts.hover(x, y);
      return;
    }
    this.down.set(e.pointerId, [x, y]);
    if (this.down.size === 2) {
      const gap = this.spread();
      const [a, b] = [...this.down.values()];
      this.acts.zoom(this.gap / gap, (a[0] + b[0]) / 2);
      this.gap = gap;
      this.moved = Infinity;
      return;
    }
    this.moved += Math.abs(x - was[0]) + Math.abs(y - was[1]);
    if (this.moved <= click) return;
    if (!this.el.hasPointerCapture(e.pointerId)) this.el.setPointerCapture(e.pointerId);
    this.el.classList.add("dragged");
    this.acts.pan(x - was[0]);
  }

  release(e) {
    if (!this.down.delete(e.pointerId)) return;
    this.gap = this.spread();
    this.el.classList.remove("dragged");
    if (this.down.size === 0 && this.moved <= click) this.acts.click(...this.at(e));
  }

  // The wheel scrolls the page over what nobody has pressed: else the page couldn't be scrolled past it.
  wheel(e) {
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) {
      e.preventDefault();
      this.acts.pan(-(e.deltaX || e.deltaY));
    } else if (e.ctrlKey || e.metaKey || this.el.contains(document.activeElement)) {
      e.preventDefault();
      this.acts.zoom(Math.exp(Math.min(Math.max(e.deltaY, -200), 200) / 300), this.at(e)[0]);
    } else {
      this.acts.hint();
    }
  }
}
