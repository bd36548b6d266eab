// The attempts of a job: its life in one bar, and a table of how each went.

import { h, svg } from "./dom.js";
import { bytes, finished, gpus, plural, since, span } from "./format.js";
import { failure, told } from "./verdict.js";
import { when } from "./facts.js";

const ms = (at) => new Date(at).getTime();

// life is what a job did when, in milliseconds. Between its phases it waits, except in its gaps: there it had ended, or was
// paused, and nobody had started it again.
export function life(job, now) {
  const l = { from: ms(job.created), to: now, phases: [], failed: [], gaps: [], ran: 0, lost: 0, waited: 0 };
  const last = job.attempts.at(-1);
  if (last?.ended_at && finished(job)) l.to = ms(last.ended_at);
  let until = l.from;
  let before = null; // the attempt before a wait
  const waits = [];
  const wait = (to, rested = null) => {
    if (to > until) waits.push({ from: until, to, rested, maybe: before !== null && before.verdict?.reason !== "preempted" });
  };
  job.attempts.forEach((a, i) => {
    let from = Math.max(until, ms(a.started_at ?? a.launched_at));
    const to = a.ended_at ? ms(a.ended_at) : i + 1 < job.attempts.length ? ms(job.attempts[i + 1].launched_at) : l.to;
    if (from >= to) return;
    wait(from);
    before = a;
    l.ran += to - from;
    until = to;
    l.phases.push({ kind: "ran", attempt: a.attempt, from, to });
    if (a.restart_cost > 0) {
      const cost = Math.min(a.restart_cost * 1000, to - from);
      l.lost += cost;
      l.phases.push({ kind: "lost", attempt: a.attempt, from, to: from + cost });
      from += cost;
    }
    if (failure(a.verdict)) l.failed.push(to);
    if (a.wasted > 0) {
      const wasted = Math.min(a.wasted * 1000, to - from);
      l.lost += wasted;
      l.phases.push({ kind: "lost", attempt: a.attempt, from: to - wasted, to });
    }
  });
  const since = job.state === "queued" && job.waiting?.since ? ms(job.waiting.since) : null;
  if (!finished(job)) wait(l.to, job.state === "paused" ? l.to - until : before && since > until ? since - until : null);
  rest(l, waits, Math.max(0, job.lost.queue_wait * 1000 - (since === null ? 0 : now - since)));
  l.words = `${plural(job.attempts.length, "attempt")}: ${[["ran", l.ran], ["lost", l.lost], ["waited", l.waited]].filter(([, t]) => t >= 500).map(([what, t]) => `${what} ${span(Math.round(t / 1000))}`).join(", ")}`.replace(/: $/, "");
  return l;
}

// rest tells waits from gaps. How long a job waited before its attempts in all is known: the rest of the time before them
// went by behind attempts with which the job had ended, each time before it began to wait again.
function rest(l, waits, queued) {
  const open = waits.filter((w) => w.rested === null);
  const maybe = open.filter((w) => w.maybe);
  const sum = (list) => list.reduce((t, w) => t + w.to - w.from, 0);
  const part = Math.min(1, Math.max(0, sum(open) - queued) / (sum(maybe) || 1));
  for (const w of waits) {
    const rested = Math.min(w.to - w.from, w.rested ?? (w.maybe ? part * (w.to - w.from) : 0));
    if (rested > 0) l.gaps.push({ from: w.from, to: w.from + rested });
    l.waited += w.to - w.from - rested;
  }
}

// bar draws a life, without its gaps.
export function bar(job, now = Date.now()) {
  const l = life(job, now);
  const width = 1000;
  const lived = (t) => t - l.from - l.gaps.reduce((sum, g) => sum + Math.max(0, Math.min(t, g.to) - g.from), 0);
  const x = (t) => (width * lived(t)) / Math.max(1, lived(l.to));
  const rect = (p) => svg("rect", { class: p.kind, x: Math.min(width - 2, x(p.from)), y: 0, width: Math.max(2, x(p.to) - x(p.from)), height: 18 });
  const order = [...l.phases.filter((p) => p.kind === "ran"), ...l.phases.filter((p) => p.kind === "lost")]; // what is lost is part of what ran
  return h("figure", { class: "life" },
    svg("svg", { viewBox: `0 0 ${width} 18`, preserveAspectRatio: "none", role: "img", "aria-label": l.words },
      svg("rect", { class: "waited", x: 0, y: 0, width, height: 18 }),
      order.map(rect),
      l.failed.map((t) => svg("rect", { class: "failed", x: Math.max(0, x(t) - 3), y: 0, width: 3, height: 18 }))),
    h("figcaption", {}, h("span", { "aria-hidden": "true" }, l.words),
      h("span", { class: "legend", "aria-hidden": "true" }, ["ran", "lost", "waited"].map((k) => h("span", { class: k }, h("i"), k)))));
}

// ending is how an attempt's process ended.
export function ending(a) {
  const names = { 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS" };
  if (a.signal) return `signal ${a.signal}${names[a.signal] ? ` (${names[a.signal]})` : ""}`;
  return !a.exit_code ? "" : `exit code ${a.exit_code}`;
}

// after is what a sentence says beyond the word that it begins with.
const after = (sentence, word) => (sentence.startsWith(word) ? sentence.slice(word.length) : ` ${sentence}`);

function end(a) {
  if (!a.ended_at) return h("span", { class: "faint" }, a.started_at ? "runs" : "starts");
  const more = [ending(a), a.peak_gpu > 0 && `${bytes(a.peak_gpu)} of GPU memory at most`, a.wasted > 0 && `${span(a.wasted)} of work lost`, a.restart_cost > 0 && `${span(a.restart_cost)} to get back to where it was`].filter(Boolean).join(", ");
  return [a.verdict ? h("span", { class: "told" }, h("code", { class: failure(a.verdict) ? "bad" : null }, a.verdict.reason), after(told(a.verdict), a.verdict.reason)) : null, more && h("small", { class: "faint" }, more)];
}

// table lists attempts, the latest first; shown is the one that the page shows.
export function table(job, shown) {
  return h("table", { class: "attempts" },
    h("caption", { class: "unseen" }, `Attempts of #${job.id}`),
    h("thead", {}, h("tr", {}, ["Attempt", "Where", "Started", "Ran", "How it ended"].map((t, i) => h("th", { scope: "col", class: i === 1 || i === 2 ? "wide" : i === 3 ? "num" : null }, t)))),
    h("tbody", {}, job.attempts.toReversed().map((a) => h("tr", { class: a.attempt === shown ? "chosen" : null },
      h("th", { scope: "row" }, job.attempts.length === 1 ? `${a.attempt}`
        : h("a", { href: a === job.attempts.at(-1) ? `/jobs/${job.id}` : `?attempt=${a.attempt}`, "aria-current": a.attempt === shown ? "true" : null, "aria-label": `attempt ${a.attempt}` }, `${a.attempt}`)),
      h("td", { class: "wide" }, [a.machine, gpus(a.gpus)].filter(Boolean).join(", ")),
      h("td", { class: "wide" }, when(a.started_at ?? a.launched_at)),
      h("td", { class: "num" }, a.ended_at || !a.started_at ? span(a.run_time) : h("span", { dataset: { since: a.started_at } }, span(Math.floor(since(a.started_at))))),
      h("td", { class: "end" }, end(a))))));
}
