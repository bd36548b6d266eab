// Why an attempt ended: the verdict, and the lines of the output that show it.

import { h } from "./dom.js";
import { bytes } from "./format.js";

const blamed = {
  job: "the job, its program or its data", machine: "the machine", environment: "the environment around the job", pasar: "pasar",
  user: "who submitted or stopped it", provider: "the provider",
};

const fine = new Set(["completed", "cancelled", "preempted", "paused", "dependency"]);

// failure says whether an attempt that ended so failed.
export const failure = (verdict) => verdict !== null && !fine.has(verdict.reason);

// told is a verdict in a line.
export function told(d) {
  if (!d.summary) return d.reason;
  return d.summary.startsWith(d.reason) ? d.summary : `${d.reason}: ${d.summary}`;
}

// code makes elements of text in which commands stand in backticks.
export function code(text) {
  return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));
}

// buttons are what a button of the page does as well as the command of its name, in the words of hints.
const buttons = { restart: "queues it again" };

const onButton = (part) => Object.entries(buttons).some(([verb, does]) => part === `\`pasar ${verb}\` ${does}`);

// hints are what to do about an end, beside what buttons say already; null: there is nothing to say.
export function hints(id, d) {
  const left = (d?.hint ?? "").split("\n").map((l) => l.split("; ").filter((part) => !onButton(part)).join("; ")).filter(Boolean);
  if (left.length === 0) return null;
  const lines = left.map((l) => l.replaceAll("`pasar restart`", `\`pasar restart ${id}\``));
  return h("div", { class: "hint" }, lines.map((l) => h("p", {}, h("strong", {}, "Hint: "), code(l))));
}

function again(d) {
  if (d.retryable === null || d.hint.includes("pasar restart")) return null;
  return h("p", { class: "faint" }, d.retryable ? "It may well succeed as it is." : "Started again unchanged, it would most likely fail in the same way.");
}

// verdict is all there is to say of a failed attempt, or of a job that failed without one.
export function verdict(job, attempt, d) {
  const x = excerpt(d, attempt?.tail ?? []);
  const sure = [d.confidence, d.blame && `to blame: ${blamed[d.blame] ?? d.blame}`].filter(Boolean).join("; ");
  return [
    h("p", { class: "reason" }, h("strong", {}, d.summary || d.reason)),
    h("p", { class: "faint sure" }, h("code", {}, d.reason), sure && ` ${sure}`),
    x.lines.length > 0 && h("figure", { class: x.lines.some((l) => l.number) ? "excerpt" : "excerpt plain" },
      h("figcaption", {}, x.roots ? "From the output, in the job's own words. The marked line shows it." : "The last output, in the job's own words."),
      h("ol", {}, x.lines.map(line))),
    x.lines.length === 0 && attempt && h("p", { class: "faint" }, attempt.output === 0 ? "It wrote nothing." : attempt.output === null ? null : `Of its ${bytes(attempt.output)} of output nothing is at hand here.`),
    x.facts.length > 0 && h("ul", { class: "also" }, x.facts.map((f) => h("li", {}, "Also: ", f))),
    (attempt?.xids ?? []).map((v) => h("p", {}, `Its GPU reported Xid ${v.code}${v.meaning ? ` (${v.meaning})` : ""}.`)),
    hints(job.id, d),
    again(d),
  ];
}

function line(l) {
  if (l.gap) return h("li", { class: "gap", "aria-label": "lines left out" }, "…");
  return h("li", { class: l.root ? "root" : l.rests ? "rests" : null },
    h("span", { class: "number", "aria-hidden": l.number ? null : "true" }, l.number ? h("span", { class: "unseen" }, "line ") : null, l.number || ""),
    l.root ? h("mark", {}, l.text || " ") : h("span", {}, l.text || " "));
}

const same = (line, quoted) => {
  const [a, b] = [line.trim(), quoted.trim()];
  return b.length > 1 && b.endsWith("…") ? a.startsWith(b.slice(0, -1)) : a === b && a !== "";
};

const before = 3; // lines that are shown around one that a verdict rests on
const after = 1;

// excerpt takes what matters from the end of an output: the lines that the verdict rests on, some around each, and the
// last few. An output that has none of those lines is shown by its last ones.
export function excerpt(d, tail) {
  const found = onlyLast(d, tail) ? [] : d.evidence;
  const base = firstNumber(d.evidence, tail);
  const lines = new Map(); // by their place in the tail; those before it are below 0
  const facts = [];
  let roots = false;
  for (const e of found) {
    let i = base && e.line ? e.line - base : tail.findIndex((t) => same(t, e.text));
    if (!(base && e.line) && i < 0) {
      if (!e.line) {
        facts.push(e.text);
        continue;
      }
      i = e.line - 1e9; // above all of the tail
    }
    if (lines.has(i)) continue;
    lines.set(i, { number: e.line, text: i >= 0 && i < tail.length && same(tail[i], e.text) ? tail[i] : e.text, rests: true, root: !roots });
    roots = true;
  }
  const shown = new Set();
  const last = roots ? before + after : 10;
  for (let i = Math.max(0, tail.length - last); i < tail.length; i++) shown.add(i);
  for (const i of lines.keys()) {
    for (let k = Math.max(0, i - before); k <= Math.min(tail.length - 1, i + after); k++) shown.add(k);
    shown.add(i);
  }
  const out = [];
  let at = null;
  for (const i of [...shown].sort((a, b) => a - b)) {
    const l = lines.get(i) ?? { number: 0, text: tail[i] };
    if (base && i > -1e8) l.number = base + i;
    if (at !== null && i > at + 1) out.push({ gap: true });
    out.push(l);
    at = i;
  }
  while (out.length > 0 && !out.at(-1).rests && !out.at(-1).gap && out.at(-1).text.trim() === "") out.pop();
  return { lines: out, facts, roots };
}

// firstNumber is the number of the tail's first line, by most of the numbered lines that are in it; 0 if none is.
function firstNumber(evidence, tail) {
  const votes = new Map();
  let best = 0;
  for (const e of evidence) {
    tail.forEach((t, i) => {
      const n = e.line - i;
      if (!e.line || n < 1 || !same(t, e.text)) return;
      votes.set(n, (votes.get(n) ?? 0) + 1);
      if (votes.get(n) > (votes.get(best) ?? 0)) best = n;
    });
  }
  return best;
}

const unclear = new Set(["exit", "signal", "interrupted", "time_limit", "lost", "oom"]);

// onlyLast says whether a verdict quotes just the last lines of an output, for want of one that says why.
function onlyLast(d, tail) {
  if (!unclear.has(d.reason)) return false;
  const quoted = d.evidence.filter((e) => e.line || tail.some((t) => same(t, e.text)));
  const said = tail.filter((t) => t.trim() !== "");
  return quoted.length > 1 && quoted.length === d.evidence.length && said.length >= quoted.length &&
    quoted.every((e, i) => same(said[said.length - quoted.length + i], e.text));
}
