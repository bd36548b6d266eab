// Cancelling a job.

import { asking, post } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h } from "./dom.js";
import { active, clock, finished, number, span } from "./format.js";
import { fullName } from "./jobrow.js";

// openCancel has the person say yes.
export function openCancel(job) {
  const now = h("input", { type: "checkbox" });
  const asked = asking();
  dialog({
    title: `Cancel #${job.id} ${fullName(job)}?`, action: "Cancel job", danger: true,
    form: () => [
      h("p", {}, what(job)),
      active(job) && h("p", { class: "faint" }, saved(job)),
      active(job) && field("Now, without the grace", now, "SIGKILL at once: nothing more is saved."),
    ].filter(Boolean),
    act: async () => {
      const a = await post(`/api/jobs/${job.id}/cancel`, asked(now.checked ? { now: true } : {}));
      return `#${job.id} ${a.jobs[0].sentence}`;
    },
  });
}

function what(job) {
  if (finished(job)) return `It has ended meanwhile: it is ${job.state}.`;
  if (active(job)) return `It runs. It gets SIGTERM, and SIGKILL ${span(job.grace)} later if it is still there.`;
  if (job.state === "paused") return "It is paused, and won't go on from its checkpoint, unless it is started again.";
  return "It waits, and leaves the queue.";
}

// saved is what is left of its work.
function saved(job) {
  const c = job.last_checkpoint;
  if (!c) return "It has reported no checkpoint: if it keeps nothing itself, all of its work is lost.";
  return `Its last checkpoint is of ${clock(c.at)}${c.step === null ? "" : `, at step ${number(c.step)}`}.`;
}
