// Charts of what an attempt reported and used.

import { get, query } from "./api.js";
import { h, say, script } from "./dom.js";
import { bytes, clock, number, percent } from "./format.js";

const uplot = () => script("/assets/vendor/uplot.js", "/assets/vendor/uplot.css");

const dark = matchMedia("(prefers-color-scheme: dark)");

// tick is a number beside an axis, as short as it goes.
const tick = (v) => (v !== 0 && (Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3) ? v.toExponential() : String(v)).replace("e+", "e");

const seconds = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

// clocks writes times beside an axis, with seconds where they matter.
const clocks = (at) => (at.length > 1 && at[1] - at[0] < 60 ? (v) => seconds.format(new Date(v * 1000)) : (v) => clock(v * 1000));

let probe;

// real is a colour of the style sheets as a canvas needs it.
function real(css) {
  probe ??= document.body.appendChild(h("i", { hidden: true }));
  probe.style.color = css;
  return getComputedStyle(probe).color;
}

// A Chart is one small chart with its name, what its values come to, and a text for who can't see it.
export class Chart {
  // series: [{ name, colour, dash }]; value writes one; x writes where.
  // least is how high its axis is at least, unit which steps its axis may have.
  constructor({ name, series, value, x, time, min, max, least, unit }) {
    this.o = { name, series, value, x, time, min, max, least, unit };
    this.values = series.map(() => h("span", { class: "num" }));
    this.where = h("span", { class: "num" });
    this.place = h("div", { class: "plot", "aria-hidden": "true" });
    this.text = h("span", { class: "unseen" });
    this.el = h("figure", { class: "chart" },
      h("figcaption", {}, h("strong", { title: name }, name),
        h("span", { class: "values", "aria-hidden": "true" }, this.where, series.map((s, i) => h("span", {}, series.length > 1 && [h("i", { style: { background: s.colour } }), s.name, " "], this.values[i]))), this.text),
      this.place);
    this.data = null;
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.place);
    this.repaint = () => this.plot?.redraw(false);
    dark.addEventListener("change", this.repaint);
  }

  close() {
    this.closed = true;
    this.watch.disconnect();
    dark.removeEventListener("change", this.repaint);
    this.plot?.destroy();
    this.plot = null;
  }

  // set draws columns: where, then one for each series; null is a gap. marks are what began where: [where, name].
  async set(data, marks = []) {
    this.data = data;
    this.marks = marks;
    this.sum();
    await uplot();
    if (this.closed || this.data !== data) return;
    if (this.plot) this.plot.setData(data);
    else this.make();
  }

  make() {
    const { series, value, time } = this.o;
    const width = this.place.clientWidth;
    if (width === 0) return; // hidden: as soon as it is seen
    const axis = (more) => ({ stroke: () => real("var(--faint)"), grid: { stroke: () => real("var(--line)"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif", ...more });
    this.plot = new uPlot({
      width, height: this.place.clientHeight, pxAlign: 0,
      legend: { show: false },
      padding: [6, 10, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        x: { time: Boolean(time), range: (_, min, max) => (this.data[0].length > 1 ? [min, max] : time ? [min - 30, min + 30] : [Math.max(0, min - 30), min + 30]) },
        y: { range: (_, min, max) => this.range(min, max) },
      },
      axes: [
        axis({ size: 24, gap: 4, space: time ? 70 : 42, values: (_, at) => at.map(time ? clocks(at) : tick) }),
        axis({ size: 58, gap: 4, space: 28, values: (_, at) => at.map((v) => (value === number ? tick(v) : value(v))), ...(this.o.unit ? { incrs: this.o.unit } : {}) }),
      ],
      series: [{}, ...series.map((s) => ({ stroke: () => real(s.colour), width: 1.6, dash: s.dash, points: { show: this.data[0].length < 2 }, spanGaps: false }))],
      hooks: { setCursor: [() => this.point()], draw: [(u) => this.mark(u)] },
    }, this.data, this.place);
  }

  // mark draws a line at each mark, and its name where there is room.
  mark(u) {
    const c = u.ctx;
    const { left, top, width, height } = u.bbox;
    const px = devicePixelRatio;
    let free = left;
    c.save();
    c.strokeStyle = c.fillStyle = real("var(--faint)");
    c.lineWidth = px;
    c.setLineDash([3 * px, 3 * px]);
    c.font = `${10 * px}px system-ui, sans-serif`;
    c.textAlign = "left";
    c.textBaseline = "top";
    for (const [where, name] of this.marks) {
      const x = u.valToPos(where, "x", true);
      const room = c.measureText(name).width + 8 * px;
      const from = x + room > left + width ? x - room : x;
      c.beginPath();
      c.moveTo(x, top);
      c.lineTo(x, top + height);
      c.stroke();
      if (from < free) continue;
      c.fillText(name, from + 4 * px, top);
      free = from + room;
    }
    c.restore();
  }

  range(min, max) {
    if (min === null || max === null) return [0, 1];
    const lo = this.o.min ?? min;
    const hi = this.o.max ?? Math.max(max, this.o.least ?? max);
    if (lo === hi) return [lo - Math.max(Math.abs(lo) * 0.1, 1e-6), hi + Math.max(Math.abs(hi) * 0.1, 1e-6)];
    const room = (hi - lo) * 0.06;
    return [this.o.min === undefined ? lo - room : lo, this.o.max === undefined ? hi + room : hi];
  }

  resize() {
    if (!this.data || this.closed) return;
    if (!this.plot) {
      if (globalThis.uPlot) this.make();
      return;
    }
    const [width, height] = [this.place.clientWidth, this.place.clientHeight];
    if (width > 0 && (width !== this.plot.width || height !== this.plot.height)) this.plot.setSize({ width, height });
  }

  // sum says in words what the chart shows.
  sum() {
    const { series, value } = this.o;
    const words = series.map((s, i) => {
      const all = this.data[i + 1].filter((v) => v !== null);
      if (all.length === 0) return `${s.name}: nothing known`;
      let [lo, hi] = [Infinity, -Infinity];
      for (const v of all) [lo, hi] = [Math.min(lo, v), Math.max(hi, v)];
      return { name: s.name, last: value(all.at(-1)), lo: value(lo), hi: value(hi) };
    });
    say(this.text, `: ${words.map((w) => (typeof w === "string" ? w : `${series.length > 1 ? `${w.name} ` : ""}last ${w.last}, from ${w.lo} to ${w.hi}`)).join("; ")}${this.marks.map(([where, name]) => `; ${name} from ${this.o.x(where)} on`).join("")}`);
    this.last = words.map((w) => (typeof w === "string" ? "–" : w.last));
    if (!this.pointing) this.tell(this.last);
  }

  // tell writes values beside the name: the last ones, or those under the pointer.
  tell(values, where = "") {
    values.forEach((v, i) => {
      say(this.values[i], v);
      this.values[i].parentElement.hidden = values.length > 1 && this.data[i + 1].every((x) => x === null); // it has none
    });
    say(this.where, where);
  }

  point() {
    const i = this.plot.cursor.idx;
    this.pointing = i !== null && i !== undefined;
    if (this.pointing) this.tell(this.o.series.map((_, k) => (this.data[k + 1][i] === null ? "–" : this.o.value(this.data[k + 1][i]))), this.o.x(this.data[0][i]));
    else this.tell(this.last);
  }
}

const shown = 8; // metrics that are drawn unless more are asked for

// Metrics are the charts of a job's metrics, one for each, over some of its attempts.
export class Metrics {
  // told is called when what was reported has come.
  constructor(told) {
    this.told = told;
    this.grid = h("div", { class: "charts" });
    this.more = h("button", { type: "button", class: "small", hidden: true, onclick: () => { this.all = true; this.draw(); } });
    this.el = h("div", {}, this.grid, this.more);
    this.charts = new Map();
    this.kept = new Map(); // what attempts reported that are over
  }

  close() {
    clearTimeout(this.timer);
    this.timer = null;
    this.asked?.abort();
    for (const c of this.charts.values()) c.close();
    this.charts.clear();
    this.grid.replaceChildren();
    this.id = null;
  }

  // show draws those of attempts, of which all but the last are over. names are those that are known already, so that there
  // is room for them.
  show(id, attempts, colour, names) {
    this.close();
    Object.assign(this, { id, attempts, colour, all: false, points: null, steps: true });
    this.more.hidden = true;
    this.room(names);
    this.load();
  }

  // latest is the last progress of the last attempt; null: it reported none. nothing says that none reported anything.
  get latest() {
    const p = this.points?.findLast((x) => x.step !== null && x.attempt === this.attempts.at(-1));
    return p ? { ...p, rate: null } : null;
  }

  get nothing() { return !this.points || this.points.length === 0; }

  // news asks for what has been reported since, not too often.
  news() {
    if (this.id === null || this.timer) return;
    this.timer = setTimeout(() => { this.timer = null; if (!document.hidden) this.load(); }, 4000);
  }

  async load() {
    const { id, attempts } = this;
    this.asked?.abort();
    this.asked = new AbortController();
    try {
      const points = await Promise.all(attempts.map((n) => this.reported(n)));
      if (this.id !== id || this.attempts !== attempts) return;
      this.points = points.flat();
      this.draw();
      this.told();
    } catch { /* no connection: it is asked for again */ }
  }

  // reported is what an attempt reported; of one that reported nothing, or of which nothing is known any more, nothing.
  async reported(attempt) {
    if (this.kept.has(attempt)) return this.kept.get(attempt);
    const over = attempt !== this.attempts.at(-1);
    let points = [];
    try {
      points = (await get(`/api/jobs/${this.id}/metrics${query({ attempt })}`, this.asked.signal)).points.map((p) => ({ ...p, attempt }));
    } catch (e) {
      if (!(e.status >= 400 && e.status < 500)) throw e;
    }
    if (over) this.kept.set(attempt, points);
    return points;
  }

  // whole is the curve of all attempts, and where those after the first began. What an attempt did again, since it went on
  // from further back, counts as it was done last.
  whole() {
    let points = this.points;
    if (this.steps) {
      let from = Infinity;
      points = this.attempts.toReversed().map((n) => {
        const own = this.points.filter((p) => p.attempt === n);
        const some = own.filter((p) => p.step < from);
        for (const p of own) from = Math.min(from, p.step);
        return some;
      }).reverse().flat();
    }
    const marks = points.filter((p, i) => i > 0 && p.attempt !== points[i - 1].attempt && (this.steps || p.at)).map((p) => [this.where(p), `attempt ${p.attempt}`]);
    return { points, marks };
  }

  where(p) { return this.steps ? p.step : new Date(p.at) / 1000; }

  room(names) {
    for (const name of names.slice(0, this.all ? Infinity : shown)) {
      if (this.charts.has(name)) continue;
      const c = new Chart({ name, series: [{ name, colour: this.colour }], value: number, x: (x) => (this.steps ? `step ${number(x)}` : clock(x * 1000)), time: !this.steps });
      this.charts.set(name, c);
      this.grid.append(c.el);
    }
  }

  draw() {
    const names = new Set();
    for (const p of this.points) for (const name of Object.keys(p.metrics ?? {})) names.add(name);
    const list = [...names].sort();
    const steps = this.points.every((p) => p.step !== null);
    if (steps !== this.steps) {
      for (const c of this.charts.values()) c.close();
      this.charts.clear();
      this.grid.replaceChildren();
      this.steps = steps;
    }
    this.room(list);
    this.more.hidden = this.all || list.length <= shown;
    say(this.more, `Show all ${list.length} metrics`);
    const whole = this.whole();
    for (const [name, c] of this.charts) {
      const points = whole.points.filter((p) => p.metrics?.[name] !== undefined && (this.steps || p.at));
      const xs = points.map((p) => this.where(p));
      const sorted = xs.every((x, i) => i === 0 || x >= xs[i - 1]); // a program may have begun again
      const order = sorted ? xs.map((_, i) => i) : xs.map((_, i) => i).sort((a, b) => xs[a] - xs[b]);
      c.set([order.map((i) => xs[i]), order.map((i) => points[i].metrics[name])], whole.marks.filter(([x]) => x > xs[0] && x <= Math.max(...xs)));
    }
  }
}

// Usage is the charts of what an attempt used.
export class Usage {
  constructor() {
    this.charts = [];
    this.place = h("div", { class: "charts two" });
    this.empty = h("p", { class: "faint", hidden: true });
    this.el = h("div", {}, this.empty, this.place);
  }

  close() {
    clearTimeout(this.timer);
    this.asked?.abort();
    for (const c of this.charts) c.close();
    this.charts = [];
    this.place.replaceChildren();
    this.id = null;
  }

  // show draws that of an attempt; live: it goes on; brief: it was over too soon to be measured.
  show(id, attempt, live, brief) {
    this.close();
    Object.assign(this, { id, attempt, live, brief });
    const time = (x) => clock(x * 1000);
    this.memory = new Chart({ name: "Memory", time: true, x: time, min: 0, least: 2 ** 20, value: bytes, unit: Array.from({ length: 31 }, (_, i) => 2 ** (10 + i)),
      series: [{ name: "GPU", colour: "var(--hue-2)" }, { name: "host", colour: "var(--hue-3)" }] });
    this.use = new Chart({ name: "GPU use", time: true, x: time, min: 0, max: 100, value: percent, series: [{ name: "use", colour: "var(--hue-4)" }] });
    this.charts = [this.memory, this.use];
    this.place.append(this.memory.el, this.use.el);
    this.load();
  }

  async load() {
    const { id, attempt } = this;
    clearTimeout(this.timer);
    this.asked?.abort();
    this.asked = new AbortController();
    try {
      const v = document.hidden ? null : await get(`/api/jobs/${id}/usage${query({ attempt, points: 300 })}`, this.asked.signal);
      if (this.id !== id || this.attempt !== attempt) return;
      if (v) this.draw(v.points);
    } catch (e) {
      if (e.name === "AbortError" || this.id !== id) return;
      if (e.status >= 400 && e.status < 500) {
        this.nothing(e.message);
        return;
      }
    }
    if (this.live) this.timer = setTimeout(() => this.load(), 10000);
  }

  nothing(text) {
    say(this.empty, text);
    this.empty.hidden = false;
    this.place.hidden = true;
  }

  draw(points) {
    if (points.length === 0 || points.every((p) => p.gpu === null && p.host === null && p.use === null)) {
      this.nothing(this.live ? "Nothing has been measured yet." : this.brief ? "It was over before anybody measured it." : "What it used is not known any more.");
      return;
    }
    this.empty.hidden = true;
    this.place.hidden = false;
    const at = points.map((p) => new Date(p.at) / 1000);
    this.memory.set([at, points.map((p) => p.gpu), points.map((p) => p.host)]);
    const gpu = points.some((p) => p.use !== null);
    this.use.el.hidden = !gpu;
    if (gpu) this.use.set([at, points.map((p) => (p.use === null ? null : 100 * p.use))]);
  }
}
