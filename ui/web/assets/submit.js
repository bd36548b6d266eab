// Submitting a job: a line for the shell, what it asks for, and when it would start.

import { usualBid, wrongBid } from "./bid.js";
import { along, another, lost } from "./another.js";
import { asking, post } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h } from "./dom.js";
import { number, sentence } from "./format.js";
import { fullName } from "./jobrow.js";
import { Preview } from "./plan.js";
import { code } from "./verdict.js";

// What was typed and not submitted yet is there when the form is opened again, as long as this page is. Only the directory is kept for longer.
let draft = {};
const kept = "pasar.directory";

const time = /^([0-9.]+(ms|s|m|h|d|w))+$|^[0-9]+(:[0-9]{1,2}){1,2}$|^[0-9]+-[0-9:]+$/i;
const size = /^[0-9.]+\s*[kmgt](i?b)?$|^0$/i;
const whole = /^[0-9]+$/;
const aTime = "Write 2h, 90m or 1d12h.";
const aSize = "Write a size with its unit, such as 24G";

// What fits: pasar refuses more.
const most = { bytes: 200, note: 16384, tags: 32, retries: 1000, gpus: 1024 };

// upTo checks that a text has at most so many bytes.
const upTo = (bytes) => (v) => {
  const n = new TextEncoder().encode(v).length;
  return n > bytes ? `It is ${number(n)} bytes long, and at most ${number(bytes)} fit.` : null;
};

// count checks a whole number.
const count = (top, beyond) => (v) => (!whole.test(v) ? "Write a whole number, 0 or more." : Number(v) > top ? beyond : null);

// A refusal begins with the key that it is about, or its hint says what a claim might be: "mem 15G fits".
const first = /^([a-z_]+)(?:\[[^\]]*\]|\.[a-z_]+)*:? /;
const claims = /\b(mem|gpus|ram|gpu_type|cwd)\b/g;

// labelOf is the name of a field.
const labelOf = (el) => el.labels[0].textContent;

// named says a refusal or a hint with the fields' names for the keys, as people put it: "4 GPUs", "16G of Host memory".
const named = (text, inputs) => text.replace(/^\S+ has not got /, "this machine has not got ").replace(/\bgpus ([0-9]+)/g, (_, n) => `${n} GPU${n === "1" ? "" : "s"}`)
  .replace(/\b(mem|ram) ([0-9]\S*)/g, "$2 of $1").replace(claims, (key) => labelOf(inputs[key]));

const tagsOf = (text) => text.split(/[\s,]+/).map((t) => t.replace(/^@/, "")).filter(Boolean);

