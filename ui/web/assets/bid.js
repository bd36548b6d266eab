// A job's bid, and who would move for another one.

import { asking, patch } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h } from "./dom.js";
import { active, finished, number as grouped } from "./format.js";
import { fullName } from "./jobrow.js";
import { Preview } from "./plan.js";

const most = 1e9; // pasar's, either way

// usualBid is that of a job of which none is said.
export const usualBid = 1000;

// wrongBid is what is wrong with a bid; null: nothing.
export function wrongBid(text) {
  if (!/^[+-]?[0-9]+$/.test(text)) return "A bid is a whole number.";
  if (Number(text) > most) return `A bid is at most ${grouped(most)}.`;
  return Number(text) < -most ? `A bid is at least −${grouped(most)}.` : null;
}

// openBid asks for a job's new bid; number is what the field has at first.
export function openBid(job, number = job.bid) {
  if (finished(job)) return;
  const waits = !active(job);
  const input = h("input", { type: "text", inputmode: "numeric", value: String(number), autocomplete: "off", oninput: () => preview.soon() });
  const preempt = h("input", { type: "checkbox", onchange: () => preview.soon() });
  const asked = asking();
  const words = () => {
    const text = input.value.trim();
    const wrong = wrongBid(text);
    if (wrong) throw new Error(wrong);
    return { bid: Number(text), preempt: waits && preempt.checked };
  };
  const preview = new Preview(() => {
    const w = words();
    return w.bid === job.bid && !w.preempt ? null : patch(`/api/jobs/${job.id}`, { ...w, dry_run: true });
  }, { idle: "Change the bid to see who would start when, wait longer or be stopped." });
  const need = job.waiting?.bid_needed ?? null;
  dialog({
    preview,
    title: `Bid of #${job.id} ${fullName(job)}`, wide: true, action: "Bid",
    form: () => [
      h("p", { class: "faint" }, "Higher bids start first."),
      field("Bid", input, `a whole number; now it is ${job.bid}`),
      need !== null && need > job.bid ? h("p", {}, h("button", { type: "button", class: "chip", onclick: () => { input.value = String(need); input.dispatchEvent(new Event("input", { bubbles: true })); } }, `Bid ${need}: enough to start earlier`)) : "",
      waits ? field("Preempt", preempt, "it may stop running jobs with a lower bid, once") : "",
      preview.el,
    ],
    act: async () => {
      const v = await patch(`/api/jobs/${job.id}`, asked(words()));
      return `#${job.id} ${v.jobs?.[0]?.sentence ?? "has its new bid"}`;
    },
  });
  if (number !== job.bid) preview.soon();
  input.select();
}
