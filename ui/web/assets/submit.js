// Submitting a job: a line for the shell, what it asks for, and when it would start.

import { along, another, lost } from "./another.js";
import { post, requestID } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h, say } from "./dom.js";
import { fullName } from "./jobrow.js";
import { Preview } from "./plan.js";

// What was typed and not submitted yet is there when the form is opened again, as long as this page is. Only the directory is kept for longer.
let draft = {};
const kept = "pasar.directory";

const time = /^([0-9.]+(ms|s|m|h|d|w))+$|^[0-9]+(:[0-9]{1,2}){1,2}$|^[0-9]+-[0-9:]+$/i;
const size = /^[0-9.]+\s*[kmgt](i?b)?$|^0$/i;
const whole = /^[0-9]+$/;
const aTime = "write 2h, 90m or 1d12h";
const aSize = "write a size with its unit, such as 24G";

// A refusal begins with the key that it is about, or its hint says what a claim might be: "mem 15G fits".
const first = /^([a-z_]+)(?:\[[^\]]*\]|\.[a-z_]+)*:? /;
const claims = /\b(mem|gpus|ram|gpu_type|cwd)\b/g;

// named says a hint with the fields' names for the keys.
const named = (text, inputs) => text.replace(claims, (key) => inputs[key].labels[0].textContent);

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
    errors[key] = h("small", { class: "fieldwrong", id: `${el.id}-error`, role: "alert" });
    f.append(errors[key]);
    el.check = check;
    return f;
  };
  const text = (props) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...props });
  const box = () => h("input", { type: "checkbox" });

  // wrong shows what is wrong with a field, beside it and nowhere else; null: nothing.
  const wrong = (key, message) => {
    const el = inputs[key];
    say(errors[key], message ?? "");
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
    const tags = say("tags").split(/[\s,]+/).map((t) => t.replace(/^@/, "")).filter(Boolean);
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
    const field = key in inputs ? key : (e.hint ?? "").match(claims)?.[0];
    e.hint = named((e.hint ?? "").replace("without cwd it is your home there", "an empty field is your home").replace("`pasar guide api` lists the keys", ""), inputs);
    if (!field) return;
    wrong(refusal = field, [field === key ? e.message.slice(begins.length) : e.message, e.hint].filter(Boolean).join(". "));
    Object.assign(e, told(), { message: told().message, hint: "" });
  };

  const preview = new Preview(() => {
    const w = words();
    if (w.command[2] === "") w.command[2] = "true"; // when it would start doesn't depend on it
    return post("/api/jobs", { ...w, dry_run: true });
  }, { idle: "When it would start is shown here.", isNew: true, refused });
  const request = requestID();
  if (filled.cwd === undefined) {
    try { filled.cwd = localStorage.getItem(kept) ?? ""; } catch { /* it may be forbidden */ }
  }

  const line = h("textarea", { rows: 2, autofocus: true, spellcheck: "false", autocomplete: "off", placeholder: "python train.py --epochs 3" });
  const d = dialog({
    title: like ? `Submit another like #${like.id} ${fullName(like)}` : "Submit a job", wide: true, action: "Submit",
    form: () => [
      like ? h("p", { class: "faint" }, lost) : "",
      add("command", "Command", line, "a line for the shell, as you would type it; it runs with the daemon's environment"),
      h("div", { class: "fields" },
        add("cwd", "Directory", text({ placeholder: "projects/llm" }), "below your home unless it begins with /"),
        add("name", "Name", text({ placeholder: "that of the program or script" })),
        add("tags", "Tags", text({ placeholder: "llm sft" }), "words to find it by; the first gives the colour")),
      h("div", { class: "fields tight" },
        add("gpus", "GPUs", text({ inputmode: "numeric", placeholder: "1" }), "0 for none", (v) => (whole.test(v) ? null : "a whole number")),
        add("mem", "GPU memory", text({ placeholder: "whole GPUs" }), "a slice such as 24G, or auto", (v) => (v === "auto" || size.test(v) ? null : `${aSize}, or auto`)),
        add("ram", "Host memory", text({ placeholder: "none is asked for" }), "such as 16G", (v) => (size.test(v) ? null : aSize)),
        add("time", "Takes about", text({ placeholder: "2h" }), "an estimate; it never kills", (v) => (time.test(v) ? null : aTime))),
      h("div", { class: "fields tight" },
        add("bid", "Bid", text({ inputmode: "numeric", placeholder: "the usual one" }), "higher starts first", (v) => (/^-?[0-9]{1,15}$/.test(v) ? null : "a whole number")),
        add("retries", "Retries", text({ inputmode: "numeric", placeholder: "0" }), "when it fails for what may pass", (v) => (whole.test(v) ? null : "a whole number")),
        add("preempt", "Preempt", box(), "it may stop running jobs with a lower bid, once")),
      h("details", { class: "moreopts", open: ["grace", "time_limit", "after", "begin", "key", "note", "env", "gpu_type", "resume_command"].some((k) => filled[k] && !(like && k === "grace")) || filled.hold || filled.pausable },
        h("summary", {}, "More"),
        h("div", { class: "fields" },
          add("grace", "Grace", text({ placeholder: "2m" }), "between the request to stop and SIGKILL", (v) => (time.test(v) ? null : aTime)),
          add("time_limit", "Time limit", text({ placeholder: "none" }), "then it is stopped", (v) => (time.test(v) ? null : aTime)),
          add("gpu_type", "GPU type", text({ placeholder: "any" }), "such as H100"),
          add("after", "After", text({ placeholder: "41, 42:any" }), "jobs to wait for: 41 completed, 41:any ended, 41:fail failed",
            (v) => (v.split(/[\s,]+/).filter(Boolean).every((t) => /^#?[1-9][0-9]*(:(ok|any|fail))?$/.test(t)) ? null : "write 41, or 41:any")),
          add("begin", "Not before", h("input", { type: "datetime-local" })),
          add("key", "Key", text(), "a second submit with the same key is the same job")),
        add("note", "Note", text()),
        add("env", "Environment", h("textarea", { rows: 2, spellcheck: "false", autocomplete: "off", placeholder: "WANDB_MODE=offline" }), "KEY=VALUE, one a line, beside the daemon's own; values aren't kept by this page",
          (v) => (v.split("\n").every((l) => l.trim() === "" || l.trim().indexOf("=") > 0) ? null : "write KEY=VALUE, one a line")),
        add("resume_command", "Resume command", text({ placeholder: "python train.py --resume" }), "what to run instead when it goes on from a checkpoint"),
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
        job = await post("/api/jobs", { ...words(), request });
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
