// The timeline: the memory of the GPUs, and the jobs on them, over time; what was, what is, and what is projected.

import { get, query as search } from "./api.js";
import { h, say, frame } from "./dom.js";
import { late } from "./dialog.js";
import { claim, clock, span } from "./format.js";
import { go } from "./app.js";
import { fullName } from "./jobrow.js";
import { lanes } from "./lanes.js";
import { Pointer } from "./pointer.js";
import { axis, chart, deep, lane, lanesAt, memory, nowLine, top } from "./timelinedraw.js";

const hour = 3600e3;
const ranges = [["6h", 6], ["24h", 24], ["3d", 72], ["7d", 168], ["30d", 720]];
const shortest = 5 * 60e3; // milliseconds that are shown
const longest = 60 * 24 * hour;
const most = 500; // ended jobs that are asked for
const again = 60e3;

export class Timeline {
  constructor(market, address) {
    this.market = market;
    this.address = address;
    this.past = [];
    this.points = [];
    this.bars = []; // where each is drawn
    this.tints = new Map();
    this.chosen = null; // a bar that keys have chosen, or that the pointer is on
    this.height = 0;
    this.buttons = ranges.map(([key]) => h("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => this.address({ range: key === "6h" ? "" : key }, true) }, key.replace("h", " h").replace("d", " d")));
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.ink = h("span", { hidden: true });
    this.text = h("ul", { class: "unseen" });
    this.said = h("p", { class: "unseen", role: "status" });
    this.note = h("p", { class: "faint tlnote" });
    this.lack = h("p", { class: "faint tllack", hidden: true });
    this.stage = h("div", { class: "stage", tabindex: "0", role: "application", "aria-label": "Timeline. Left and Right move in time, plus and minus zoom, 0 is now; Up and Down go from job to job, Enter opens one.", "aria-describedby": "timeline-said" }, this.canvas, this.tip, this.ink);
    this.said.id = "timeline-said";
    this.el = h("section", { class: "card timeline", "aria-labelledby": "timeline-title" },
      h("div", { class: "cardhead" }, h("h2", { id: "timeline-title" }, "Timeline"), this.note,
        h("div", { class: "chips", role: "group", "aria-label": "Range" }, this.buttons),
        h("div", { class: "chips", role: "group", "aria-label": "View" },
          h("button", { type: "button", class: "chip", "aria-label": "Zoom out", onclick: () => this.zoom(1.5) }, "−"),
          h("button", { type: "button", class: "chip", "aria-label": "Zoom in", onclick: () => this.zoom(1 / 1.5) }, "+"),
          h("button", { type: "button", class: "chip", onclick: () => this.home() }, "Now"))),
      this.lack, this.stage, this.said, this.text);
    this.draw = frame(() => this.paint());
    this.soon = late(() => this.fetch(), 250);
    this.pointer = new Pointer(this.stage, {
      pan: (dx) => this.pan(-dx * this.scale()),
      zoom: (factor, x) => this.zoom(factor, x),
      hover: (x, y) => this.hover(x, y),
      click: (x, y) => { const b = this.find(x, y); if (b) go(`/jobs/${b.bar.job.id}`); },
      hint: () => this.hint(),
    });
    this.stage.addEventListener("keydown", (e) => this.key(e));
    this.stage.addEventListener("blur", () => this.choose(null));
    this.size = new ResizeObserver(([e]) => { this.wide = Math.floor(e.contentRect.width); this.draw(); });
    this.size.observe(this.stage);
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => { this.tints.clear(); this.draw(); };
    this.scheme.addEventListener("change", this.recolour);
    this.seen = new IntersectionObserver(([e]) => { this.visible = e.isIntersecting; if (this.visible) this.draw(); });
    this.seen.observe(this.stage);
    this.timer = setInterval(() => {
      if (document.hidden) return;
      this.draw();
      if (Date.now() - this.fetchedAt > again) this.fetch();
    }, 5000);
  }

  close() {
    clearInterval(this.timer);
    this.size.disconnect();
    this.seen.disconnect();
    this.scheme.removeEventListener("change", this.recolour);
    this.pointer.close();
  }

  // query takes the range from the page's address.
  query(params) {
    const [key, hours] = ranges.find(([k]) => k === params.get("range")) ?? ranges[0];
    if (key === this.range) return;
    this.range = key;
    this.hours = hours;
    ranges.forEach(([k], i) => this.buttons[i].setAttribute("aria-pressed", String(k === key)));
    this.home();
  }

  // home shows the range with now in it, and goes on with the time.
  home() {
    this.long = this.hours * hour;
    this.follows = true;
    this.height = 0;
    this.chosen = null;
    this.tip.hidden = true;
    this.draw();
    this.fetch();
  }

  // view is from when until when it shows, in milliseconds.
  view() {
    const now = Date.now();
    if (this.follows) this.from = now - this.long * (this.long > 24.5 * hour ? 0.75 : 0.5);
    return [this.from, this.from + this.long, now];
  }

  gutter() { return this.several || this.wide < 560 ? 76 : 64; }
  scale() { return this.long / Math.max(1, this.wide - this.gutter()); }
  x(t) { return this.gutter() + (t - this.from) / this.scale(); }

  pan(ms) {
    const [from, , now] = this.view();
    this.follows = false;
    this.from = Math.min(Math.max(from + ms, now - longest), now + longest);
    this.moved();
  }

  // zoom keeps what is at x where it is; without one, now if it is shown.
  zoom(factor, x = null) {
    const [from, to, now] = this.view();
    const at = x !== null ? from + (x - this.gutter()) * this.scale() : now > from && now < to ? now : (from + to) / 2;
    const long = Math.min(Math.max(this.long * factor, shortest), longest);
    if (this.follows && (x === null || Math.abs(at - now) < 0.02 * this.long)) {
      this.long = long;
    } else {
      this.follows = false;
      this.from = at - ((at - from) / this.long) * long;
      this.long = long;
    }
    this.moved();
  }

  moved() {
    this.chosen = null;
    this.tip.hidden = true;
    this.draw();
    this.soon();
  }

  // fetch asks for what was, where it isn't known yet.
  async fetch() {
    this.fetchedAt = Date.now();
    const [from, to, now] = this.view();
    const wanted = this.wanted = {};
    const since = new Date(Math.floor(from - this.long / 2)).toISOString();
    const ask = async (path, take) => {
      try {
        const v = await get(path);
        if (wanted !== this.wanted) return;
        take(v);
        this.draw();
      } catch { /* what there is stays; the table says when the connection is lost */ }
    };
    if (from > now) return;
    const until = to + this.long / 2 < now ? new Date(Math.ceil(to + this.long / 2)).toISOString() : null;
    await Promise.all([
      ask(`/api/gpu${search({ since, until, points: 720 })}`, (v) => { this.points = v.gpus; this.step = v.step * 1000; this.lacks = v.note; this.known = new Date(v.from).getTime(); }),
      ask(`/api/jobs${search({ state: "completed,failed,cancelled", since, limit: most })}`, (v) => { this.past = Array.isArray(v) ? v : v.jobs; this.much = this.past.length >= most; }),
    ]);
  }

  update() {
    if (this.height === 0) this.room(this.list()); // at once, so that what is below has its place
    this.draw();
    if (!this.saidAt || Date.now() - this.saidAt > 15000) this.say();
  }

  // tint is a colour of the style sheet, as a canvas takes it.
  tint(name) {
    if (!this.tints.has(name)) {
      this.ink.style.color = `var(--${name})`;
      this.tints.set(name, getComputedStyle(this.ink).color);
    }
    return this.tints.get(name);
  }

  // machines are those with GPUs of their own; whole the GPUs whose memory is drawn.
  whole() {
    return (this.market.status?.machines ?? []).flatMap((m) => m.gpus.filter((g) => !g.virtual && !m.gpus.some((o) => g.parent && o.uuid === g.parent)));
  }

  // list is the lanes between two times: those that are shown.
  list() {
    const [from, to, now] = this.view();
    const machines = this.market.status?.machines ?? [];
    this.several = machines.length > 1;
    return lanes({ jobs: this.market.list(), past: this.past, machines, from, to, now, most: innerWidth < 600 ? 10 : 16 });
  }

  first() { return top + (this.whole().length > 0 ? chart + 8 : 0); }

  // room makes room for lanes, and for what has run without a GPU. It never takes any back, until another range is chosen.
  room({ lanes: list }) {
    const high = this.first() + Math.max(2 * lane, list.reduce((sum, l) => sum + deep(l), 0)) + 6;
    if (high <= this.height) return;
    this.height = high;
    this.stage.style.minBlockSize = `${high}px`;
  }

  paint() {
    const wide = this.wide;
    if (!this.market.known || this.visible === false || !wide || !this.hours) return;
    const found = this.list();
    this.room(found);
    const { lanes: list, hidden } = found;
    const [from, to, now] = this.view();
    const gpus = this.whole();
    const first = this.first();
    const high = this.height;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(wide * ratio) || this.canvas.height !== Math.round(high * ratio)) {
      this.canvas.width = Math.round(wide * ratio);
      this.canvas.height = Math.round(high * ratio);
      this.canvas.style.inlineSize = `${wide}px`;
      this.canvas.style.blockSize = `${high}px`;
    }
    const c = this.canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, wide, high);
    this.font ??= getComputedStyle(this.stage).fontFamily;
    c.font = `12px ${this.font}`;
    c.textBaseline = "middle";
    axis(this, c, from, to, now, high);
    if (gpus.length > 0) memory(this, c, gpus, from, to, now);
    lanesAt(this, c, list, first, now);
    nowLine(this, c, now, from, to, high);
    const notes = [];
    if (hidden > 0) notes.push(`${hidden} more not shown`);
    if (this.much) notes.push(`of those that ended, the newest ${most}`);
    if (this.market.more > 0) notes.push(`of those that wait, the first ${this.market.order.length}`);
    if (Date.now() - (this.hinted ?? 0) > 3000) say(this.note, notes.join("; "));
    const lacks = this.lacks && gpus.length > 0 && from < this.known; // a past that nobody knows looks like one in which nothing was used
    say(this.lack, lacks ? `Memory: ${this.lacks}` : "");
    this.lack.hidden = !lacks;
  }

