// Rented GPUs: what awaits a person's approval, since it costs money. The card is only there when something does.

import { get } from "./api.js";
import { h, say } from "./dom.js";
import { plural, span } from "./format.js";
import { fill } from "./keyed.js";
import { money, openApprove, openReject, soon, total } from "./approve.js";

const every = 15000; // milliseconds from one look to the next
const least = 3000; // and at least, when jobs change

export class Cloud {
  constructor(market) {
    this.market = market;
    this.requests = [];
    this.marked = new Set(); // plans
    this.about = h("p", { role: "status" });
    this.list = h("ul", { class: "requests" });
    this.sumText = h("span");
    this.sum = h("div", { class: "sum", hidden: true }, this.sumText,
      h("button", { type: "button", onclick: () => this.reject(this.chosen()) }, "Reject"),
      h("button", { type: "button", class: "primary", onclick: () => this.approve(this.chosen()) }, "Approve"));
    this.el = h("section", { class: "card cloud", hidden: true, "aria-labelledby": "cloud-title" }, h("div", { class: "cardhead" }, h("h2", { id: "cloud-title" }, "Cloud"), this.about), this.list, this.sum);
    this.timer = setInterval(() => { if (!document.hidden) this.look(); }, every);
    this.look();
  }

  close() {
    clearInterval(this.timer);
    this.closed = true;
  }

  // update looks again when the number of those that await has changed.
  update() {
    const n = this.market.status?.jobs?.awaiting ?? 0;
    if (n === this.awaiting) return;
    this.awaiting = n;
    if (Date.now() - this.lookedAt > least) this.look();
    else setTimeout(() => this.closed || this.look(), least);
  }

  async look() {
    this.lookedAt = Date.now();
    try {
      const v = await get("/api/cloud");
      this.mode = v.mode;
      this.requests = v.requests ?? [];
    } catch {
      return; // what there was stays: the next look may know
    }
    if (!this.closed) this.show();
  }

  show() {
    const list = this.requests;
    const plans = new Map(list.map((r) => [r.plan, r]));
    for (const plan of this.marked) if (!plans.has(plan)) this.marked.delete(plan);
    this.el.hidden = list.length === 0;
    if (list.length === 0) return;
    const more = list.filter((r) => r.kind === "more").length;
    say(this.about, [list.length - more > 0 && plural(list.length - more, "job awaits approval", "jobs await approval"), more > 0 && plural(more, "running job asks for more time", "running jobs ask for more time")]
      .filter(Boolean).join(", ") + `, ${money(total(list))} at most`);
    fill(this.list, [...plans.keys()], (plan) => {
      const r = plans.get(plan);
      const box = h("input", { type: "checkbox", "aria-label": `Choose #${r.id} ${r.name}`, onchange: () => { if (box.checked) this.marked.add(plan); else this.marked.delete(plan); this.show(); } });
      return h("li", {}, box, h("div", {}, h("a", { href: `/jobs/${r.id}` }, `#${r.id} ${r.name}`), h("br"), h("span", { class: "faint" })), h("div", { class: "money num" }),
        h("div", { class: "buttons" },
          h("button", { type: "button", onclick: () => this.reject([this.now(plan)]) }, "Reject"),
          h("button", { type: "button", class: "primary", onclick: () => this.approve([this.now(plan)]) }, "Approve")));
    }, (li, plan) => {
      const r = plans.get(plan);
      const box = li.firstChild;
      box.classList.toggle("none", list.length < 2);
      box.checked = this.marked.has(plan);
      say(li.children[1].lastChild, [r.kind === "more" ? "more time" : "start", `at ${r.target}, ${r.gpu}`, r.time !== null && `about ${span(r.time)}`, `by ${r.submitter}${r.by ? ` for ${r.by}` : ""}`, r.expires && `expires ${soon(r.expires)}`, r.warning && `look: ${r.warning}`].filter(Boolean).join(", "));
      say(li.children[2], `${money(r.estimate)}, at most ${money(r.at_most)}`);
    });
    const chosen = this.chosen();
    this.sum.hidden = chosen.length === 0;
    say(this.sumText, `${chosen.length} chosen, at most ${money(total(chosen))} together`);
  }

  chosen() { return this.requests.filter((r) => this.marked.has(r.plan)); }

  // now is a request as it is by now; one that is gone is refused by the daemon, which says why.
  now(plan) { return this.requests.find((r) => r.plan === plan); }

  approve(list) { openApprove(list, this.mode, () => this.look()); }
  reject(list) { openReject(list, () => this.look()); }
}
