// What there is to know of a job: what it asks for, its times, its memory, what it was submitted with.

import { h } from "./dom.js";
import { active, bytes, clock, ended, finished, gpus, moment, number, pausable, plural, since, span, started } from "./format.js";

// when is a time of day, with all of it on a closer look.
export const when = (at) => (at ? h("time", { datetime: at, title: moment(at) }, clock(at)) : "–");

// until is how long it is to a time, no more exact than what is only expected may be.
export function until(at) {
  const s = (new Date(at) - Date.now()) / 1000;
  if (s <= 0) return "any moment";
  return `in about ${span(roughly(s))}`;
}

export const roughly = (s) => (s >= 600 ? Math.round(s / 60) * 60 : s >= 60 ? Math.round(s / 5) * 5 : Math.ceil(s));

// link is a job's number, to its page.
export const link = (id) => h("a", { href: `/jobs/${id}` }, `#${id}`);

// links makes elements of text in which jobs are named: "#42".
export const links = (text) => text.split(/(#[1-9][0-9]*)/).map((t, i) => (i % 2 === 1 ? link(t.slice(1)) : t));

// list puts commas between nodes.
export const list = (nodes) => nodes.flatMap((n, i) => (i > 0 ? [", ", n] : [n]));

// claims is a claim in words.
export function claims(c) {
  const gpu = c.gpus === 1 ? "one" : c.gpus;
  let s;
  if (c.kind === "none") s = "no GPU";
  else if (c.mem !== null) s = `${bytes(c.mem)} of GPU memory on ${c.gpus === 1 ? "one GPU" : `${gpu} GPUs`}`;
  else if (c.auto) s = `as much GPU memory as such jobs have used on ${c.gpus === 1 ? "one GPU" : `${gpu} GPUs`}`;
  else s = c.gpus === 1 ? "one whole GPU" : `${gpu} whole GPUs`;
  if (c.type) s += ` of type ${c.type}`;
  if (c.ids?.length) s += ` (GPU${c.ids.length > 1 ? "s" : ""} ${c.ids.join(",")})`;
  if (c.external === "avoid") s += " that nobody else uses";
  if (c.limit !== null && c.limit > (c.mem ?? 0)) s += `, charged as ${bytes(c.limit)} with its margin`;
  if (c.ram !== null) s += ` and ${bytes(c.ram)} of host memory`;
  return s;
}

// ran is how long the last attempt has run, now; null: not known.
export function ran(job) {
  const last = job.attempts.at(-1);
  return active(job) && last?.started_at ? since(last.started_at) : last ? last.run_time : job.run_time;
}

// earlier is how long the attempts before the last one ran, in seconds.
const earlier = (job) => job.attempts.slice(0, -1).reduce((n, a) => n + (a.run_time ?? 0), 0);

// facts is the rows: [what, text or nodes].
export function facts(job) {
  const rows = [];
  const row = (what, ...value) => {
    if (value.some((v) => v !== null && v !== undefined && v !== "" && v !== false)) rows.push([what, value]);
  };
  row("Claim", claims(job.claim));
  row("Where", [job.machine, gpus(job.gpus)].filter(Boolean).join(", "));
  row("Bid", String(job.bid), job.preempt && "; to start, it may stop running jobs with a lower one");
  row("Submitted", when(job.created), ` by ${job.submitter}`, job.by && ` for ${job.by}`);
  if (job.queue_time !== job.created && !finished(job)) row("Queued", when(job.queue_time));
  const first = started(job);
  if (first && job.state !== "queued") row("Started", when(first));
  if (ended(job)) row("Ended", when(ended(job)));
  if (ran(job) !== null) row("Ran", h("span", { class: "num", dataset: active(job) ? { since: first } : {} }, span(active(job) ? Math.floor(ran(job)) : ran(job))), earlier(job) > 0 && `, and ${span(Math.round(earlier(job)))} in earlier attempts`);
  if (!finished(job)) {
    const p = job.projected;
    if (!active(job) && p.start) row("Starts", h("span", { class: "num", dataset: { until: p.start } }, until(p.start)), " (", when(p.start), ")");
    if (p.finish) row("Ends", h("span", { class: "num", dataset: { until: p.finish } }, until(p.finish)), " (", when(p.finish), ")");
  }
  if (job.est_runtime !== null) row("Expected", `${job.est_source === "estimate" ? "" : "about "}${span(job.est_source === "estimate" ? job.est_runtime : roughly(job.est_runtime))}`, ` (${job.est_source})`);
  const u = job.usage;
  row("GPU memory", use(u.gpu, u.peak_gpu));
  row("Host memory", use(u.host, u.peak_host));
  const c = job.last_checkpoint;
  if (c) row("Checkpoint", when(c.at), c.step !== null && `, step ${number(c.step)}`, c.path && [", ", h("code", {}, c.path)]);
  row("Lost", lost(job));
  row("Waited", job.lost.queue_wait >= 1 && span(Math.round(job.lost.queue_wait)));
  if (job.group !== null) row("Group", h("a", { href: `/?q=group:${job.group}` }, `#${job.group}`), job.index !== null && `, index ${job.index}`, job.max_concurrent !== null && `, at most ${job.max_concurrent} at once`);
  if (job.params) row("Parameters", Object.entries(job.params).map(([k, v]) => h("div", {}, h("code", {}, `${k}=${v}`))));
  if (job.after.length > 0) row("After", list(job.after.slice(0, 20).map((d) => h("span", {}, link(d.job), { any: ", however it ends", fail: ", if it fails" }[d.on]))), job.after.length > 20 && ` and ${job.after.length - 20} more`);
  if (job.begin) row("Begin", when(job.begin));
  row("Retries", job.retries.max > 0 && `${job.retries.used} of ${job.retries.max} used${job.retries.on ? `, for ${job.retries.on.join(", ")}` : ""}`);
  row("Time limit", job.time_limit !== null && job.time_limit > 0 && `${span(job.time_limit)} for each attempt`);
  row("Grace", span(job.grace));
  if (active(job) && c && !pausable(job)) row("Pause", "it saves, but doesn't say that it can pause: submit such programs with ", h("code", {}, "--pausable"), " or ", h("code", {}, "--resume-command"));
  row("Resumes by", job.resume_command !== null && h("code", {}, job.resume_command));
  if (!finished(job) && !job.preemptible) row("Preemptible", "no: it is never stopped for another job");
  if (job.tags.length > 0) row("Tags", job.tags.map((t) => [h("a", { class: "tag", href: `/?q=${encodeURIComponent(`@${t}`)}` }, t), " "]));
  row("Note", job.note);
  row("Key", job.key !== null && h("code", {}, job.key));
  return rows;
}

function use(now, peak) {
  if (now !== null && peak !== null) return now === peak ? bytes(now) : `${bytes(now)}, at most ${bytes(peak)}`;
  return now !== null ? bytes(now) : peak !== null ? `at most ${bytes(peak)}` : "";
}

function lost(job) {
  const l = job.lost;
  const parts = [];
  if (l.preemptions > 0) parts.push(`${span(l.preemptions)} to preemptions`);
  if (l.failures > 0) parts.push(`${span(l.failures)} to failures`);
  if (!l.known && job.attempts.length > 1) parts.push("not known: it reports no events");
  return parts.join(", ");
}

// warnings are what threatens a job that runs.
export function warnings(job) {
  const out = [];
  if (job.over_limit) {
    const [limit, ram] = [job.claim.limit ?? job.claim.mem, job.claim.ram];
    let what = "more memory than its limit";
    if (job.usage.gpu !== null && limit !== null && job.usage.gpu > limit) what = `${bytes(job.usage.gpu)} of GPU memory, more than its limit of ${bytes(limit)}`;
    else if (job.usage.host !== null && ram !== null && job.usage.host > ram) what = `${bytes(job.usage.host)} of host memory, more than its limit of ${bytes(ram)}`;
    out.push(`It uses ${what}: should memory run short, it is the first to be stopped.`);
  }
  if (!active(job)) return out;
  if (job.est_source === "estimate" && job.est_runtime !== null && job.run_time > job.est_runtime && job.remaining === null) out.push(`It has run longer than the ${span(job.est_runtime)} that were expected.`);
  const at = started(job);
  if (job.time_limit > 0 && at && job.state === "running") {
    const stop = new Date(new Date(at).getTime() + job.time_limit * 1000);
    if (job.projected.finish && new Date(job.projected.finish) > stop) out.push(`Its time limit of ${span(job.time_limit)} would stop it before it ends, ${until(stop)}.`);
  }
  const stop = job.attempts.at(-1)?.stop;
  if (job.state === "stopping" && stop) out.push(`It was asked to stop (${stop.why === "time_limit" ? "time limit" : stop.why})${stop.by ? ` by ${stop.by}` : ""}${stop.step === "kill" ? ", and SIGKILL was sent" : stop.step === "term" ? ", and SIGTERM was sent" : ""}.`);
  return out;
}

export const attemptsOf = (job) => plural(job.attempts.length, "attempt");
