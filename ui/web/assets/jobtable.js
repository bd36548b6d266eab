// The table of jobs: which ones, in which order, and the keys to go about in it. There are never more than `most` rows in
// the page, and rows are kept: what is selected or has the focus stays when others change.

import { h, say, frame, toast } from "./dom.js";
import { late } from "./dialog.js";
import { active, finished, plural, states } from "./format.js";
import { colour } from "./hue.js";
import { Market } from "./market.js";
import { fill, put } from "./keyed.js";
import { matches, mistaken, parse } from "./jobfilter.js";
import { columns, group, Row, says } from "./jobrow.js";
import { openBid } from "./bid.js";
import { openCancel } from "./cancel.js";
import { openSubmit } from "./submit.js";

const most = 500; // rows, and jobs that the daemon is asked for
const budget = 15; // milliseconds that rows may take before a painting

const pasts = [["", "recently ended"], ["24h", "ended in 24 hours"], ["7d", "ended in 7 days"], ["30d", "ended in 30 days"], ["all", "all that ended"]];
const endings = states.filter((s) => finished({ state: s }));

export class JobTable {
  // base is the market that the whole page is about, address changes the keys of the page's address.
  constructor(base, address) {
    this.base = base;
    this.address = address;
    this.rows = new Map();
    this.market = null; // of its own, while the filter asks for what base hasn't
    this.current = 0; // the job that keys are about
    this.back = null; // a place that the page is to show again
    this.draw = frame(() => this.sync());
    this.input = h("input", { type: "search", id: "filter", placeholder: "words, #42, @tag, by:ada", "aria-label": "Filter jobs", autocomplete: "off", spellcheck: "false", oninput: () => { this.read(); this.told(); }, onkeydown: (e) => this.leave(e) });
    this.told = late(() => this.tell(false), 300);
    this.chips = h("div", { class: "chips", role: "group", "aria-label": "States" });
    this.tagChips = h("div", { class: "chips", role: "group", "aria-label": "Tags" });
    this.past = h("select", { "aria-label": "Ended jobs", onchange: () => { this.since = this.past.value; this.tell(true); } }, pasts.map(([value, word]) => h("option", { value }, word)));
    this.body = h("tbody", { role: "rowgroup" });
    this.heads = new Map(columns.map((c) => [c.key, h("th", { scope: "col", role: "columnheader", class: `c-${c.key}` },
      c.by ? h("button", { type: "button", class: "sort", onclick: () => this.sortBy(c) }, c.word) : c.word)]));
    this.count = h("p", { class: "faint count", role: "status" });
    this.more = h("p", { class: "more faint", hidden: true });
    this.nothing = h("div", { class: "empty", hidden: true });
    this.table = h("table", { class: "jobs", role: "table" },
      h("caption", { class: "unseen" }, "Jobs: those that run, then those that wait in the order in which they would start, then those that ended"),
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, [...this.heads.values()])),
      this.body);
    this.el = h("section", { class: "card jobcard", "aria-labelledby": "jobs-title" },
      h("div", { class: "cardhead" }, h("h2", { id: "jobs-title" }, "Jobs"), this.count,
        h("button", { type: "button", class: "chip totime", onclick: () => document.querySelector(".timeline .stage").focus() }, "Timeline ↓")),
      h("div", { class: "filters" }, this.input, this.past, this.chips, this.tagChips),
      this.table, this.nothing, this.more);
    this.body.addEventListener("focusin", (e) => this.choose(e.target.closest("tr")));
    this.body.addEventListener("click", (e) => {
      const tr = e.target.closest("tr");
      if (!tr || e.target.closest("a, button") || !getSelection().isCollapsed) return;
      this.row(tr)?.link.focus({ preventScroll: true });
    });
    this.body.addEventListener("keydown", (e) => {
      if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey || (e.key !== "ArrowDown" && e.key !== "ArrowUp")) return;
      e.preventDefault();
      this.step(e.key === "ArrowDown" ? 1 : -1);
    });
    let second = 0;
    this.ticking = setInterval(() => {
      if (document.hidden) return;
      second++;
      for (const row of this.rows.values()) if (active(row.job) || (second % 10 === 0 && !finished(row.job))) row.tick();
    }, 1000);
    this.keys = [
      ["/", "filter jobs", () => this.input.focus()],
      ["j", "the next job; Enter opens it", () => this.step(1)],
      ["k", "the job before", () => this.step(-1)],
      ["b", "bid for this job", () => this.about(openBid)],
      ["x", "cancel this job", () => this.about(openCancel)],
    ];
  }

  close() {
    clearInterval(this.ticking);
    this.market?.close();
  }

  // query takes the filter from the page's address.
  query(params) {
    const q = params.get("q") ?? "";
    if (this.input.value !== q) this.input.value = q;
    this.states = new Set((params.get("state") ?? "").split(",").filter((s) => states.includes(s)));
    const since = params.get("all") === "1" ? "all" : params.get("since") ?? "";
    if (since && !pasts.some(([value]) => value === since)) this.past.append(h("option", { value: since }, `ended in ${since}`)); // a link may say any span
    this.past.value = this.since = since;
    const sort = params.get("sort") ?? "";
    this.reverse = sort.startsWith("-");
    this.sort = columns.find((c) => c.by && c.key === sort.replace("-", "")) ?? null;
    for (const [key, th] of this.heads) {
      if (this.sort?.key !== key) th.removeAttribute("aria-sort");
      else th.setAttribute("aria-sort", this.reverse === ["bid", "claim", "time"].includes(key) ? "ascending" : "descending");
    }
    this.read();
    this.ask();
  }

  read() {
    this.words = parse(this.input.value);
    this.draw();
  }

  // tell puts the filter into the page's address: as a step back goes to, or in place of the last one.
  tell(push) {
    this.address({
      q: this.input.value.trim(), state: [...this.states].join(","), all: this.since === "all", since: this.since === "all" ? "" : this.since,
      sort: this.sort ? (this.reverse ? "-" : "") + this.sort.key : "",
    }, push);
  }

  // ask subscribes to what base hasn't.
  ask() {
    const wanted = this.since !== "" || this.states.size > 0;
    if (!wanted) {
      this.market?.close();
      this.market = null;
      return this.draw();
    }
    const keys = { state: [...this.states].join(","), all: this.since === "all", since: this.since === "all" ? "" : this.since, limit: most };
    if (this.market) {
      this.market.filter(keys);
    } else {
      this.market = new Market(keys);
      this.market.listen((changed) => this.changed(changed));
    }
  }

  // changed takes up that jobs have changed, of whichever market.
  changed(ids) {
    for (const id of ids) {
      const row = this.rows.get(id);
      if (row) row.stale = true;
    }
    this.draw();
  }

  // all is every job that there is to choose from, in the order of the queue.
  all() {
    const base = this.base.list();
    if (!this.market) return base;
    const open = base.filter((job) => !finished(job));
    const there = new Set(open.map((job) => job.id));
    return [...open, ...this.market.list().filter((job) => !there.has(job.id))].filter((job) => this.states.size === 0 || this.states.has(job.state));
  }

  takes(job) { return matches(this.words, job, (j) => says(j, this.several)); }

  chosen(all) {
    const list = this.words.length > 0 ? all.filter((job) => this.takes(job)) : [...all];
    const by = this.sort?.by;
    if (by) {
      const value = new Map(list.map((job) => [job.id, by(job)]));
      const sign = this.reverse ? -1 : 1;
      list.sort((a, b) => { const [x, y] = [value.get(a.id), value.get(b.id)]; return sign * (x < y ? -1 : x > y ? 1 : 0); });
    }
    return list;
  }

  get several() { return (this.base.status?.machines.length ?? 0) > 1; }

  sync() {
    if (!this.base.known || !this.words) return;
    const all = this.all();
    const list = this.chosen(all);
    const shown = list.slice(0, most);
    const several = this.several;
    const wanted = new Set(shown.map((job) => job.id));
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    const place = focused ? [...this.body.children].indexOf(focused.closest("tr")) : -1;
    for (const [id, row] of this.rows) {
      if (wanted.has(id)) continue;
      row.el.remove();
      this.rows.delete(id);
    }
    const until = performance.now() + budget;
    let late = false;
    const order = [];
    for (const job of shown) {
      let row = this.rows.get(job.id);
      late ||= performance.now() > until;
      if (!row) {
        if (late) break; // and those behind it with it: they come in their order
        row = new Row(job);
        row.update(job, several);
        this.rows.set(job.id, row);
      } else if (row.stale || row.job !== job) {
        if (!late) row.update(job, several);
      }
      order.push(row.el);
    }
    put(this.body, order);
    if (focused && document.activeElement !== focused) {
      if (focused.isConnected) focused.focus({ preventScroll: true });
      else if (order.length > 0) this.row(order[Math.min(place, order.length - 1)])?.link.focus({ preventScroll: true });
      else this.input.focus({ preventScroll: true });
    }
    if (late) this.draw(); // the rest in the next frames
    this.choose(this.rows.get(this.current)?.el);
    this.say(all, list);
    if (this.back && !late && !(this.market && !this.market.known)) this.goBack();
    if (this.wanted && this.rows.has(this.wanted)) this.reveal(this.wanted);
  }

  // say tells how many there are, and what to do where there are none.
  say(all, list) {
    const status = this.base.status;
    const counts = status?.jobs ?? {};
    const filtered = this.words.length > 0 || this.states.size > 0;
    const asking = this.market && !this.market.known;
    say(this.count, asking ? "asking …" : list.length === all.length && !filtered ? plural(list.length, "job") : `${plural(list.length, "job")} of ${Math.max(all.length, list.length)}`);
    // Without words a state's number is that of the whole market; with words that of the jobs listed, and none where they
    // aren't asked for.
    const told = new Map();
    for (const s of states) if (this.words.length === 0) told.set(s, counts[s] ?? 0);
      else if (this.states.size === 0 || this.states.has(s)) told.set(s, 0);
    if (this.words.length > 0) for (const job of list) told.set(job.state, (told.get(job.state) ?? 0) + 1);
    fill(this.chips, states.filter((s) => counts[s] > 0 || this.states.has(s)), (s) => h("button", { type: "button", class: "chip", onclick: () => this.toggle(s) }, h("span", { class: "state", dataset: { state: s } }, s), h("span", { class: "num" })),
      (el, s) => { say(el.lastChild, String(told.get(s) ?? "")); press(el, this.states.has(s)); });
    const tags = new Map();
    for (const job of all) if (job.tags.length > 0) tags.set(job.tags[0], tags.get(job.tags[0]) ?? job);
    const named = new Set(this.words.filter((w) => w.kind === "tag" && !w.not).map((w) => w.text));
    fill(this.tagChips, [...tags.keys()].slice(0, 8), (t) => h("button", { type: "button", class: "chip", title: `@${t}`, onclick: () => this.tag(t) }, h("span", { class: "dot", "aria-hidden": "true" }), h("span", { class: "word" }, `@${t}`)),
      (el, t) => { el.firstChild.style.setProperty("--c", colour(tags.get(t))); press(el, named.has(t.toLowerCase())); });
    this.table.hidden = list.length === 0;
    this.nothing.hidden = list.length > 0;
    if (list.length === 0) this.none(all, counts);
    // Beyond the limit the daemon says how many wait; of those that ended only the counts are known.
    const here = this.market ?? this.base;
    const ended = this.market && (this.since !== "" || this.states.size > 0) && here.list().length >= most
      ? (this.states.size > 0 ? [...this.states] : endings).filter((s) => endings.includes(s)).reduce((n, s) => n + (counts[s] ?? 0), 0) - here.list().filter(finished).length : 0;
    const parts = [];
    if (here.more > 0) parts.push(`${here.more} more that haven't ended`);
    if (ended > 0) parts.push(this.since === "" || this.since === "all" ? `${ended} more that ended` : "perhaps more that ended");
    if (list.length > most) parts.push(`${list.length - most} more that match`);
    this.more.hidden = parts.length === 0;
    if (parts.length > 0) {
      const text = `At most ${most} jobs are listed here; there are ${parts.join(" and ")}. Choose states or a shorter time${this.words.length > 0 ? "; words are only looked for in what is listed" : ""}, or use `;
      if (this.more.dataset.text !== text) {
        this.more.dataset.text = text;
        this.more.replaceChildren(text, h("code", {}, "pasar ls"), ".");
      }
    }
  }

  none(all, counts) {
    const ended = endings.reduce((n, s) => n + (counts[s] ?? 0), 0);
    const known = !this.market || this.market.known;
    const case_ = !known ? "asking" : this.words.length > 0 || this.states.size > 0 ? "filter" : ended > 0 ? "ended" : "never";
    const wrong = mistaken(this.words);
    if (this.nothing.dataset.case === `${case_} ${ended} ${wrong}`) return;
    this.nothing.dataset.case = `${case_} ${ended} ${wrong}`;
    const content = {
      asking: () => ["asking …"],
      filter: () => [h("p", {}, "No job matches."), wrong && h("p", {}, wrong), h("button", { type: "button", onclick: () => { this.input.value = ""; this.states.clear(); this.read(); this.tell(true); this.input.focus(); } }, "Clear the filter")],
      ended: () => [h("p", {}, "Nothing runs, and nothing waits."), h("button", { type: "button", onclick: () => { this.since = "all"; this.tell(true); } }, `Show ${plural(ended, "job")} that ended`)],
      never: () => [h("p", {}, "The market is open, and nobody has brought a job yet."),
        h("p", {}, "From a shell: ", h("code", {}, "pasar submit python train.py")),
        h("button", { type: "button", class: "primary", onclick: () => openSubmit() }, "Submit the first job")],
    }[case_]();
    this.nothing.replaceChildren(...content.filter(Boolean));
  }

  toggle(state) {
    if (!this.states.delete(state)) this.states.add(state);
    this.tell(true);
  }

  tag(t) {
    const word = `@${t}`;
    const words = this.input.value.split(/\s+/).filter(Boolean);
    const at = words.findIndex((w) => w.toLowerCase() === word.toLowerCase());
    if (at >= 0) words.splice(at, 1);
    else words.push(word);
    this.input.value = words.join(" ");
    this.read();
    this.tell(true);
  }

  // sortBy sorts by a column, then the other way round, then as the queue is.
  sortBy(c) {
    if (this.sort !== c) [this.sort, this.reverse] = [c, false];
    else if (!this.reverse) this.reverse = true;
    else this.sort = null;
    this.tell(true);
  }

  // leave clears the filter on Escape, and leaves it on the next.
  leave(e) {
    if (e.key !== "Escape") return;
    e.preventDefault();
    if (this.input.value === "") return this.input.blur();
    this.input.value = "";
    this.read();
    this.told();
  }

  row(tr) { return this.rows.get(Number(tr?.dataset.job)); }

  // choose makes a row the one that keys are about.
  choose(tr) {
    if (!tr) return;
    const was = this.rows.get(this.current)?.el;
    if (was && was !== tr) was.classList.remove("current");
    tr.classList.add("current");
    this.current = Number(tr.dataset.job);
  }

  step(by) {
    const list = [...this.body.children];
    if (list.length === 0) return;
    const at = list.findIndex((tr) => Number(tr.dataset.job) === this.current);
    const inside = this.body.contains(document.activeElement);
    const next = list[at < 0 ? 0 : inside ? Math.min(Math.max(at + by, 0), list.length - 1) : at];
    this.row(next).link.focus();
    next.scrollIntoView({ block: "nearest" });
  }

  about(open) {
    const row = this.rows.get(this.current);
    if (!row) toast("Choose a job first: j and k go from one to the next.");
    else if (finished(row.job)) toast(`#${row.job.id} has ended.`);
    else open(row.job);
  }

  // place is where the reader is: at which job, how far down that or the page is, and whether it has the focus.
  place() {
    const row = this.rows.get(this.current);
    return { id: row ? this.current : 0, top: row ? row.el.getBoundingClientRect().top : 0, scroll: scrollY, focus: Boolean(row?.el.contains(document.activeElement)) };
  }

  goBack() {
    const { id, top, scroll, focus } = this.back;
    this.back = null;
    const row = this.rows.get(id);
    this.choose(row?.el);
    scrollTo({ top: row ? scrollY + row.el.getBoundingClientRect().top - top : scroll, behavior: "instant" });
    if (focus) row?.link.focus({ preventScroll: true });
  }

  // reveal shows a job that has just come, once it is there.
  reveal(id) {
    const row = this.rows.get(id);
    if (!row) {
      if (this.wanted !== id) setTimeout(() => { if (this.wanted === id) this.wanted = 0; }, 5000); // it may not match
      this.wanted = id;
      return;
    }
    this.wanted = 0;
    this.choose(row.el);
    row.el.scrollIntoView({ block: "center" });
    row.el.classList.add("fresh");
    setTimeout(() => row.el.classList.remove("fresh"), 4000);
  }
}

function press(el, on) {
  if (el.getAttribute("aria-pressed") !== String(on)) el.setAttribute("aria-pressed", String(on));
}
