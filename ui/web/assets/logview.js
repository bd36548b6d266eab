// A job's output as it comes: lines of text, and nothing of them is ever markup.

import { follow, get, query, stream } from "./api.js";
import { frame, h, say, toast } from "./dom.js";
import { bytes, plural } from "./format.js";

const most = 5000; // lines in the page; older ones are dropped
const atFirst = 1000;
const chunk = 250; // lines in one block, which is dropped as a whole
const atOnce = 250; // lines that are added before one painting: a flood leaves the page its time
const budget = 12; // milliseconds that they may take

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

let [heard, told] = ["", ""];

// second is a time to the second. Lines of a flood have the same one.
function second(at) {
  const s = at.slice(0, 19);
  if (s !== heard) [heard, told] = [s, clock.format(new Date(at))];
  return told;
}

// A LogView shows the output of one attempt, or of a job's latest and those that follow it.
export class LogView {
  constructor() {
    this.text = h("div", { class: "log nowrap", role: "log", "aria-live": "off", tabindex: "0" });
    this.partial = h("div", { class: "line partial", hidden: true });
    this.blocks = h("div", {});
    this.dropped = h("p", { class: "dropped", hidden: true });
    this.empty = h("p", { class: "faint none" });
    this.text.append(this.dropped, this.blocks, this.partial, this.empty);
    this.raw = h("a", { class: "button small", download: true, onclick: (e) => follow(e, toast) }, "Download");
    this.find = h("input", { type: "search", class: "small", placeholder: "Find", "aria-label": "Find in the output", autocomplete: "off", spellcheck: "false", oninput: () => this.seek(), onkeydown: (e) => this.findKey(e) });
    this.hits = h("span", { class: "faint num hits", role: "status" });
    const toggle = (name, on, f) => {
      const b = h("button", { type: "button", class: "small", "aria-pressed": String(on), onclick: () => { b.setAttribute("aria-pressed", String(b.getAttribute("aria-pressed") !== "true")); f(b.getAttribute("aria-pressed") === "true"); } }, name);
      return b;
    };
    const steps = [["‹", "Previous match", -1], ["›", "Next match", 1]].map(([sign, name, by]) => h("button", { type: "button", class: "small step", "aria-label": name, onclick: () => this.step(by) }, sign));
    this.steps = h("span", { class: "steps", hidden: true }, steps);
    this.end = h("button", { type: "button", class: "small toend", hidden: true, onclick: () => this.toEnd() });
    this.el = h("div", { class: "logview" },
      h("div", { class: "tools" }, this.find, this.steps, this.hits, h("span", { class: "gap" }),
        toggle("Times", false, (on) => this.keep(() => this.text.classList.toggle("times", on))),
        toggle("Wrap", false, (on) => this.keep(() => this.text.classList.toggle("nowrap", !on))),
        this.raw),
      h("div", { class: "logbox" }, this.text, this.end));
    this.text.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.flush = frame(() => this.append()); // adds what has come, once before a painting
    this.clear();
  }

  clear() {
    this.queue = [];
    this.next = 0; // in the queue: those before it have been added, or dropped
    this.count = 0;
    this.lost = 0; // lines that were dropped
    this.unseen = 0;
    this.stuck = true; // to the bottom
    this.last = null; // the partial line to be shown
    this.found = [];
    this.at = -1;
    this.attempt = 0;
    this.first = null; // the first line that came: its text, where it ends, and when
    this.got = 0;
    this.early = undefined;
    this.blocks.replaceChildren();
    this.partial.hidden = this.dropped.hidden = this.end.hidden = true;
    say(this.empty, "…");
    this.empty.hidden = false;
  }

