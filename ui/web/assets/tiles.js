// Tiles: what the machines have, who uses it, and how it is doing.

import { get } from "./api.js";
import { h, say, svg } from "./dom.js";
import { bytes, clock, moment, ofBytes, percent, plural, since } from "./format.js";
import { colour } from "./hue.js";
import { fullName } from "./jobrow.js";
import { fill } from "./keyed.js";

const nearHot = 10; // degrees below being hot from which a GPU is warm
const stale = 30; // seconds: how old a look at GPUs may be before that is worth saying
const every = 60000; // milliseconds from one look at their history to the next
const recent = 86400; // seconds: how long an incident is shown

// heat is by how many degrees a GPU is hotter than where it is hot from; where that isn't known, by none that counts.
function heat(g) {
  return g.temp_c === null || g.hot_c === null ? -Infinity : g.temp_c - g.hot_c;
}

function warmth(over) {
  return over >= 0 ? "bad" : over >= -nearHot ? "warn" : "";
}

export class Tiles {
  constructor(market) {
    this.market = market;
    this.series = new Map();
    this.notices = h("div", { class: "notices" });
    this.machines = h("div", { class: "machines" });
    this.legend = h("p", { class: "memlegend faint", "aria-hidden": "true" },
      [["used", "used"], ["claimed", "claimed"], ["stranger", "not pasar's"], ["left", "left behind"]].map(([kind, word]) => h("span", {}, h("i", { class: `seg ${kind}` }), word)));
    this.el = h("section", { class: "card gpus", "aria-labelledby": "gpus-title" }, h("div", { class: "cardhead" }, h("h2", { id: "gpus-title" }, "GPUs"), this.legend), this.machines);
    this.tiles = new WeakMap();
    this.look();
    this.timer = setInterval(() => { if (!document.hidden) this.look(); }, every);
    this.seen = () => { if (!document.hidden && Date.now() - this.lookedAt > every) this.look(); };
    document.addEventListener("visibilitychange", this.seen);
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
  }

  // look asks how GPUs were used in the last 24 hours.
  async look() {
    this.lookedAt = Date.now();
    try {
      const v = await get("/api/gpu?since=24h&points=720");
      this.span = [new Date(v.from).getTime(), new Date(v.until).getTime()];
      this.step = v.step * 1000;
      this.series = new Map(v.gpus.map((g) => [g.uuid, g.points]));
      if (this.market.status) this.update();
    } catch { /* tiles are as good without it */ }
  }

  update() {
    const status = this.market.status;
    if (!status) return;
    this.notice(status);
    const all = status.machines;
    const gpus = all.flatMap((m) => whole(m.gpus));
    const several = all.length > 1;
    const strange = all.some((m) => m.gpus.some((g) => occupied(g).foreign > 0));
    this.legend.children[2].hidden = !strange;
    this.legend.children[3].hidden = !all.some((m) => m.gpus.some((g) => g.leaving.length > 0));
    this.legend.hidden = gpus.length === 0;
    fill(this.machines, all.map((m) => m.name), (name) => h("div", { class: "machine" }, h("h3", {}, name), h("div", { class: "tiles" })), (el, name) => {
      const m = all.find((x) => x.name === name);
      el.firstChild.hidden = !several;
      const pool = whole(m.gpus).length > 1 ? ["pool"] : [];
      fill(el.lastChild, [...pool, ...family(m.gpus).map((g) => g.uuid || `index ${g.index}`), "host"], (key) => this.make(key), (tile, key) => {
        const t = this.tiles.get(tile);
        if (key === "pool") this.pool(t, whole(m.gpus));
        else if (key === "host") host(t, m);
        else this.gpu(t, m.gpus.find((g) => (g.uuid || `index ${g.index}`) === key), m.gpus);
        const about = `More of ${t.title.textContent}`;
        if (t.more.getAttribute("aria-label") !== about) t.more.setAttribute("aria-label", about);
      });
    });
  }

