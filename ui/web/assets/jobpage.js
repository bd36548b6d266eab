// One job.

import { get } from "./api.js";
import { become, copy, h, say } from "./dom.js";
import { active, done, finished, gpus, left, mark, number, percent, since, span, words } from "./format.js";
import { colour } from "./hue.js";
import { Market } from "./market.js";
import { lost, mood, trouble } from "./app.js";
import { acts } from "./acts.js";
import { bar, table } from "./attempts.js";
import { openBid } from "./bid.js";
import { Metrics, Usage } from "./charts.js";
import { Diff } from "./diff.js";
import { Events } from "./events.js";
import { facts, link, links, list, ran, roughly, until, warnings, when } from "./facts.js";
import { fullName } from "./jobrow.js";
import { LogView } from "./logview.js";
import { TerminalView } from "./terminal.js";
import { failure, hints, verdict } from "./verdict.js";

// part is a section with a heading. Its body is filled by its maker; it is hidden while there is nothing to say.
function part(name, ...beside) {
  const id = `part-${name.toLowerCase()}`;
  const body = h("div", { class: "body" });
  const el = h("section", { class: `card part-${name.toLowerCase()}`, "aria-labelledby": id }, h("div", { class: "head" }, h("h2", { id }, name), beside), body);
  return { el, body };
}

// tabs are of one pane: only the chosen one is shown.
function tabs(all, choose) {
  const names = Object.keys(all);
  const of = {};
  for (const name of names) {
    const [title, content] = all[name];
    const tab = h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => choose(name) }, title);
    const panel = h("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` }, h("h2", { class: "unseen" }, title), content);
    of[name] = { tab, panel };
  }
  const keys = (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const next = names[(names.findIndex((n) => of[n].tab === e.target) + by + names.length) % names.length];
    choose(next);
    of[next].tab.focus();
    e.preventDefault();
  };
  return {
    el: h("div", {}, h("div", { role: "tablist", class: "tabs", "aria-label": "Output or terminal", onkeydown: keys }, names.map((n) => of[n].tab)), names.map((n) => of[n].panel)),
    choose(name) {
      for (const n of names) {
        of[n].panel.hidden = n !== name;
        of[n].tab.setAttribute("aria-selected", String(n === name));
        of[n].tab.tabIndex = n === name ? 0 : -1;
      }
    },
    focus(name) { of[name].tab.focus(); of[name].tab.scrollIntoView({ block: "nearest" }); },
  };
}

export function open(el, { id }) {
  const page = new JobPage(el, id);
  return {
    title: `#${id} · pasar`,
    close: () => page.close(),
    query: (q) => page.choose(q),
    keys: [
      ["b", "bid", () => page.act("Bid")],
      ["p", "pause or resume", () => page.act("Pause", "Resume")],
      ["x", "cancel the job", () => page.act("Cancel job")],
      ["r", "restart with …", () => page.act("Restart with…")],
      ["f", "the output", () => page.tab("output", true)],
      ["a", "the terminal", () => page.tab("terminal", true)],
    ],
  };
}

const curves = 20; // attempts that a metric's curve is of, at most

class JobPage {
  constructor(el, id) {
    this.id = id;
    this.el = el;
    this.job = null;
    this.stop = new AbortController();
    this.view = "output";
    this.wanted(new URLSearchParams(location.search));
    this.loading = h("p", { class: "empty" }, `#${id} …`);
    el.append(this.loading);
    this.load();
  }

  // wanted takes up what the address says: which attempt, and whether its terminal.
  wanted(q) {
    const n = Number(q.get("attempt"));
    this.chosen = Number.isInteger(n) && n > 0 ? n : null;
    this.view = q.get("view") === "terminal" ? "terminal" : "output";
  }

  close() {
    this.closed = true;
    this.stop.abort();
    this.market?.close();
    clearInterval(this.clock);
    for (const v of [this.log, this.terminal, this.metrics, this.usage, this.events]) v?.close();
    trouble(null);
  }

