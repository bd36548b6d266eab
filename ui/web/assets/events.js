// What befell a job and what it reported, the latest first.

import { get } from "./api.js";
import { become, h } from "./dom.js";
import { number, plural } from "./format.js";
import { links, when } from "./facts.js";

const atFirst = 12;

// Events are those of a job over all of its attempts, or of one.
export class Events {
  constructor() {
    this.list = h("ol", { class: "events" });
    this.note = h("p", { class: "faint", hidden: true });
    this.more = h("button", { type: "button", class: "small", hidden: true, onclick: () => { this.all = true; this.draw(); } });
    this.el = h("div", {}, this.note, this.list, this.more);
    this.events = [];
    this.only = null; // the attempt whose events alone are shown; null: all
  }

  close() {
    clearTimeout(this.timer);
    this.stop?.abort();
    this.closed = true;
  }

  // show asks again when something may have happened, and not too often.
  show(job, attempt) {
    if (attempt !== this.only) {
      this.only = attempt;
      this.draw();
    }
    const key = JSON.stringify([job.id, job.state, job.attempts.length, job.bid, job.waiting?.why === "held", job.last_checkpoint?.at, job.attempts.at(-1)?.notes.length, job.attempts.at(-1)?.stop?.step, Math.floor(Date.parse(job.progress?.at) / 15000)]);
    if (key === this.key) return;
    const first = this.key === undefined;
    this.key = key;
    this.id = job.id;
    if (first) this.load();
    else this.timer ??= setTimeout(() => { this.timer = null; this.load(); }, 1500);
  }

  async load() {
    this.stop?.abort();
    this.stop = new AbortController();
    try {
      const v = await get(`/api/jobs/${this.id}/events`, this.stop.signal);
      this.events = v.events;
      this.known = true;
      this.left = v.left_out ?? 0;
      this.draw();
    } catch (e) {
      if (e.name === "AbortError" || this.closed || this.events.length > 0) return;
      this.note.textContent = `${e.message}.`;
      this.note.hidden = false;
    }
  }

  draw() {
    if (!this.known) return;
    const list = this.events.toReversed().filter((e) => (e.kind !== "progress" || this.events.length < 5) && (this.only === null || e.attempt === this.only));
    this.note.hidden = list.length > 0;
    if (list.length === 0) this.note.textContent = "Nothing has happened yet.";
    const some = this.all ? list : list.slice(0, atFirst);
    const saves = this.events.filter((e) => e.kind === "checkpoint" && e.path);
    const attempts = new Set(this.events.map((e) => e.attempt).filter((n) => n !== null));
    become(this.list, some.map((e, i) => [
      h("li", { class: e.kind === "ended" && e.state === "failed" ? "bad" : null },
        when(e.at), h("span", {}, attempts.size > 1 && this.only === null && e.attempt !== null ? h("span", { class: "faint" }, `attempt ${e.attempt}: `) : null, saved(e, saves[saves.indexOf(e) - 1]) ?? links(text(e)))),
      this.left > 0 && i === list.length - 2 && h("li", { class: "faint" }, h("span", {}, "…"), h("span", {}, `${plural(this.left, "event")} left out`)),
    ]));
    this.more.hidden = this.all || list.length <= atFirst;
    this.more.textContent = `Show all ${list.length}`;
  }
}

// saved is a checkpoint without the directory that it is in, and without its path if that is as the one's before; null: it
// is no such event. The title has all of it.
function saved(e, before) {
  if (e.kind !== "checkpoint" || !e.path || !e.sentence?.endsWith(` to ${e.path}`)) return null;
  const words = e.sentence.slice(0, -` to ${e.path}`.length);
  return h("span", { title: e.sentence }, e.path === before?.path ? words : `${words} to ${e.path.slice(e.path.lastIndexOf("/", e.path.length - 2) + 1)}`);
}

function text(e) {
  if (e.sentence) return e.sentence;
  return [e.kind, e.step !== null && e.step !== undefined ? `step ${number(e.step)}` : "", e.text ?? "", e.path ?? ""].filter(Boolean).join(" ");
}