  // show follows the output of a job: of one attempt, or with null of the latest and then of those that follow. attempts is
  // how many attempts there are.
  show(id, attempt, attempts) {
    this.close();
    this.clear();
    this.id = id;
    this.only = attempt;
    this.attempts = this.asked = attempts;
    this.text.setAttribute("aria-label", `Output of #${id}${attempt === null ? "" : `, attempt ${attempt}`}`);
    this.raw.href = `/api/jobs/${id}/logs${query({ raw: true, attempt })}`;
    this.source = stream(`/api/jobs/${id}/logs${query({ follow: true, lines: atFirst, attempt })}`, {
      line: (v, e) => { this.last = null; this.first ??= [v.line, e.lastEventId, Date.now()]; this.got++; this.put(v); },
      partial: (v) => { this.last = v; this.flush(); },
      attempt: (v) => { if (this.attempt !== 0 && this.attempt !== v.attempt) this.put({ note: `attempt ${v.attempt}` }); this.attempt = v.attempt; },
      gap: (v) => this.put({ note: `${bytes(v.to - v.from)} of output are not to be had` }),
      lagged: () => this.put({ note: "lines were left out: this page was too slow for them" }),
      end: (v) => {
        this.ended = true;
        this.asked = Math.max(this.asked, v.attempt ?? 0);
        this.source?.close();
        this.flush();
        this.goOn();
      },
    }, { open: () => { this.opened = true; this.flush(); }, lost: () => { if (!this.opened) this.refused(); }, resume: true });
  }

  // follow is told how many attempts there are by now.
  follow(attempts) {
    this.attempts = attempts;
    this.goOn();
  }

  // goOn goes on behind what is here when the output ended with the job, or while it was paused, and another attempt has
  // begun since. Each is asked for once: one that never ran has no output.
  goOn() {
    if (!this.source || !this.ended || this.only !== null || this.attempts <= this.asked) return;
    this.asked = this.attempts;
    this.opened = this.ended = false;
    if (this.count === 0) say(this.empty, "…");
    this.source.connect();
  }

  // short says that there is little to show, and no more to come.
  short(yes) { this.text.classList.toggle("short", yes); }

  // refused asks why there is no output: who listens to events isn't told.
  async refused() {
    const source = this.source;
    try {
      await get(`/api/jobs/${this.id}/logs${query({ lines: 1, attempt: this.only })}`);
    } catch (e) {
      if (source !== this.source || e.status === 0 || e.status >= 500 || e.status < 400) return; // it is tried again
      source?.close();
      this.ended = true;
      say(this.empty, `${e.message}.`);
    }
  }

  close() {
    this.source?.close();
    this.source = null;
    this.opened = this.ended = false;
  }

  // put takes a line as it comes. Those that would be dropped as soon as they are added are never added.
  put(v) {
    this.queue.push(v);
    const over = this.queue.length - this.next - most;
    if (over > 0) {
      this.next += over;
      this.lost += over;
    }
    this.flush();
  }

  // append adds what has come, not all of a flood at once.
  append() {
    if (!this.source) return;
    const until = performance.now() + budget;
    let lines = 0;
    while (this.next < this.queue.length && lines < atOnce && (lines % 16 !== 0 || performance.now() < until)) {
      this.add(this.queue[this.next++]);
      lines++;
    }
    if (this.next > most || this.next === this.queue.length) {
      this.queue = this.queue.slice(this.next);
      this.next = 0;
    }
    const rest = this.queue.length - this.next;
    while (this.count > most) {
      const first = this.blocks.firstChild;
      this.lost += first.childElementCount;
      this.count -= first.childElementCount;
      first.remove();
    }
    if (this.lost > 0 || this.began) {
      this.dropped.hidden = false;
      say(this.dropped, `${this.began ? "Earlier lines" : plural(this.lost, "earlier line")} left out here: Download has all of the output.`);
    }
    this.partial.hidden = this.last === null || rest > 0;
    if (!this.partial.hidden) this.fill(this.partial, this.last);
    this.empty.hidden = this.count > 0 || !this.partial.hidden;
    if (!this.empty.hidden && (this.opened || this.ended) && this.empty.textContent === "…") say(this.empty, this.ended ? "It wrote nothing." : "It has written nothing so far.");
    if (this.ended && this.count === 0) say(this.empty, this.empty.textContent === "It has written nothing so far." ? "It wrote nothing." : this.empty.textContent);
    if (this.stuck) this.toEnd();
    else {
      this.unseen += lines;
      this.more();
    }
    if (this.find.value && lines > 0 && (rest === 0 || performance.now() - this.soughtAt > 500)) this.seek(true);
    if (rest > 0) this.flush();
  }