  async load() {
    try {
      const job = await get(`/api/jobs/${this.id}`, this.stop.signal);
      if (!this.closed) this.begin(job);
    } catch (e) {
      if (this.closed) return;
      if (e.status === 404) {
        document.title = "no such job · pasar";
        this.el.replaceChildren(h("div", { class: "empty" }, h("h1", {}, `There is no job ${this.id}`), h("p", {}, h("a", { href: "/" }, "All jobs"))));
        return;
      }
      trouble(`${e.message}. ${e.hint}`);
      setTimeout(() => { if (!this.closed) this.load(); }, 2000);
    }
  }

  begin(job) {
    trouble(null);
    this.title = h("h1", {});
    this.state = h("span", { class: "state" });
    this.sub = h("p", { class: "sub faint" });
    this.buttons = h("div", { class: "acts", role: "group", "aria-label": "What can be done with it" });
    this.notes = h("div", { class: "notes" });
    this.parts = {
      verdict: part("Verdict"), progress: part("Progress"), attempts: part("Attempts"), usage: part("Usage"), events: part("Events"),
      facts: part("Facts"), command: part("Command", h("button", { type: "button", class: "small", onclick: () => copy(words(this.job)) }, "Copy")), code: part("Code"),
    };
    const p = this.parts;
    this.log = new LogView();
    this.terminal = new TerminalView();
    this.metrics = new Metrics(() => this.progress(this.job));
    this.usage = new Usage();
    this.events = new Events();
    this.far = h("div", { class: "far" });
    p.progress.body.append(this.far, this.metrics.el);
    p.usage.body.append(this.usage.el);
    p.events.body.append(this.events.el);
    this.commit = h("p", {});
    this.diff = new Diff();
    p.code.body.append(this.commit, this.diff.el);
    this.tabs = tabs({ output: ["Output", this.log.el], terminal: ["Terminal", this.terminal.el] }, (name) => this.tab(name));
    this.none = h("p", { class: "empty" }, "It hasn't started: it has neither output nor a terminal yet.");
    this.pane = h("div", { class: "card pane" }, this.tabs.el, this.none);
    this.el.replaceChildren(
      h("header", { class: "jobhead" }, h("div", {}, h("div", { class: "title" }, this.title, this.state), this.sub), this.buttons),
      this.notes,
      this.grid = h("div", { class: "job" },
        h("div", {}, p.verdict.el, p.progress.el, this.pane, p.attempts.el, p.usage.el),
        h("div", {}, p.facts.el, p.command.el, p.code.el, p.events.el)));
    this.update(job);
    this.market = new Market({ job: this.id });
    this.market.listen(() => {
      trouble(this.market.lost ? lost : null);
      const now = this.market.jobs.get(this.id);
      if (now) this.update(now);
      mood();
    });
    this.clock = setInterval(() => { if (!document.hidden && !finished(this.job)) this.tick(); }, 1000);
  }

  // choose shows another attempt.
  choose(q) {
    this.wanted(q);
    if (this.job) this.update(this.job);
  }

  // tab shows the output or the terminal.
  tab(name, focus = false) {
    if (!this.job || this.job.attempts.length === 0) return;
    const q = new URLSearchParams(location.search);
    if (name === "terminal") q.set("view", name);
    else q.delete("view");
    const s = q.toString();
    history.replaceState(history.state, "", location.pathname + (s ? `?${s}` : ""));
    this.view = name;
    this.open();
    if (focus) this.tabs.focus(name);
  }

