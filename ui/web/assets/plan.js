// What would happen: the answer of a dry run, in words and tables.

import { h } from "./dom.js";
import { late, refusal } from "./dialog.js";
import { bytes, claim, clock, gpus, moment, plural, span } from "./format.js";
import { roughly } from "./jobrow.js";

const most = 8; // rows of a table

// soon is a time to come: "in about 31m (12:31)".
function soon(at) {
  const left = (new Date(at) - Date.now()) / 1000;
  return left <= 0 ? "now" : `in about ${roughly(left)} (${clock(at)})`;
}

function planned(j) {
  let text = "would not start by the estimates that there are";
  if (j.now) text = "would start now";
  else if (j.start && new Date(j.start) <= Date.now() && !j.waiting && j.sentence) return j.sentence; // it runs
  else if (j.start) text = `would start ${soon(j.start)}`;
  if (j.gpus?.length) text += ` on ${gpus(j.gpus)}`;
  if (j.finish) text += `, and end ${soon(j.finish)}`;
  const why = j.now ? "" : j.waiting ? j.waiting.sentence : j.sentence;
  return why ? `${text}: ${why}` : text;
}

function table(caption, heads, rows) {
  return h("table", { class: "plantable" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads.map((w) => h("th", { scope: "col" }, w)))),
    h("tbody", {}, rows.slice(0, most).map((r) => h("tr", {}, r.map((c) => h("td", {}, c)))),
      rows.length > most && h("tr", {}, h("td", { colspan: heads.length }, `… and ${rows.length - most} more`))));
}

// planView is a dry run's answer. New jobs have no number yet that counts.
export function planView(v, isNew = false) {
  const j = v.jobs[0];
  return [
    j && h("p", { class: "first" }, h("strong", {}, isNew ? "It" : `#${j.id}`), ` ${planned(j)}`),
    j?.before && h("p", { class: "faint" }, `without the change it would start ${soon(j.before)}`),
    h("p", { class: "faint" }, `claim: ${claim(v.claim)}${v.claim.limit > (v.claim.mem ?? 0) ? `, charged as ${bytes(v.claim.limit)} with its margin` : ""}`),
    v.stopped.length === 0 ? h("p", { class: "faint" }, "nobody would be stopped")
      : table(h("span", { class: "bad" }, `${plural(v.stopped.length, "job")} would be stopped, and queued again`), ["Job", "Bid", "Ran", "Would lose"], v.stopped.map((s) => [
        `#${s.id} ${s.name}`, s.bid, span(Math.round(s.run_time ?? 0)), h("span", { class: "lines" }, `${s.loses === null ? "not known: it reports no events" : `${span(Math.round(s.loses))} of work`}${s.pausable ? "; it is asked to save first" : ""}`)])),
    v.delayed.length === 0 ? h("p", { class: "faint" }, "nobody would wait longer")
      : table(h("span", { class: "warn" }, `${plural(v.delayed.length, "job")} would wait longer`), ["Job", "Later by", "Start"], v.delayed.map((d) => [
        `#${d.id} ${d.name}`, d.delay === null ? "not known" : roughly(d.delay), h("span", { title: moment(d.to) }, `${clock(d.from)} → ${d.to ? clock(d.to) : "not known"}`)])),
    v.limit && h("p", { class: "faint" }, "the queue is too long to look to its end: later starts aren't known"),
    h("p", { class: "faint" }, "by the estimates that there are; nothing has changed"),
  ];
}

// A Preview asks what would happen while somebody types, and shows the answer that belongs to what was typed last.
export class Preview {
  // ask answers with a dry run, or null with nothing to ask about: then idle is said. refused may take an error elsewhere.
  constructor(ask, { idle, isNew = false, refused = () => {} }) {
    this.el = h("div", { class: "preview", "aria-live": "polite" }, h("p", { class: "faint" }, idle));
    this.idle = idle;
    this.number = 0;
    this.lost = false; // the last answer is one that there is no connection
    this.wrong = false; // an error is shown
    this.hushed = false; // its dialog says it
    const run = async () => {
      if (this.hushed) return;
      const number = ++this.number;
      const show = (e, ...nodes) => {
        if (number !== this.number) return;
        this.wrong = e !== null && !e.told;
        this.lost = e?.status === 0;
        this.el.replaceChildren(...nodes.flat().filter(Boolean));
      };
      try {
        const v = await ask();
        if (number === this.number) refused(null);
        show(null, v ? planView(v, isNew) : h("p", { class: "faint" }, idle));
      } catch (e) {
        if (number === this.number) refused(e); // it may say it in its own words
        show(e, e.told ? h("p", { class: "faint" }, e.message) : h("p", { class: "error" }, refusal(e)));
      }
    };
    this.late = late(run);
  }

  // soon asks, when nothing more has been typed for a moment. What was wrong isn't said of what is there now.
  soon() {
    this.number++;
    this.hushed = this.lost = false;
    if (this.wrong) this.clear();
    this.late();
  }

  // hush leaves it to the dialog to say an error.
  hush(e) {
    this.number++;
    this.hushed = true;
    this.lost = e.status === 0;
    this.clear();
  }

  // back asks again what couldn't be asked while there was no connection.
  back() { if (this.lost) this.soon(); }

  clear() {
    this.wrong = false;
    this.el.replaceChildren(h("p", { class: "faint" }, this.idle));
  }
}