  // notice tells what a person should see of the daemon and the machines.
  notice(status) {
    const list = [];
    if (status.problem) list.push(["bad", status.problem, null]);
    if (status.warning) list.push(["warn", status.warning, null]);
    for (const in_ of [...status.incidents].reverse().filter((i) => since(i.at) < recent).slice(0, 3)) list.push(["warn", [in_.what, in_.detail].filter(Boolean).join(": "), in_.at]);
    fill(this.notices, list.map((n) => n.join(" ")), (key) => {
      const [kind, text, at] = list.find((n) => n.join(" ") === key);
      return h("p", { class: `notice ${kind}` }, at && h("time", { datetime: at, title: moment(at) }, clock(at)), at ? " " : "", text);
    });
  }

  make() {
    const t = {
      title: h("span"), about: h("span", { class: "faint" }), use: h("strong", { class: "num" }), bar: h("div", { class: "membar", role: "img" }), facts: h("p", { class: "tilefacts num" }),
      spark: h("div", { class: "spark", "aria-hidden": "true" }), notes: h("ul", { class: "tilenotes" }),
    };
    t.more = h("button", { type: "button", class: "tilemore", "aria-expanded": "false", onclick: () => t.more.setAttribute("aria-expanded", String(t.el.classList.toggle("open"))) }); // on a phone
    t.head = h("p", { class: "tilehead" }, t.title, " ", t.about, t.use);
    t.el = h("div", { class: "tile" }, t.head, t.bar, t.more, t.facts, t.spark, t.notes);
    this.tiles.set(t.el, t);
    return t.el;
  }

  gpu(t, g, gpus) {
    const divided = gpus.some((o) => o.parent && o.parent === g.uuid);
    const short = g.name.replace(/^NVIDIA /, "");
    say(t.title, g.virtual ? "Host memory" : g.parent ? `GPU ${g.index} part` : `GPU ${g.index}`);
    say(t.about, g.virtual ? "in place of a GPU" : g.parent ? `${short.split("MIG ")[1] ?? short} ${g.uuid.slice(0, 12)}` : short);
    say(t.use, g.util === null ? "" : percent(g.util));
    const list = this.shares(g);
    const used = g.virtual ? g.claimed : g.used;
    bar(t.bar, list, g.total, `Memory: ${ofBytes(used, g.total)}. ${list.filter((s) => s.text).map((s) => s.text).join(", ") || "nobody uses it"}`);
    facts(t.facts, [[ofBytes(used, g.total), ""], [g.temp_c === null ? "" : `${Math.round(g.temp_c)} °C`, warmth(heat(g))],
      [g.power_w === null ? "" : `${Math.round(g.power_w)}${g.limit_w === null ? "" : `/${Math.round(g.limit_w)}`} W`, g.throttle?.length ? "warn" : ""]]);
    this.spark(t.spark, g.virtual ? null : this.series.get(g.uuid)?.map((p) => [new Date(p.at).getTime(), p.util]), 100, "use since");
    const notes = [];
    if (g.status && g.status !== "ok") notes.push(["bad", g.status]);
    if (g.drained) notes.push(["bad", drained(g.drained)]);
    if (g.throttle?.length) notes.push(["warn", `slowed: ${g.throttle.join(", ")}`]);
    if (g.exclusive) notes.push(["", "one process at a time, so only whole GPUs"]);
    if (g.settling) notes.push(["", `#${g.settling} still takes its memory`]);
    for (const s of strangers(g)) notes.push(["warn", `not pasar's: ${s}`]);
    for (const l of g.leaving) notes.push([l.leaked ? "bad" : "", `#${l.job} has ended, ${l.used === null ? "its memory" : bytes(l.used)} ${l.leaked ? "was never freed" : "isn't free yet"}`]);
    if (divided) notes.push(["", "divided into parts"]);
    t.el.classList.toggle("sick", Boolean(g.drained) || (g.status !== null && g.status !== "ok"));
    const idle = g.jobs.length === 0 && notes.length === 0;
    this.notes(t.notes, [...g.jobs.map((id) => ["job", id, list]), ...notes, ...(idle ? [["", "idle"]] : [])]);
  }