  // open shows of the attempt what it has: its charts, and its output or its terminal.
  open() {
    const job = this.job;
    const a = this.shown;
    const has = a !== null;
    this.none.hidden = has;
    this.grid.classList.toggle("unstarted", !has);
    this.tabs.el.hidden = !has;
    this.parts.usage.el.hidden = !has;
    const latest = a === job.attempts.at(-1);
    const live = has && a.ended_at === null;
    this.tabs.choose(this.view);
    this.log.short(has && a.ended_at !== null && a.output !== null && a.output < 1500);
    this.once("output", has && this.view === "output" && [this.chosen === null ? null : a.attempt], (v) => (v ? this.log.show(job.id, v[0], job.attempts.length) : this.log.close()));
    this.log.follow(job.attempts.length);
    this.once("terminal", has && this.view === "terminal" && [a.attempt, a.started_at !== null], (v) => (v ? this.terminal.show(job.id, a.attempt, live) : this.terminal.close()));
    this.once("metrics", has && (this.chosen === null ? job.attempts.slice(-curves).map((x) => x.attempt) : [a.attempt]), (v) => (v ? this.metrics.show(job.id, v, colour(job), latest ? Object.keys(job.progress?.metrics ?? {}).sort() : []) : this.metrics.close()));
    this.once("usage", has && [a.attempt, live], (v) => (v ? this.usage.show(job.id, a.attempt, live, a.run_time !== null && a.run_time < 20) : this.usage.close()));
    if (latest && job.progress?.at !== this.reported) {
      this.reported = job.progress?.at;
      this.metrics.news();
    }
    this.events.show(job, has && this.chosen !== null ? a.attempt : null);
  }

  // once does f when what a view is of is another than before.
  once(name, of, f) {
    const key = JSON.stringify(of);
    this.shows ??= {};
    if (this.shows[name] === key) return;
    this.shows[name] = key;
    f(of);
  }

  // shown is the attempt that is shown: the chosen one, or the latest; null: there is none.
  get shown() { return this.job.attempts.find((a) => a.attempt === this.chosen) ?? this.job.attempts.at(-1) ?? null; }

  act(...names) {
    const found = this.job && acts(this.job).find(([name]) => names.includes(name));
    if (found) found[1](this.job);
  }

  // tick moves on what the time alone moves.
  tick() {
    for (const el of this.el.querySelectorAll("[data-since]")) say(el, span(Math.floor(since(el.dataset.since))));
    for (const el of this.el.querySelectorAll("[data-until]")) say(el, until(el.dataset.until));
    this.progress(this.job);
    this.life();
  }

  update(job) {
    this.job = job;
    const a = this.shown;
    document.title = `#${job.id} ${fullName(job)}: ${job.state} · pasar`;
    become(this.title, h("i", { class: "hue", style: { background: colour(job) } }), h("span", { class: "faint num" }, `#${job.id}`), " ", fullName(job));
    this.state.dataset.state = job.state;
    become(this.state, h("span", { "aria-hidden": "true" }, mark(job.state)), " ", job.state);
    say(this.sub, this.about());
    become(this.buttons, failed(job) ? [] : this.choices(acts(job)));
    become(this.notes, this.note(job));
    this.verdict(job, a);
    this.progress(job);
    this.facts(job);
    this.life();
    this.open();
  }

  life() {
    const job = this.job;
    this.parts.attempts.el.hidden = job.attempts.length === 0;
    if (job.attempts.length > 0) become(this.parts.attempts.body, bar(job), table(job, this.shown.attempt));
  }

  choices(can) {
    return can.map(([name, f, look]) => h("button", { type: "button", class: look, onclick: () => f(this.job) }, name));
  }

  about() {
    const job = this.job;
    const parts = [`bid ${job.bid}`];
    if (job.machine && active(job)) parts.push(`on ${[job.machine, gpus(job.gpus)].filter(Boolean).join(", ")}`);
    if (finished(job) && ran(job) !== null && job.state !== "completed") parts.push(`ran ${span(ran(job))}`);
    if (job.summary && !failed(job) && !job.waiting) parts.push(job.summary);
    return parts.join(" · ");
  }

