// Words for values, as the commands write them.

const units = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

// bytes is a size: "23.4 GiB".
export function bytes(n) {
  if (n === null || n === undefined) return "–";
  for (const [name, size] of units) {
    if (Math.abs(n) >= size) return `${(n / size).toFixed(1).replace(/\.0$/, "")} ${name}`;
  }
  return `${n} B`;
}

// ofBytes is a part of a whole in the whole's unit: "63.2/282 GiB".
export function ofBytes(part, whole) {
  const [name, size] = units.find(([, s]) => whole >= s) ?? ["B", 1];
  const one = (n) => (n / size).toFixed(n / size < 100 ? 1 : 0).replace(/\.0$/, "");
  return `${part === null || part === undefined ? "–" : one(part)}/${one(whole)} ${name}`;
}

// span is seconds: "2h5m".
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 0) return `-${span(-seconds)}`;
  if (seconds < 10 && seconds % 1 !== 0) return `${seconds.toFixed(1).replace(/\.0$/, "")}s`;
  const t = Math.round(seconds);
  const [d, h, m, s] = [Math.floor(t / 86400), Math.floor(t / 3600) % 24, Math.floor(t / 60) % 60, t % 60];
  const pair = (a, ua, b, ub) => (b === 0 ? `${a}${ua}` : `${a}${ua}${b}${ub}`);
  if (d > 0) return pair(d, "d", h, "h");
  if (h > 0) return pair(h, "h", m, "m");
  if (m > 0) return pair(m, "m", s, "s");
  return `${s}s`;
}

const today = (t) => t.toDateString() === new Date().toDateString();
const hhmm = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const dayHhmm = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit", hour12: false });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long", hour12: false });

// clock is a time of day, with its day unless that is today.
export function clock(at) {
  if (!at) return "–";
  const t = new Date(at);
  if (today(t)) return hhmm.format(t);
  return Math.abs(t - Date.now()) < 6 * 86400e3 ? dayHhmm.format(t) : date.format(t);
}

// moment is a time to the second, for a title.
export const moment = (at) => (at ? full.format(new Date(at)) : "");

// since is how long ago a time was, in seconds.
export const since = (at) => Math.max(0, (Date.now() - new Date(at)) / 1000);

export const percent = (x) => (x === null || x === undefined ? "–" : `${Math.round(x)} %`);

// number is one that a job reported: short, and right.
export function number(x) {
  if (x === null || x === undefined) return "–";
  if (Number.isInteger(x)) return x.toLocaleString("en").replaceAll(",", "\u202f");
  return Math.abs(x) >= 1e5 || Math.abs(x) < 1e-3 ? x.toExponential(3) : String(Number(x.toPrecision(5)));
}

// plural is a number with its noun.
export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

// sentence is what a refusal or a hint says as a sentence of its own. A name keeps its small letter, as pasar's.
export function sentence(text) {
  const whole = /^[a-z']+[ ,;:]/.test(text) && !text.startsWith("pasar ") ? text[0].toUpperCase() + text.slice(1) : text;
  return whole === "" || /[.!?…]$/.test(whole) ? whole : `${whole}.`;
}

// gpus is which a job is on: "GPU 0", "GPUs 0,1"; nothing for none.
export const gpus = (refs) => (!refs?.length ? "" : `GPU${refs.length > 1 ? "s" : ""} ${refs.map((g) => g.index).join(",")}`);

// claim is what a job asks for, in few letters: "1 GPU", "24 GiB", "2×24 GiB", "no GPU".
export function claim(c) {
  let s = `${c.gpus} GPU${c.gpus > 1 ? "s" : ""}`;
  if (c.kind === "none") s = "no GPU";
  else if (c.mem !== null) s = `${c.gpus > 1 ? `${c.gpus}×` : ""}${c.auto ? "~" : ""}${bytes(c.mem)}`;
  if (c.type) s += ` ${c.type}`;
  return c.ram ? `${s} + ${bytes(c.ram)} RAM` : s;
}

export const states = ["awaiting", "queued", "starting", "running", "stopping", "paused", "completed", "failed", "cancelled"];
export const finished = (job) => job.state === "completed" || job.state === "failed" || job.state === "cancelled";
export const active = (job) => job.state === "starting" || job.state === "running" || job.state === "stopping";

// pausable says whether a job was said to leave when it is asked to pause.
export const pausable = (job) => job.pausable || job.resume_command !== null;

const marks = { awaiting: "?", queued: "○", starting: "●", running: "●", stopping: "◌", paused: "‖", completed: "✓", failed: "✗", cancelled: "–" };

// mark is a state in one sign.
export const mark = (state) => marks[state] ?? "?";

// started and ended are those of the last attempt; null: there is none yet.
export const started = (job) => { const a = job.attempts.at(-1); return a ? a.started_at ?? a.launched_at : null; };
export const ended = (job) => (finished(job) ? job.attempts.at(-1)?.ended_at ?? null : null);

// left is the time that is expected to remain of a job that runs, now, in seconds: not above 0 once it is over; null: not
// known.
export function left(job) {
  return job.remaining > 0 && job.projected.finish ? (new Date(job.projected.finish) - Date.now()) / 1000 : job.remaining;
}

// done is how far a job is, 0 to 1; null: not known. By its estimate it is as far as what remains says: what ran before
// somebody restarted it doesn't count.
export function done(job) {
  const p = job.progress;
  if (p && p.step !== null && p.total) return Math.min(1, Math.max(0, p.step / p.total));
  if (job.state === "running" && job.run_time !== null && job.est_runtime) return Math.min(0.99, Math.max(0, 1 - (left(job) ?? 0) / job.est_runtime));
  return null;
}

// about is what there is to say of a job in one line.
export function about(job) {
  if (job.summary) return job.summary;
  const p = job.progress;
  if (p && p.step !== null) return `${number(p.step)}${p.total ? `/${number(p.total)}` : ""}`;
  return job.command;
}

// words are a command exactly, as a shell needs it.
export function words(job) {
  if (!job.argv.every((a) => typeof a === "string")) return job.command;
  return job.argv.map((a) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(a) ? a : `'${a.replaceAll("'", `'\\''`)}'`)).join(" ");
}

// typed is a job's command as it was typed: of a line for the shell, the line.
export function typed(job) {
  const line = job.argv?.length === 3 && job.argv[0] === "/bin/sh" && job.argv[1] === "-c" && typeof job.argv[2] === "string";
  return line ? job.argv[2] : job.command;
}

// exactly is seconds as a field for a span takes them: "1d2h", "1.5s".
export function exactly(seconds) {
  let rest = seconds;
  let s = "";
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60]]) {
    const n = Math.floor(rest / size);
    if (n > 0) s += `${n}${unit}`;
    rest -= n * size;
  }
  rest = Number(rest.toFixed(3));
  return rest > 0 || s === "" ? `${s}${rest}s` : s;
}

// sized is a size as a field for one takes it: "24GiB", and nothing is lost but parts of a KiB.
export function sized(n) {
  for (const [name, size] of units) if (n % size === 0) return `${n / size}${name}`;
  return `${Math.ceil(n / 1024)}KiB`;
}
