// The attempts of a job: its life in one bar, and a table of how each went.

import { h, svg } from "./dom.js";
import { bytes, finished, plural, since, span } from "./format.js";
import { failure, told } from "./verdict.js";
import { gpus, when } from "./facts.js";

const ms = (at) => new Date(at).getTime();

// life is what a job did when, in milliseconds. Between its phases it waits.
export function life(job, now) {
  const l = { from: ms(job.created), to: now, phases: [], failed: [], ran: 0, lost: 0, waited: 0 };
  const last = job.attempts.at(-1);
  if (last?.ended_at && finished(job)) l.to = ms(last.ended_at);
  let until = l.from;
  job.attempts.forEach((a, i) => {
    let from = Math.max(until, ms(a.started_at ?? a.launched_at));
    const to = a.ended_at ? ms(a.ended_at) : i + 1 < job.attempts.length ? ms(job.attempts[i + 1].launched_at) : l.to;
    if (from >= to) return;
    l.waited += from - until;
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
  if (until < l.to && !finished(job)) l.waited += l.to - until;
  if (job.lost.queue_wait > 0) l.waited = Math.max(job.lost.queue_wait * 1000, job.state === "queued" ? l.waited : 0); // between a failure and somebody's restart it didn't wait
  l.words = `${plural(job.attempts.length, "attempt")}: ${[["ran", l.ran], ["lost", l.lost], ["waited", l.waited]].filter(([, t]) => t >= 500).map(([what, t]) => `${what} ${span(Math.round(t / 1000))}`).join(", ")}`.replace(/: $/, "");
  return l;
}

// bar draws a life.
export function bar(job, now = Date.now()) {
  const l = life(job, now);
  const width = 1000;
  const x = (t) => (width * (t - l.from)) / Math.max(1, l.to - l.from);
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