  notes(ul, notes) {
    fill(ul, notes.map((n) => `${n[0]} ${n[1]}`), (key) => {
      const [kind, text] = notes.find((n) => `${n[0]} ${n[1]}` === key);
      if (kind !== "job") return h("li", { class: kind || "faint" }, text);
      return h("li", {}, h("span", { class: "dot", "aria-hidden": "true" }), h("a", { href: `/jobs/${text}` }), h("span", { class: "faint num" }));
    }, (li, key) => {
      const [kind, id, list] = notes.find((n) => `${n[0]} ${n[1]}` === key);
      if (kind !== "job") return;
      const job = this.market.jobs.get(id);
      say(li.children[1], job ? `#${id} ${fullName(job)}` : `#${id}`);
      li.firstChild.style.setProperty("--c", job ? colour(job) : "var(--good)");
      const has = list.find((s) => s.job === id && s.kind === "used")?.size ?? 0;
      say(li.lastChild, has > 0 ? ` ${bytes(has)}` : "");
    });
  }

  // shares divides a GPU's memory: what each job uses and what it may have beyond that, what strangers use, what ended
  // jobs left; the rest is free.
  shares(g) {
    const { used, foreign, byJob } = occupied(g);
    const left = g.leaving.reduce((n, l) => n + (l.used ?? 0), 0);
    const jobs = [...new Set(g.jobs)].sort((a, b) => a - b);
    let rest = used - foreign - left - jobs.reduce((n, id) => n + (byJob.get(id) ?? 0), 0);
    if (jobs.length === 1 && !byJob.get(jobs[0]) && rest > 0) { // its processes aren't told apart
      byJob.set(jobs[0], rest);
      rest = 0;
    }
    const list = [];
    for (const id of jobs) {
      const job = this.market.jobs.get(id);
      const has = byJob.get(id) ?? 0;
      const c = job?.claim;
      const may = !c ? 0 : c.kind === "whole" ? g.total : c.limit ?? c.mem ?? 0;
      const name = job ? `#${id} ${fullName(job)}` : `#${id}`;
      const tint = job ? colour(job) : "var(--good)";
      list.push({ kind: "used", size: has, job: id, colour: tint, text: `${name} uses ${bytes(has)}${may > has ? ` of ${bytes(may)}` : ""}` });
      list.push({ kind: "claimed", size: Math.max(0, may - has), job: id, colour: tint, title: `${name} may have ${bytes(may)}` });
    }
    if (rest > 0) list.push({ kind: "rest", size: rest, title: `in use: ${bytes(rest)}` });
    if (foreign > 0) list.push({ kind: "stranger", size: foreign, text: `${bytes(foreign)} not pasar's` });
    if (left > 0) list.push({ kind: "left", size: left, text: `${bytes(left)} left behind` });
    return list;
  }

