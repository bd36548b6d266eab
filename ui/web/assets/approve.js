// What costs money is approved by a person, who has seen what it is and types what it costs at most.

import { post, requestID } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h } from "./dom.js";
import { clock, moment, plural, span } from "./format.js";
import { progress } from "./jobrow.js";

const million = 1e6; // amounts are added in millionths of a dollar: those are whole
const most = 20; // requests that a dialog shows one by one

// money is an amount in dollars: "$12.50", and with as many digits as it needs where that is less than a cent.
export function money(dollars) {
  const n = Math.round(Math.abs(dollars) * million);
  const text = n > 0 && n < million / 100 ? (n / million).toFixed(6).replace(/0+$/, "") : (Math.floor((n + 5000) / 10000) / 100).toFixed(2);
  return `${dollars < 0 ? "-" : ""}$${text}`;
}

// amount reads dollars as people write them; null: it is none.
function amount(text) {
  const t = text.trim().replace(/^\$/, "");
  return /^(\d{1,10}(\.\d{1,6})?|\.\d{1,6})$/.test(t) ? Math.round(Number(t) * million) : null;
}

export const total = (list) => list.reduce((n, r) => n + Math.round(r.at_most * million), 0) / million;

export const soon = (at) => `${clock(at)} (in ${span(Math.max(0, Math.round((new Date(at) - Date.now()) / 60000) * 60))})`;

function code(c) {
  const parts = [];
  if (c.commit) parts.push(`commit ${c.commit}${c.dirty ? " with changes" : ""}`);
  if (c.diff) parts.push(c.diff);
  if (c.hash) parts.push(`hash ${c.hash}`);
  return parts.join(", ") || "not from a git repository";
}

function budget(b) {
  return [b.daily !== null && `${money(b.daily)} of the day's`, b.monthly !== null && `${money(b.monthly)} of the month's`].filter(Boolean).join(", ") || "no budget is set";
}

// details is all that a person should see of a request before it is approved.
function details(r) {
  const line = (what, text) => [h("dt", {}, what), h("dd", {}, text)];
  return h("section", { class: "approval" },
    h("h3", {}, r.kind === "more" ? `More time for #${r.id} ${r.name}` : `#${r.id} ${r.name}`),
    r.warning && h("p", { class: "warn" }, `Look at this first: ${r.warning}`),
    h("dl", {},
      line("who", h("span", { title: moment(r.since) }, `${r.submitter}${r.by ? ` for ${r.by}` : ""}, ${clock(r.since)}`)),
      line("command", h("code", {}, r.command)),
      line("code", code(r.code)),
      line("where", `${r.target}, ${r.gpu}`),
      r.time !== null && line("time", `about ${span(r.time)}`),
      line("estimate", money(r.estimate)),
      line("at most", [h("strong", {}, money(r.at_most)), ": there it is paused at a checkpoint, and asks again"]),
      line("budget left", budget(r.budget)),
      r.progress && line("progress", progress(r.progress)),
      r.expires && line("expires", soon(r.expires)),
      line("plan", h("code", {}, r.plan))));
}

// all shows some requests, and what they cost together.
function all(list) {
  return [
    h("div", { class: "approvals", tabindex: list.length > 1 ? "0" : null, role: "group", "aria-label": "What is meant" }, list.slice(0, most).map(details)),
    list.length > most && h("p", { class: "faint" }, `and ${list.length - most} more`),
    list.length > 1 && h("p", {}, `${list.length} together: `, h("strong", {}, money(total(list))), " at most"),
  ].filter(Boolean);
}

// decide asks for each request in turn; the first refusal ends it.
async function decide(list, verb, body, done) {
  let n = 0;
  try {
    for (const r of list) {
      await post(`/api/jobs/${r.id}/${verb}`, { plan: r.plan, ...body(r) });
      n++;
    }
  } catch (e) {
    if (e.status === 403) {
      e.message = "This costs money, so only a person who is signed in may decide it.";
      e.hint = "Run `pasar web` on the machine, open its link in this browser, and decide then.";
    }
    if (n > 0) e.message = `${n} of ${list.length} ${done}; then: ${e.message}`;
    throw e;
  }
  return `${list.length === 1 ? `#${list[0].id} is` : `${plural(list.length, "request")} are`} ${done}`;
}

// openApprove has a person type the amount: a guard against approving by accident. after is called when it is done, or refused.
export function openApprove(list, mode, after) {
  const sum = total(list);
  if (mode !== "amount") {
    dialog({ title: "Approve", form: () => [h("p", {}, `This daemon wants approvals by ${mode}, which this page can't do.`), ...all(list)] });
    return;
  }
  const input = h("input", { type: "text", inputmode: "decimal", autocomplete: "off", placeholder: money(sum), autofocus: true });
  const requests = new Map(list.map((r) => [r.plan, requestID()]));
  const more = list.every((r) => r.kind === "more");
  dialog({
    title: `${more ? "Give more time for" : "Approve"} ${money(sum)} at most?`, wide: true, action: "Approve",
    form: () => [...all(list), field("Type the amount", input, "what is approved is paid for")],
    act: async () => {
      const typed = amount(input.value);
      if (typed === null) throw new Error("That is no amount of dollars; write 12.50.");
      if (typed !== Math.round(sum * million) && typed !== amount(money(sum))) throw new Error(`That is ${money(typed / million)}, and ${list.length > 1 ? "they cost" : "it costs"} ${money(sum)} at most: nothing was approved.`);
      try {
        return await decide(list, "approve", (r) => ({ at_most: r.at_most, request: requests.get(r.plan) }), "approved");
      } finally {
        after();
      }
    },
  });
}

export function openReject(list, after) {
  const input = h("input", { type: "text", autocomplete: "off", placeholder: "for whoever submitted it", autofocus: true });
  const requests = new Map(list.map((r) => [r.plan, requestID()]));
  dialog({
    title: list.length > 1 ? `Reject ${list.length} requests?` : `Reject #${list[0].id} ${list[0].name}?`, wide: true, action: "Reject", danger: true,
    form: () => [...all(list), field("Why", input)],
    act: async () => {
      try {
        return await decide(list, "reject", (r) => ({ why: input.value.trim(), request: requests.get(r.plan) }), "rejected");
      } finally {
        after();
      }
    },
  });
}