  note(job) {
    const w = job.waiting;
    return [
      w && h("div", { class: "note wait" },
        h("p", {}, h("strong", {}, w.why === "held" ? "It is held, and doesn't start until it is released." : links(sentence(w.sentence))), job.projected.start && w.why !== "held" ? [" It is projected to start at about ", when(job.projected.start), "."] : null),
        w.holders.length > 3 && h("p", {}, "All of them: ", list(w.holders.slice(0, 50).map(link)), w.holders.length > 50 ? ` and ${w.holders.length - 50} more` : "", "."),
        w.bid_needed !== null && h("p", {}, `A bid of ${w.bid_needed} would change it. `, h("button", { type: "button", onclick: () => openBid(this.job, w.bid_needed) }, `Bid ${w.bid_needed}`))),
      job.state === "awaiting" && h("p", { class: "note wait" }, "It awaits a person's approval: ", h("a", { href: "/" }, "all jobs"), " has it under Cloud."),
      warnings(job).map((t) => h("p", { class: "note warn" }, t)),
    ];
  }

  verdict(job, a) {
    const d = a ? a.verdict : job.verdict;
    const p = this.parts.verdict;
    p.el.hidden = !failure(d ?? null) && !(finished(job) && d?.hint);
    if (p.el.hidden) return;
    p.el.classList.toggle("failed", failure(d));
    become(p.body,
      job.attempts.length > 1 && h("p", { class: "faint" }, `Attempt ${a.attempt} of ${job.attempts.length}`),
      failure(d) ? verdict(job, a, d) : hints(job.id, d),
      failed(job) && h("div", { class: "buttons" }, this.choices(acts(job))));
  }

  progress(job) {
    const p = (this.shown === job.attempts.at(-1) ? job.progress : null) ?? this.metrics.latest;
    const part = done({ ...job, progress: p });
    const body = this.far;
    this.parts.progress.el.hidden = job.attempts.length === 0 || finished(job) && part === null && this.metrics.nothing;
    if (!p && part === null) {
      become(body, h("p", { class: "faint" }, finished(job) ? "It reported no progress." : ["It reports no progress; ", h("code", {}, "pasar guide jobs"), " says how a program can."]));
      return;
    }
    const words = [];
    if (p && p.step !== null) words.push(`step ${number(p.step)}${p.total ? ` of ${number(p.total)}` : ""}`);
    if (p?.rate) words.push(`${Number(p.rate.toPrecision(3))} steps/s`);
    const rest = active(job) ? left(job) : job.remaining;
    if (rest > 0 && !finished(job)) words.push(`about ${span(roughly(rest))} left`);
    if (!p) words.push("by its estimate: it reports no progress");
    become(body,
      part !== null && h("div", { class: "bar", role: "progressbar", "aria-valuenow": Math.round(100 * part), "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": "Progress" },
        h("div", { style: { width: `${100 * part}%`, background: colour(job) } })),
      h("p", { class: "num" }, part !== null && h("strong", {}, percent(100 * part), " "), words.join(", ")));
  }

  facts(job) {
    const p = this.parts;
    become(p.facts.body, h("dl", { class: "facts" }, facts(job).map(([what, value]) => h("div", {}, h("dt", {}, what), h("dd", {}, value)))));
    become(p.command.body,
      h("pre", { class: "command", tabindex: "0", role: "region", "aria-label": "The command" }, job.command),
      h("p", { class: "faint" }, "in ", h("code", {}, typeof job.cwd === "string" ? job.cwd : "a directory whose name isn't UTF-8")));
    p.code.el.hidden = job.git === null;
    if (job.git) become(this.commit, "commit ", h("code", { title: job.git.commit }, job.git.commit.slice(0, 12)), job.git.dirty ? ", with changes that weren't committed" : ", without changes");
    this.diff.show(job);
  }
}

const failed = (job) => job.state === "failed";

const sentence = (s) => `${s[0].toUpperCase()}${s.slice(1)}.`;
