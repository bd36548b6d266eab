// Starting a job that has ended once more, with other words.

import { asking, get, post, query } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h } from "./dom.js";
import { bytes, span } from "./format.js";
import { fullName } from "./jobrow.js";
import { Preview } from "./plan.js";
import { hints } from "./verdict.js";

// openRestart asks what is to be different. Fields that are left empty stay as they were.
export function openRestart(job) {
  const c = job.claim;
  const text = (name, placeholder, more) => h("input", { type: "text", name, placeholder, autocomplete: "off", spellcheck: "false", ...more });
  const f = {
    time: text("time", job.est_runtime === null ? "not known" : span(job.est_runtime), { autofocus: true }),
    gpus: text("gpus", String(c.gpus), { inputmode: "numeric" }),
    mem: text("mem", c.auto ? "auto" : c.mem !== null ? bytes(c.mem) : c.gpus === 0 ? "none" : "none: whole GPUs"),
    ram: text("ram", c.ram === null ? "none" : bytes(c.ram)),
    bid: text("bid", String(job.bid), { inputmode: "numeric" }),
    retries: text("retries", String(job.retries.max), { inputmode: "numeric" }),
    time_limit: text("time_limit", job.time_limit === null ? "none" : span(job.time_limit)),
    grace: text("grace", span(job.grace)),
    name: text("name", job.name),
    note: text("note", job.note ?? "none"),
  };
  const box = (name) => h("input", { type: "checkbox", name });
  const hold = box("hold");
  const preempt = box("preempt");
  const asked = asking();
  const preview = new Preview(async () => foresee(job, f, hold, preempt), { idle: "When it would start isn't known beforehand.", isNew: true });
  const d = dialog({
    preview,
    title: `Start #${job.id} ${fullName(job)} again`, wide: true, action: "Restart",
    form: () => [
      h("p", { class: "faint" }, "Fields that are left empty stay as they were."),
      hints(job.id, job.verdict),
      h("div", { class: "fields" },
        field("Takes about", f.time, "2h or 90m; it never kills"),
        field("Bid", f.bid, "higher bids start first"),
        field("GPUs", f.gpus, "0: a job without one"),
        field("GPU memory", f.mem, "a slice such as 24G, or auto"),
        field("Host memory", f.ram, "such as 16G")),
      h("details", {}, h("summary", {}, "Retries, limits, name"),
        h("div", { class: "fields" },
          field("Retries", f.retries, "when it fails"),
          field("Time limit", f.time_limit, "stops an attempt; 0s: none"),
          field("Grace", f.grace, "between SIGTERM and SIGKILL"),
          field("Name", f.name),
          field("Note", f.note))),
      field("Hold", hold, "Keep it from starting until it is released."),
      field("Preempt", preempt, "It may stop running jobs with a lower bid, once."),
      preview.el,
    ].filter(Boolean),
    act: async () => {
      try {
        await post(`/api/jobs/${job.id}/restart`, asked(words(f, hold, preempt)));
      } catch (e) {
        if (e.message.startsWith("the body: ")) { // a field, to who filled it in
          e.message = e.message.slice("the body: ".length);
          e.hint = "";
        }
        throw e;
      }
      return `#${job.id} is queued again`;
    },
  });
  d.addEventListener("input", () => preview.soon());
  preview.soon();
}

// whole is a number as the API takes it. What is none goes as it is, and is refused by who knows best.
function whole(word) {
  const n = word === "" ? NaN : Number(word);
  return Number.isInteger(n) ? n : word;
}

// words are what the fields say.
function words(f, hold, preempt) {
  const out = {};
  for (const [name, input] of Object.entries(f)) {
    const word = input.value.trim();
    if (word === "") continue;
    out[name] = name === "gpus" || name === "bid" || name === "retries" ? whole(word) : word;
  }
  if (hold.checked) out.hold = true;
  if (preempt.checked) out.preempt = true;
  return out;
}

// foresee asks when a job that asks for so much would start; null: it isn't asked about.
function foresee(job, f, hold, preempt) {
  const c = job.claim;
  if (hold.checked || c.ids?.length || c.external) return null;
  const own = (input, word) => input.value.trim() || word;
  return get(`/api/plan${query({
    time: own(f.time, job.est_runtime === null ? "" : `${Math.max(1, Math.round(job.est_runtime))}s`),
    gpus: own(f.gpus, c.gpus === 0 ? "0" : f.mem.value.trim() && c.mem === null ? "" : String(c.gpus)),
    mem: own(f.mem, c.auto ? "auto" : c.mem !== null && own(f.gpus, "1") !== "0" ? `${Math.round(c.mem / 2 ** 20)}M` : ""),
    ram: own(f.ram, c.ram === null ? "" : `${Math.round(c.ram / 2 ** 20)}M`),
    gpu_type: c.type, bid: own(f.bid, String(job.bid)), preempt: preempt.checked,
  })}`);
}