  pool(t, gpus) {
    const names = new Map();
    for (const g of gpus) { const n = g.name.replace(/^NVIDIA /, ""); names.set(n, (names.get(n) ?? 0) + 1); }
    say(t.title, "All");
    say(t.about, names.size > 2 ? `${gpus.length} GPUs` : [...names].map(([n, k]) => `${k} × ${n}`).join(", "));
    const known = (key) => gpus.map((g) => g[key]).filter((x) => x !== null);
    const sum = (list) => list.reduce((a, b) => a + b, 0);
    const utils = known("util");
    say(t.use, utils.length ? percent(sum(utils) / utils.length) : "");
    const total = sum(gpus.map((g) => g.total));
    const used = known("used").length === gpus.length ? sum(known("used")) : null;
    const byJob = new Map();
    for (const s of gpus.flatMap((g) => this.shares(g))) {
      const key = `${s.kind} ${s.job ?? ""}`;
      const o = byJob.get(key);
      if (o) o.size += s.size;
      else byJob.set(key, { ...s, text: null, title: null });
    }
    const list = [...byJob.values()];
    const claimed = sum(gpus.map((g) => g.claimed));
    bar(t.bar, list, total, `Memory of all: ${ofBytes(used, total)}, ${bytes(claimed)} claimed`);
    const watts = known("power_w");
    const limits = known("limit_w");
    const temps = known("temp_c");
    facts(t.facts, [[ofBytes(used, total), ""], [temps.length ? `${Math.round(Math.max(...temps))} °C` : "", warmth(Math.max(...gpus.map(heat)))],
      [watts.length ? `${Math.round(sum(watts))}${limits.length === gpus.length ? `/${Math.round(sum(limits))}` : ""} W` : "", ""]]);
    const at = new Map();
    for (const g of gpus) for (const p of this.series.get(g.uuid) ?? []) if (p.power_w !== null) at.set(p.at, (at.get(p.at) ?? 0) + p.power_w);
    const points = [...at].map(([when, w]) => [new Date(when).getTime(), w]).sort((a, b) => a[0] - b[0]);
    this.spark(t.spark, points, Math.max(sum(limits), ...points.map((p) => p[1])), "power since");
    this.notes(t.notes, [["", `${ofBytes(claimed, total)} claimed`]]);
  }

  // spark draws values over the last 24 hours; where there are none is a gap.
  spark(el, points, top, about) {
    el.hidden = points === null;
    const list = (points ?? []).filter((p) => p[1] !== null);
    const sign = list.length < 2 || !this.span ? "" : `${list.length} ${list[0][0]} ${list.at(-1).join()}`;
    if (el.dataset.sign === sign) return;
    el.dataset.sign = sign;
    if (sign === "") return el.replaceChildren();
    const to = Math.min(this.span[1], list.at(-1)[0] + this.step / 2);
    const from = Math.max(to - 86400e3, Math.min(list[0][0], to - 900e3));
    el.title = `${about} ${clock(from)}`;
    const x = (t) => ((t - from) / (to - from)) * 240;
    const y = (v) => 29 - (28 * Math.min(v, top)) / (top || 1);
    const runs = [];
    let last = 0;
    for (const [t, v] of list) {
      if (t - last > 2.5 * this.step) runs.push([]);
      runs.at(-1).push(`${x(t).toFixed(1)} ${y(v).toFixed(1)}`);
      last = t;
    }
    const line = runs.map((r) => `M${r.join("L")}`).join("");
    const area = runs.map((r) => `M${r[0].split(" ")[0]} 30L${r.join("L")}L${r.at(-1).split(" ")[0]} 30Z`).join("");
    el.replaceChildren(svg("svg", { viewBox: "0 0 240 30", preserveAspectRatio: "none" }, svg("path", { class: "area", d: area }), svg("path", { class: "stroke", d: line })));
  }
}

// whole are the GPUs that stand for memory of their own: no parts, and none that is host memory.
const whole = (gpus) => gpus.filter((g) => !g.virtual && !gpus.some((o) => g.parent && o.uuid === g.parent));

// family orders GPUs so that parts stand behind what they are a part of.
function family(gpus) {
  const parents = gpus.filter((g) => !g.parent || !gpus.some((o) => o.uuid === g.parent));
  return parents.flatMap((g) => [g, ...gpus.filter((o) => o.parent && o.parent === g.uuid)]);
}

function occupied(g) {
  const byJob = new Map();
  let foreign = 0;
  for (const p of g.processes ?? []) {
    if (p.used === null) continue;
    if (p.job !== null) byJob.set(p.job, (byJob.get(p.job) ?? 0) + p.used);
    else foreign += p.used;
  }
  const used = g.used ?? 0;
  return { used, foreign: Math.min(foreign, used), byJob };
}