  // began says whether there was output before what came first: as many lines as were asked for came at once, and the
  // first of them ends further behind than it is long.
  get began() {
    if (this.first === null || this.got < atFirst) return false;
    const [text, at, when] = this.first;
    return (this.early ??= Date.now() - when < 2000 && Number(at.split(":")[1]) > 2 * new Blob([text]).size + 2);
  }

  add(v) {
    let block = this.blocks.lastChild;
    if (!block || block.childElementCount >= chunk) this.blocks.append(block = h("div", { class: "block" }));
    const el = h("div", { class: v.note ? "line mark" : "line" });
    if (v.note) el.textContent = v.note;
    else this.fill(el, v);
    block.append(el);
    this.count++;
  }

  fill(el, v) {
    el.textContent = v.line;
    el.dataset.at = v.at ? second(v.at) : "";
    el.classList.toggle("stderr", v.stream === "stderr");
  }

  // keep does what changes how high lines are, and stays where the reader is.
  keep(f) {
    const stuck = this.stuck;
    f();
    if (stuck) this.toEnd();
  }

  scrolled() {
    const t = this.text;
    this.stuck = t.scrollHeight - t.scrollTop - t.clientHeight < 12;
    if (this.stuck) this.unseen = 0;
    this.more();
  }

  more() {
    this.end.hidden = this.stuck;
    if (!this.stuck) say(this.end, this.unseen > 0 ? `↓ ${plural(this.unseen, "new line")}` : "↓ To the end");
  }

  toEnd() {
    this.stuck = true;
    this.unseen = 0;
    this.text.scrollTop = this.text.scrollHeight;
    this.end.hidden = true;
  }

  // seek finds what is asked for in all lines that are here.
  seek(grown = false) {
    this.soughtAt = performance.now();
    const word = this.find.value.toLowerCase();
    const current = this.found[this.at];
    this.found = word === "" ? [] : [...this.blocks.querySelectorAll(".line")].filter((el) => el.textContent.toLowerCase().includes(word));
    this.steps.hidden = word === "";
    this.paint(word);
    if (grown) {
      this.at = this.found.indexOf(current);
      this.told();
    } else {
      this.at = this.found.length;
      current?.classList.remove("hit");
      this.step(-1); // the latest one first
    }
  }

  told() { say(this.hits, this.find.value === "" ? "" : this.found.length === 0 ? "not found" : `${Math.max(0, this.at) + 1} of ${this.found.length}`); }

  step(by) {
    this.found[this.at]?.classList.remove("hit");
    if (this.found.length > 0) {
      this.at = (this.at + by + this.found.length) % this.found.length;
      const el = this.found[this.at];
      el.classList.add("hit");
      this.stuck = false;
      el.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    this.told();
  }

  findKey(e) {
    if (e.key === "Enter") this.step(e.shiftKey ? 1 : -1);
    else if (e.key === "Escape" && this.find.value) this.find.value = "", this.seek();
    else return;
    e.preventDefault();
  }

  // paint marks each place where it was found, where the browser can do that without markup.
  paint(word) {
    if (!globalThis.CSS?.highlights) return;
    const ranges = [];
    for (const el of this.found) {
      const node = el.firstChild;
      const text = node?.data.toLowerCase() ?? "";
      if (text.length !== node?.data.length) continue; // its small letters aren't as many
      for (let i = text.indexOf(word); i >= 0 && ranges.length < 2000; i = text.indexOf(word, i + word.length)) {
        const r = new Range();
        r.setStart(node, i);
        r.setEnd(node, i + word.length);
        ranges.push(r);
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }
}
