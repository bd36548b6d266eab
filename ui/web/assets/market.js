// The market as the daemon streams it: the jobs that match, in their order, the status, and what changes of them.

import { stream, query } from "./api.js";
import { frame } from "./dom.js";

// A Market is a subscription. jobs are by id, order are ids, more how many unfinished jobs match beyond the limit;
// lost says whether there is no connection just now. Whoever listens is told of many changes at once, before a painting.
export class Market {
  constructor(keys) {
    this.keys = keys;
    this.jobs = new Map();
    this.order = [];
    this.status = null;
    this.more = 0;
    this.known = false;
    this.lost = false;
    this.changed = new Set(); // ids, since listeners were told last
    this.listeners = new Set();
    this.tell = frame(() => {
      const changed = this.changed;
      this.changed = new Set();
      for (const f of this.listeners) f(changed);
    });
    this.open();
  }

  open() {
    this.source = stream(`/api/stream${query(this.keys)}`, {
      snapshot: (v) => this.snapshot(v),
      change: (v) => this.change(v),
      lagged: () => {}, // a snapshot follows
    }, {
      open: () => { if (this.lost) { this.lost = false; this.tell(); } },
      lost: () => { if (!this.lost) { this.lost = true; this.tell(); } },
    });
  }

  close() {
    this.source.close();
    this.listeners.clear();
  }

  // filter asks for other jobs. Those there are stay until the first answer.
  filter(keys) {
    if (query(keys) === query(this.keys)) return;
    this.source.close();
    this.keys = keys;
    this.open();
  }

  listen(f) {
    this.listeners.add(f);
    if (this.known || this.lost) f(new Set(this.order));
    return () => this.listeners.delete(f);
  }

  // list is the jobs in their order.
  list() { return this.order.map((id) => this.jobs.get(id)); }

  snapshot(v) {
    for (const id of this.order) this.changed.add(id);
    this.jobs = new Map(v.jobs.map((job) => [job.id, job]));
    this.order = v.jobs.map((job) => job.id);
    for (const id of this.order) this.changed.add(id);
    this.seen(v);
  }

  change(v) {
    for (const job of v.jobs) {
      this.jobs.set(job.id, job);
      this.changed.add(job.id);
    }
    for (const o of v.outlooks) {
      const job = this.jobs.get(o.id);
      if (!job) continue;
      this.jobs.set(o.id, { ...job, ...o });
      this.changed.add(o.id);
    }
    this.reorder(v.gone, v.moved);
    this.seen(v);
  }

  // reorder takes out what is gone, then applies the moves in order. The list is linked for it, so that a thousand
  // moves of a thousand jobs cost a thousand steps.
  reorder(gone, moved) {
    if (gone.length + moved.length === 0) return;
    for (const id of gone) {
      this.jobs.delete(id);
      this.changed.add(id);
    }
    const next = new Map();
    const prev = new Map();
    const link = (a, b) => { next.set(a, b); prev.set(b, a); };
    let last = 0;
    for (const id of this.order) {
      if (!this.jobs.has(id)) continue;
      link(last, id);
      last = id;
    }
    link(last, 0);
    for (const { id, after } of moved) {
      if (next.has(id)) link(prev.get(id), next.get(id));
      const behind = next.get(after);
      link(after, id);
      link(id, behind);
      this.changed.add(id);
    }
    this.order = [];
    for (let id = next.get(0); id; id = next.get(id)) this.order.push(id);
  }

  seen(v) {
    if (v.status) this.status = v.status;
    this.more = v.more;
    this.at = v.at;
    this.known = true;
    this.lost = false;
    this.tell();
  }
}