  find(x, y) {
    return this.bars.find((b) => x >= b.x - 2 && x <= b.x + b.w + 2 && y >= b.y - 2 && y <= b.y + b.h + 2) ?? null;
  }

  hover(x, y) {
    const b = x === null ? null : this.find(x, y);
    this.stage.style.cursor = b ? "pointer" : "";
    if (b?.bar !== this.chosen?.bar) this.choose(b, x);
  }

  // choose shows what there is to say of a bar; null hides it.
  choose(b, x = null) {
    this.chosen = b;
    this.draw();
    this.tip.hidden = !b;
    if (!b) return "";
    const { bar, lane: l } = b;
    const job = bar.job;
    const ends = bar.open ? "its end isn't known" : `${bar.kind === "ran" ? "until" : "until about"} ${clock(bar.to)} (${span(Math.round((bar.to - bar.from) / 1000))})`;
    const lines = [`${l.place}, ${claim(job.claim)}${bar.attempt > 1 ? `, attempt ${bar.attempt}` : ""}`,
      `${bar.kind === "planned" ? `from about ${clock(bar.from)}` : `from ${clock(bar.from)}`}${bar.open ? ";" : ""} ${ends}`,
      bar.kind === "ran" ? [bar.failed ? "failed" : "", job.attempts.find((a) => a.attempt === bar.attempt)?.verdict?.summary].filter(Boolean).join(": ") : bar.kind === "planned" ? job.waiting?.sentence : ""].filter(Boolean);
    this.tip.replaceChildren(h("strong", {}, `#${job.id} ${fullName(job)}`), lines.map((t) => h("span", {}, t)).reduce((f, el) => (f.append(el), f), document.createDocumentFragment()));
    const at = Math.min(Math.max(x ?? Math.max(b.x, this.gutter()), 8), this.wide - 8);
    const right = at > this.wide / 2;
    this.tip.style.insetInlineStart = right ? "auto" : `${at}px`;
    this.tip.style.insetInlineEnd = right ? `${this.wide - at}px` : "auto";
    this.tip.style.insetBlockStart = `${b.y + b.h + 6}px`;
    return `#${job.id} ${fullName(job)}: ${lines.join("; ")}`;
  }