// openSubmit asks for a job, or for another like one that there is.
export function openSubmit(like = null) {
  const filled = like ? another(like) : draft;
  const more = like && along(like); // what it asks for that has no field
  const same = more?.says.length > 0 && h("input", { type: "checkbox", checked: true, oninput: () => { d.fail(null); preview.soon(); } });
  const inputs = {};
  const errors = {};
  const changed = (e) => {
    const key = Object.keys(inputs).find((k) => inputs[k] === e.target);
    if (key) wrong(key, null);
    d.fail(null); // what it said is being mended
    if (!like) draft = Object.fromEntries(Object.entries(inputs).map(([k, el]) => [k, el.type === "checkbox" ? el.checked : el.value]));
    preview.soon();
  };
  const add = (key, label, el, help, check) => {
    inputs[key] = el;
    if (el.type === "checkbox") el.checked = filled[key] ?? false;
    else if (filled[key] !== undefined) el.value = filled[key];
    el.addEventListener("input", changed);
    const f = field(label, el, help);
    errors[key] = h("p", { class: "fieldwrong", id: `${el.id}-error`, role: "alert" });
    el.check = check;
    return [f, errors[key]];
  };
  const text = (props) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });
  const box = () => h("input", { type: "checkbox" });

  // wrong shows what is wrong with a field, below its row and nowhere else; null: nothing.
  const wrong = (key, message) => {
    const el = inputs[key];
    const text = !message ? "" : message.startsWith(labelOf(el)) ? message : `${labelOf(el)}: ${message}`;
    if (errors[key].said !== text) errors[key].replaceChildren(...code(errors[key].said = text));
    if (message) {
      el.setAttribute("aria-invalid", "true");
      el.setAttribute("aria-errormessage", errors[key].id);
      el.closest("details")?.setAttribute("open", "");
    } else {
      el.removeAttribute("aria-invalid");
      el.removeAttribute("aria-errormessage");
    }
  };

  // told is an error that a field says already.
  const told = () => Object.assign(new Error("A field above isn't right yet."), { told: true });

  // words are the request, of what is filled in.
  const words = () => {
    const say = (key) => inputs[key].value.trim();
    let right = true;
    for (const [key, el] of Object.entries(inputs)) {
      const message = el.check && say(key) !== "" ? el.check(say(key)) : null;
      if (message || el.check) wrong(key, message);
      if (message) right = false;
    }
    if (!right) throw told();
    const w = { ...(same?.checked ? more.words : {}), command: ["/bin/sh", "-c", inputs.command.value.trim()] };
    for (const key of ["cwd", "name", "time", "mem", "ram", "gpu_type", "grace", "time_limit", "key", "note", "resume_command"]) if (say(key) !== "") w[key] = say(key);
    for (const key of ["gpus", "bid", "retries"]) if (say(key) !== "") w[key] = Number(say(key));
    for (const key of ["preempt", "hold"]) if (inputs[key].checked) w[key] = true;
    if (inputs.pausable.checked) w.pausable = true;
    const tags = tagsOf(say("tags"));
    if (tags.length > 0) w.tags = tags;
    const after = say("after").split(/[\s,]+/).filter(Boolean);
    if (after.length > 0) w.after = after.map((t) => { const [id, on] = t.replace("#", "").split(":"); return { job: Number(id), on: on || "ok" }; });
    if (say("begin") !== "") w.begin = new Date(say("begin")).toISOString();
    const env = inputs.env.value.split("\n").map((l) => l.trim()).filter(Boolean);
    if (env.length > 0) w.env = Object.fromEntries(env.map((l) => [l.slice(0, l.indexOf("=")), l.slice(l.indexOf("=") + 1)]));
    return w;
  };

  // refused puts a refusal to the field that it names, and says it in this form's words.
  let refusal = null;
  const refused = (e) => {
    if (refusal) wrong(refusal, null);
    refusal = null;
    if (!e?.code) return;
    const [begins, key] = first.exec(e.message) ?? [];
    const type = inputs.gpu_type.value.trim();
    const field = key in inputs ? key : type && e.message.includes(` of type ${type}`) ? "gpu_type" : (e.hint ?? "").match(claims)?.[0];
    e.hint = named((e.hint ?? "").replace("without cwd it is your home there", "an empty field is your home").replace("`pasar guide api` lists the keys", ""), inputs);
    const about = field === key ? e.message.slice(begins.length) : named(e.message, inputs);
    e.message = field !== key || begins.endsWith(": ") ? about : `${labelOf(inputs[key])} ${named(about, inputs)}`;
    if (!field) return;
    wrong(refusal = field, [e.message, e.hint].filter(Boolean).map(sentence).join(" "));
    Object.assign(e, told(), { message: told().message, hint: "" });
  };

  const preview = new Preview(() => {
    const w = words();
    if (w.command[2] === "") w.command[2] = "true"; // when it would start doesn't depend on it
    return post("/api/jobs", { ...w, dry_run: true });
  }, { idle: "When it would start is shown here.", isNew: true, refused });
  const asked = asking();
  if (filled.cwd === undefined) {
    try { filled.cwd = localStorage.getItem(kept) ?? ""; } catch { /* it may be forbidden */ }
  }

  const line = h("textarea", { rows: 2, autofocus: true, spellcheck: "false", autocomplete: "off", placeholder: "e.g. python train.py --epochs 3" });
  const d = dialog({
    preview,
    title: like ? `Submit another like #${like.id} ${fullName(like)}` : "Submit a job", wide: true, action: "Submit",
    form: () => [
      like ? h("p", { class: "faint" }, lost) : "",
      add("command", "Command", line, "a line for the shell, as you would type it; it runs with the daemon's environment"),
      h("div", { class: "fields" },
        add("cwd", "Directory", text({ placeholder: "e.g. projects/llm" }), "below your home unless it begins with /"),
        add("name", "Name", text({ placeholder: "that of the program or script" }), "", upTo(most.bytes)),
        add("tags", "Tags", text({ placeholder: "e.g. llm sft" }), "words to find it by; the first gives the colour", (v) => {
          const tags = tagsOf(v);
          return tags.length > most.tags ? `There are ${tags.length} of them, and at most ${most.tags} fit.` : tags.map(upTo(most.bytes)).find(Boolean) ?? null;
        })),
      h("div", { class: "fields tight" },
        add("gpus", "GPUs", text({ inputmode: "numeric", placeholder: "1" }), "0 for none", count(most.gpus, `A job has at most ${number(most.gpus)} GPUs.`)),
        add("mem", "GPU memory", text({ placeholder: "whole GPUs" }), "a slice such as 24G, or auto", (v) => {
          if (v !== "auto" && !size.test(v)) return `${aSize}, or auto.`;
          if (inputs.gpus.value.trim() === "0") return "A job without a GPU has none of its memory. What it needs of the machine's goes under Host memory.";
          return Number.parseFloat(v) === 0 ? "Write more than 0, or nothing for whole GPUs." : null;
        }),
        add("ram", "Host memory", text({ placeholder: "none" }), "such as 16G", (v) => (size.test(v) ? null : `${aSize}.`)),
        add("time", "Takes about", text({ placeholder: "e.g. 2h" }), "an estimate; it never kills", (v) => (time.test(v) ? null : aTime))),
      h("div", { class: "fields tight" },
        add("bid", "Bid", text({ inputmode: "numeric", placeholder: `usually ${usualBid}` }), "higher starts first", wrongBid),
        add("retries", "Retries", text({ inputmode: "numeric", placeholder: "0" }), "when it fails for what may pass", count(most.retries, `It is tried again at most ${number(most.retries)} times.`)),
        add("preempt", "Preempt", box(), "it may stop running jobs with a lower bid, once")),
      h("details", { class: "moreopts", open: ["grace", "time_limit", "after", "begin", "key", "note", "env", "gpu_type", "resume_command"].some((k) => filled[k] && !(like && k === "grace")) || filled.hold || filled.pausable },
        h("summary", {}, "More"),
        h("div", { class: "fields" },
          add("grace", "Grace", text({ placeholder: "2m" }), "between the request to stop and SIGKILL", (v) => (time.test(v) ? null : aTime)),
          add("time_limit", "Time limit", text({ placeholder: "none" }), "then it is stopped", (v) => (time.test(v) ? null : aTime)),
          add("gpu_type", "GPU type", text({ placeholder: "any" }), "such as H100", (v) => (inputs.gpus.value.trim() === "0" ? "A job without a GPU has no type of one." : upTo(most.bytes)(v))),
          add("after", "After", text({ placeholder: "e.g. 41, 42:any" }), "jobs to wait for: 41 completed, 41:any ended, 41:fail failed",
            (v) => (v.split(/[\s,]+/).filter(Boolean).every((t) => /^#?[1-9][0-9]*(:(ok|any|fail))?$/.test(t)) ? null : "Write 41, or 41:any.")),
          add("begin", "Not before", h("input", { type: "datetime-local" })),
          add("key", "Key", text(), "a second submit with the same key is the same job", upTo(most.bytes))),
        add("note", "Note", text(), "", upTo(most.note)),
        add("env", "Environment", h("textarea", { rows: 2, spellcheck: "false", autocomplete: "off", placeholder: "e.g. WANDB_MODE=offline" }), "KEY=VALUE, one a line, beside the daemon's own; values aren't kept by this page",
          (v) => (v.split("\n").every((l) => l.trim() === "" || l.trim().indexOf("=") > 0) ? null : "Write KEY=VALUE, one a line.")),
        add("resume_command", "Resume command", text({ placeholder: "e.g. python train.py --resume" }), "what to run instead when it goes on from a checkpoint"),
        h("div", { class: "fields" },
          add("pausable", "Pausable", box(), "it can save and leave when asked to"),
          add("hold", "Hold", box(), "keep it from starting until it is released"))),
      same ? field("The rest as that job has it", same, `${more.says.join("; ")}.`) : "",
      preview.el,
    ],
    act: async () => {
      if (inputs.command.value.trim() === "") {
        wrong("command", "No command is given.");
        line.focus();
        throw told();
      }
      let job;
      try {
        job = await post("/api/jobs", asked(words()));
      } catch (e) {
        refused(e);
        d.querySelector("[aria-invalid]")?.focus();
        throw e;
      }
      try { localStorage.setItem(kept, inputs.cwd.value.trim()); } catch { /* then not */ }
      if (!like) draft = {};
      document.dispatchEvent(new CustomEvent("pasar:submitted", { detail: job.id }));
      return ["Submitted ", h("a", { href: `/jobs/${job.id}` }, `#${job.id} ${fullName(job)}`), job.waiting ? `: ${job.waiting.sentence}` : ""];
    },
  });
  line.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); d.querySelector("form").requestSubmit(); }
  });
  preview.soon();
}
