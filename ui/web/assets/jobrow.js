// A job's row in the table.

import { h, say } from "./dom.js";
import { active, claim, clock, done, ended, finished, gpus, left, mark, moment, number, since, span, typed } from "./format.js";
import { colour } from "./hue.js";
import { openBid } from "./bid.js";
import { openCancel } from "./cancel.js";

// columns are the heads: a word, and what sorting by it compares, the value that comes first on the first press.
export const columns = [
  { key: "id", word: "Job", by: (j) => j.id },
  { key: "name", word: "Name", by: (j) => j.name.toLowerCase() },
  { key: "state", word: "State", by: (j) => group(j) },
  { key: "bid", word: "Bid", by: (j) => -j.bid },
  { key: "claim", word: "Claim", by: (j) => -weight(j.claim) },
  { key: "time", word: "Time", by: (j) => -spent(j) },
  { key: "about", word: "About" },
];

// group is the place of a job's state in the order of the table.
export const group = (job) => (active(job) ? 0 : job.state === "awaiting" ? 1 : job.state === "queued" ? 2 : job.state === "paused" ? 3 : 4);

// weight orders claims: whole GPUs are more than slices, slices more than none.
const weight = (c) => (c.kind === "none" ? 0 : c.mem !== null ? c.mem * c.gpus : 1e15 * c.gpus) + (c.ram ?? 0) / 1e6;

// spent is the time that a row shows, in seconds.
function spent(job) {
  if (job.state === "queued" || job.state === "awaiting") return since(job.waiting?.since ?? job.queue_time);
  return ran(job) ?? -1;
}

// ran is how long a job ran or has been running by now.
function ran(job) {
  const last = job.attempts.at(-1);
  if (active(job) && last?.started_at) return since(last.started_at);
  return job.run_time;
}

// name is a job's with its place in its group: "train 7{lr=1e-5}".
export function fullName(job) {
  if (job.group === null || job.group === undefined) return job.name;
  const params = Object.keys(job.params ?? {}).sort().map((k) => `${k}=${job.params[k]}`);
  if (params.length === 0 && job.index !== null) return `${job.name} ${job.group}[${job.index}]`;
  return `${job.name} ${job.group}{${[job.index, ...params].filter((w) => w !== null).join(",")}}`;
}

export function progress(p) {
  const parts = [];
  if (p.step !== null) parts.push(`step ${number(p.step)}${p.total > 0 ? ` of ${number(p.total)} (${Math.min(100, Math.round((100 * p.step) / p.total))} %)` : ""}`);
  if (p.rate > 0) parts.push(`${Number(p.rate.toPrecision(3))} steps/s`);
  for (const k of Object.keys(p.metrics ?? {}).sort()) parts.push(`${k} ${number(p.metrics[k])}`);
  return parts.join(", ");
}

// about is what a row says of a job beside its other columns.
function about(job, several) {
  const parts = [];
  if (job.waiting) return job.waiting.sentence.replaceAll("`", "");
  if (job.state === "running" || job.state === "starting") {
    if (several && job.machine) parts.push(job.machine);
    parts.push(gpus(job.gpus));
    if (job.progress) parts.push(progress(job.progress));
    if (job.over_limit) parts.push("over its memory limit");
    return parts.filter(Boolean).join(", ") || job.summary || typed(job);
  }
  if (!finished(job)) return job.summary || typed(job);
  const n = job.attempts.filter((a) => a.run_time !== null).length;
  if (n > 1) parts.push(`${n} attempts`);
  const v = job.verdict;
  if (job.state === "failed" && v) parts.push(v.summary.startsWith(v.reason) ? v.summary : `${v.reason}: ${v.summary}`);
  else if (job.state !== "completed" && (v?.summary || job.summary)) parts.push((v?.summary || job.summary).replace(/^cancelled[: ]*/, "") || typed(job));
  else parts.push(typed(job));
  if (job.state === "completed" && v?.hint) parts.push(`hint: ${v.hint}`);
  return parts.join("; ");
}

// says is what a row shows in words.
export const says = (job, several) => [fullName(job), claim(job.claim), `${job.bid}`, ...when(job), about(job, several)].join(" ");