  key(e) {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const order = [...this.bars].filter((b) => b.x + b.w > this.gutter() && b.x < this.wide).sort((a, b) => a.y - b.y || a.x - b.x);
    const walk = (by) => {
      const at = order.findIndex((b) => b.bar === this.chosen?.bar);
      const next = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : Math.min(Math.max(at + by, 0), order.length - 1)];
      say(this.said, next ? this.choose(next) : "nothing is shown here");
    };
    const acts = {
      ArrowLeft: () => this.pan(-this.long / 10), ArrowRight: () => this.pan(this.long / 10), "+": () => this.zoom(1 / 1.5), "=": () => this.zoom(1 / 1.5), "-": () => this.zoom(1.5),
      0: () => this.home(), Home: () => this.home(), ArrowDown: () => walk(1), ArrowUp: () => walk(-1), Escape: () => this.choose(null),
      Enter: () => this.chosen && go(`/jobs/${this.chosen.bar.job.id}`),
    };
    if (!Object.hasOwn(acts, e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    acts[e.key]();
    if (e.key !== "ArrowUp" && e.key !== "ArrowDown") {
      const [from, to] = this.view();
      if (e.key.startsWith("Arrow") || "+-=0".includes(e.key)) say(this.said, `${clock(from)} to ${clock(to)}`);
    }
  }

  hint() {
    this.hinted = Date.now();
    say(this.note, "Ctrl and the wheel zoom; so does the wheel alone after a click here");
  }

  // say writes the lanes out, for who can't see them.
  say() {
    this.saidAt = Date.now();
    const now = Date.now();
    const { lanes: list } = lanes({ jobs: this.market.list(), past: [], machines: this.market.status?.machines ?? [], from: now, to: now + longest, now, most: 100 });
    const places = new Map();
    for (const l of list) places.set(l.place, [...(places.get(l.place) ?? []), ...l.bars]);
    const lines = [...places].map(([place, bars]) => {
      const parts = bars.filter((b) => b.kind !== "ran").sort((a, b) => a.from - b.from).slice(0, 10).map((b) => {
        const name = `#${b.job.id} ${fullName(b.job)}`;
        if (b.kind === "runs") return `${name} runs${b.open ? "" : ` until about ${clock(b.to)}`}`;
        return `${name} from about ${clock(b.from)}${b.open ? "" : ` until ${clock(b.to)}`}`;
      });
      return `${place}: ${parts.join("; ") || "nothing"}`;
    });
    if (this.text.dataset.lines === lines.join("\n")) return;
    this.text.dataset.lines = lines.join("\n");
    this.text.replaceChildren(...lines.map((t) => h("li", {}, t)));
  }
}
