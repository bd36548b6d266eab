// Jobs over time: each GPU has a lane, and more where jobs share it; then come places without a GPU, then the queue. It
// is the console's market.

import { active } from "./format.js";

const slack = 2000; // milliseconds by which one bar may run into the next: ends and starts are seen at different times
const deepest = 100; // lanes of one place

// lanes lays out the attempts of jobs between two times, and those that are projected. A bar has job, attempt (0: it is
// projected), kind (ran, runs, planned), from, to, open (its end isn't known) and failed. Times are in milliseconds. There
// are at most so many lanes: first go places without a GPU, the queue, and the lanes of what is shared. hidden is how many
// bars are in none of them.
export function lanes({ jobs, past, machines, from, to, now, most }) {
  const m = new Places(machines);
  const seen = new Set();
  for (const job of [...jobs, ...past]) {
    if (seen.has(job.id)) continue;
    seen.add(job.id);
    for (const { place, ...bar } of bars(job, m, from, to, now)) {
      if (bar.to < bar.from) bar.to = bar.from;
      if (bar.from >= to || bar.to < from) continue;
      for (const p of place) p.bars.push({ ...bar });
    }
  }
  return layOut(m.list(), now, most);
}

// Places are where jobs run.
class Places {
  constructor(machines) {
    this.several = machines.length > 1;
    this.gpus = [];
    this.byUUID = new Map();
    this.byIndex = new Map();
    this.cpu = { label: "cpu", bars: [] };
    this.queue = { label: "queue", bars: [] };
    for (const machine of machines) {
      const parents = machine.gpus.filter((g) => !g.parent || !machine.gpus.some((o) => o.uuid === g.parent));
      for (const g of parents.flatMap((p) => [p, ...machine.gpus.filter((o) => o.parent && o.parent === p.uuid)])) {
        if (g.uuid && machine.gpus.some((o) => o.parent === g.uuid)) continue; // it is divided, and takes no jobs itself
        const place = this.open(machine.name, g);
        if (g.virtual) place.label = this.on(machine.name, "host");
      }
    }
  }

  on(machine, label) { return this.several ? `${machine} ${label}` : label; }

  open(machine, ref) {
    const place = { label: this.on(machine, `GPU ${ref.index}${ref.parent ? `/${ref.uuid.slice(4, 6)}` : ""}`), bars: [], total: ref.total ?? 0 };
    this.gpus.push(place);
    if (ref.uuid) this.byUUID.set(`${machine} ${ref.uuid}`, place);
    if (!this.byIndex.has(`${machine} ${ref.index}`)) this.byIndex.set(`${machine} ${ref.index}`, place);
    return place;
  }

  // at are the places of some GPUs; one that is gone gets one as well.
  at(machine, refs, other) {
    if (!refs?.length) return [other];
    return [...new Set(refs.map((r) => (r.uuid ? this.byUUID.get(`${machine} ${r.uuid}`) : this.byIndex.get(`${machine} ${r.index}`)) ?? this.open(machine, r)))];
  }

  list() { return [...this.gpus, ...[this.cpu, this.queue].filter((p) => p.bars.length > 0)]; }
}

const ms = (t) => (t ? new Date(t).getTime() : null);

function bars(job, places, from, to, now) {
  const list = [];
  const guess = now + (to - from) / 20; // how far beyond now a bar is drawn that has no known end
  job.attempts.forEach((a, i) => {
    const bar = { job, attempt: a.attempt, kind: "ran", from: ms(a.started_at) ?? ms(a.launched_at), open: false, failed: isFailure(a.verdict) };
    if (bar.from === null) return;
    const finish = ms(job.projected.finish);
    if (a.ended_at) bar.to = ms(a.ended_at);
    else if (i < job.attempts.length - 1) bar.to = ms(job.attempts[i + 1].launched_at); // its end was lost
    else if (!active(job)) [bar.to, bar.open] = [now, true];
    else if (finish > now) [bar.kind, bar.to] = ["runs", finish];
    else [bar.kind, bar.to, bar.open] = ["runs", guess, true];
    list.push({ ...bar, place: places.at(a.machine, a.gpus, places.cpu) });
  });
  const p = job.projected;
  if (job.state === "queued" && p.start) {
    const finish = ms(p.finish);
    const bar = { job, attempt: 0, kind: "planned", from: Math.max(now, ms(p.start)), to: finish ?? to, open: finish === null, failed: false };
    list.push({ ...bar, place: places.at(p.machine ?? "local", p.gpus, job.claim.kind === "none" ? places.cpu : places.queue) });
  }
  return list;
}

// An attempt that ended for one of these did not fail.
const calm = new Set(["completed", "cancelled", "preempted", "paused", "dependency"]);
const isFailure = (v) => v !== null && !calm.has(v.reason);

function layOut(places, now, most) {
  const all = [];
  let hidden = 0;
  for (const place of places) {
    const gpu = place.total !== undefined;
    const [rows, left] = pack(place.bars, now, Math.min(Math.max(1, most), deepest));
    hidden += left;
    rows.forEach((list, depth) => all.push({ label: depth === 0 ? place.label : "", place: place.label, first: depth === 0, bars: list, rank: depth + (gpu ? 0 : 1) + (list.length === 0 ? deepest : 0) }));
  }
  const ranks = all.map((l) => l.rank).sort((a, b) => a - b);
  const limit = all.length > most ? ranks[most] : Infinity;
  let some = limit === Infinity ? 0 : most - ranks.indexOf(limit);
  const kept = all.filter((l) => {
    if (l.rank < limit || (l.rank === limit && some-- > 0)) return true;
    hidden += l.bars.length;
    return false;
  });
  return { lanes: kept, hidden };
}

// pack puts each bar into the first row that has room for it, as they start.
function pack(list, now, most) {
  list.sort((a, b) => a.from - b.from || a.job.id - b.job.id || a.attempt - b.attempt);
  const rows = [[]];
  let left = 0;
  for (const b of list) {
    let row = rows.find((r) => {
      const last = r.at(-1);
      if (!last) return true;
      const end = last.kind === "runs" && last.open ? now : last.to; // what is drawn beyond now is only a guess
      return (end <= b.from + slack && last.from < b.from) || last.to <= b.from;
    });
    if (!row) {
      if (rows.length >= most) { left++; continue; }
      rows.push(row = []);
    }
    if (row.at(-1)?.to > b.from) row.at(-1).to = b.from;
    row.push(b);
  }
  return [rows, left];
}
