// How a job's code differed from its commit, as git wrote it.

import { follow } from "./api.js";
import { h, say, toast } from "./dom.js";
import { number } from "./format.js";
import { keyed } from "./key.js";

const most = 3000; // lines in the page

// A Diff is asked for when somebody wants to see it.
export class Diff {
  constructor() {
    this.button = h("button", { type: "button", class: "small", "aria-expanded": "false", onclick: () => this.toggle() }, "Show the changes");
    this.text = h("pre", { class: "diff", tabindex: "0", role: "region", "aria-label": "The changes", hidden: true });
    this.note = h("p", { class: "faint", role: "status", hidden: true });
    this.el = h("div", { hidden: true }, this.button, this.note, this.text);
  }

  // show offers it for a job.
  show(job) {
    this.el.hidden = !job.git?.dirty;
    this.id = job.id;
  }

  async toggle() {
    const open = this.button.getAttribute("aria-expanded") !== "true";
    this.button.setAttribute("aria-expanded", String(open));
    say(this.button, open ? "Hide the changes" : "Show the changes");
    this.text.hidden = !open;
    this.note.hidden = !open || this.known && !this.note.textContent;
    if (!open || this.known) return;
    say(this.note, "…");
    const path = `/api/jobs/${this.id}/diff`;
    try {
      const res = await fetch(path, { headers: keyed() });
      const all = await res.text();
      if (!res.ok) {
        say(this.note, `${JSON.parse(all).error.message}.`);
        this.text.hidden = true;
        return;
      }
      this.known = true;
      const lines = all.replace(/\n$/, "").split("\n");
      this.text.replaceChildren(...lines.slice(0, most).map((l) => h("span", { class: kind(l) }, `${l}\n`)));
      this.note.replaceChildren(...(lines.length > most ? [`The first ${number(most)} of ${number(lines.length)} lines; `, h("a", { href: path, onclick: (e) => follow(e, toast) }, "all of them")] : []));
      this.note.hidden = lines.length <= most;
    } catch {
      say(this.note, "pasar doesn't answer; try again.");
    }
  }
}

function kind(line) {
  if (line.startsWith("diff ") || line.startsWith("+++") || line.startsWith("---") || line.startsWith("index ")) return "file";
  return { "+": "plus", "-": "minus", "@": "place" }[line[0]] ?? null;
}