function strangers(g) {
  const list = (g.processes ?? []).filter((p) => p.job === null).sort((a, b) => Number(a.graphics) - Number(b.graphics) || (b.used ?? 0) - (a.used ?? 0));
  const words = list.slice(0, 3).map((p) => `${p.name || "a process"}${p.user ? ` of ${p.user}` : ""}${p.used === null ? "" : `, ${bytes(p.used)}`}`);
  return list.length > 3 ? [...words, `${list.length - 3} more`] : words;
}

export function drained(d) {
  const words = d.reason.startsWith("drained") ? d.reason : `drained: ${d.reason}`;
  return `${words.replace(/: $/, "")} (since ${clock(d.since)})${d.remedy ? `; ${d.remedy}` : ""}`;
}

// host is a machine beside its GPUs.
function host(t, m) {
  say(t.title, "Host");
  say(t.about, [plural(m.cores, "core"), m.driver && `driver ${m.driver}`, m.cuda && `CUDA ${m.cuda}`].filter(Boolean).join(", "));
  say(t.use, "");
  bar(t.bar, [{ kind: "claimed", size: m.host_used, colour: "var(--calm)", text: `${bytes(m.host_used)} claimed` }], m.host_memory, `Host memory: ${ofBytes(m.host_used, m.host_memory)} claimed`);
  const short = m.available !== null && m.available < 0.05 * m.ram;
  facts(t.facts, [[`${ofBytes(m.host_used, m.host_memory)} claimed`, ""], [m.available === null ? "" : `${bytes(m.available)} available`, short ? "bad" : ""],
    [m.pressure === null ? "" : `pressure ${(100 * m.pressure).toFixed(m.pressure < 0.1 ? 1 : 0)} %`, m.pressure >= 0.1 ? "bad" : ""]]);
  t.spark.hidden = true;
  const notes = [];
  if (!m.reachable) notes.push(["bad", "not reachable"]);
  if (m.drained) notes.push(["bad", drained(m.drained)]);
  if (m.trouble) notes.push(["bad", `GPUs can't be looked at just now: ${m.trouble}`]);
  if (m.looked_at && since(m.looked_at) > stale) notes.push(["warn", `GPUs as they were at ${clock(m.looked_at)}`]);
  notes.push(["", `${m.cpu_used} of ${plural(m.cpu_jobs, "place")} without a GPU taken`]);
  for (const n of m.notes) notes.push(["", n]);
  t.el.classList.toggle("sick", !m.reachable || Boolean(m.drained) || Boolean(m.trouble));
  fill(t.notes, notes.map((n) => n.join(" ")), (key) => { const [kind, text] = notes.find((n) => n.join(" ") === key); return h("li", { class: kind || "faint" }, text); });
}

// bar draws shares of a whole to scale.
function bar(el, list, total, text) {
  if (el.getAttribute("aria-label") !== text) el.setAttribute("aria-label", text);
  const shown = list.filter((s) => s.size > 0);
  fill(el, shown.map((s) => `${s.kind} ${s.job ?? ""}`), (key) => h("i", { class: `seg ${key.split(" ")[0]}` }), (seg, key) => {
    const s = shown.find((o) => `${o.kind} ${o.job ?? ""}` === key);
    const width = `${Math.min(100, (100 * s.size) / (total || 1)).toFixed(2)}%`;
    if (seg.style.inlineSize !== width) seg.style.inlineSize = width;
    if (s.colour) seg.style.setProperty("--c", s.colour);
    const title = s.text ?? s.title ?? "";
    if (seg.title !== title) seg.title = title;
  });
}

function facts(el, list) {
  const shown = list.filter(([text]) => text);
  fill(el, shown.map((_, i) => i), () => h("span"), (span_, i) => {
    say(span_, shown[i][0]);
    if (span_.className !== shown[i][1]) span_.className = shown[i][1];
  });
}