// when is the time column: what counts, and what else there is to say of it.
function when(job) {
  if (active(job)) {
    const t = ran(job);
    const rest = job.attempts.at(-1)?.started_at ? left(job) : null;
    return [t === null ? "–" : span(Math.floor(t)), rest === null ? (job.est_runtime !== null && Math.max(t, job.run_time ?? 0) > job.est_runtime ? "over its estimate" : "") : rest > 0 ? `${roughly(rest)} left` : "over its estimate"];
  }
  if (finished(job)) return [span(job.run_time), ended(job) ? clock(ended(job)) : ""];
  if (job.projected.start) {
    const start = new Date(job.projected.start);
    return start <= Date.now() ? ["now", ""] : [`~${clock(start)}`, `in ${roughly((start - Date.now()) / 1000)}`];
  }
  if (job.state === "paused") return [span(job.run_time), ""];
  return ["–", `waits ${span(Math.floor(spent(job)))}`];
}

// roughly is a span that is only expected, no more exact than it may be.
export function roughly(seconds) {
  const step = seconds >= 600 ? 60 : seconds >= 60 ? 5 : 1;
  return span(Math.round(seconds / step) * step);
}

export class Row {
  constructor(job) {
    this.mark = h("span", { "aria-hidden": "true" });
    this.word = h("span");
    this.state = h("span", { class: "state" }, this.mark, this.word);
    this.number = h("a", { href: `/jobs/${job.id}`, tabindex: "-1", class: "num" }, `#${job.id}`);
    this.dot = h("span", { class: "dot", "aria-hidden": "true" });
    this.link = h("a", { href: `/jobs/${job.id}`, class: "name" });
    this.tags = h("span", { class: "tags faint" });
    this.bid = h("span");
    this.claim = h("span");
    this.time = h("span");
    this.rest = h("span", { class: "faint" });
    this.fill = h("i");
    this.bar = h("span", { class: "rowbar", "aria-hidden": "true" }, this.fill);
    this.about = h("span", { class: "rowabout" });
    this.acts = h("span", { class: "rowacts" },
      h("button", { type: "button", onclick: () => openBid(this.job) }, "Bid"),
      h("button", { type: "button", onclick: () => openCancel(this.job) }, "Cancel job"));
    const cell = (name, ...children) => h("td", { class: `c-${name}`, role: "cell" }, children);
    this.el = h("tr", { role: "row", dataset: { job: job.id } },
      h("th", { class: "c-id", scope: "row", role: "rowheader" }, this.number),
      cell("name", h("span", { class: "namebox" }, this.dot, this.link, this.tags)),
      cell("state", this.state),
      cell("bid num", this.bid),
      cell("claim", this.claim),
      cell("time num", this.time, " ", this.rest, this.bar),
      cell("about", this.about, this.acts));
    this.update(job);
  }

  // update shows a job as it is; what is as it was isn't touched.
  update(job, several = false) {
    this.job = job;
    this.stale = false;
    const name = fullName(job);
    say(this.link, name);
    if (this.link.title !== name) this.link.title = name;
    say(this.tags, job.tags.map((t) => `@${t}`).join(" "));
    const c = colour(job);
    if (c !== this.colour) this.dot.style.setProperty("--c", this.colour = c);
    if (this.state.dataset.state !== job.state) {
      this.state.dataset.state = job.state;
      this.el.dataset.group = group(job);
      say(this.mark, mark(job.state));
      say(this.word, job.state);
      for (const b of this.acts.children) b.hidden = finished(job);
    }
    say(this.bid, String(job.bid));
    say(this.claim, claim(job.claim));
    const text = about(job, several);
    say(this.about, text);
    if (this.about.title !== text) this.about.title = text;
    this.tick();
  }

  // tick brings the times up to now, and the bar with them.
  tick() {
    const part = active(this.job) ? done(this.job) : null;
    const width = part === null ? "" : `${Math.round(part * 1000) / 10}%`;
    if (width !== this.width) {
      this.width = width;
      this.bar.hidden = width === "";
      this.fill.style.inlineSize = width;
    }
    const [time, rest] = when(this.job);
    say(this.time, time);
    say(this.rest, rest);
    const title = finished(this.job) ? moment(ended(this.job)) : this.job.projected.start && !active(this.job) ? moment(this.job.projected.start) : "";
    if (this.time.title !== title) this.time.title = title;
  }
}
