// What can be done with a job, by its state.

import { post, requestID } from "./api.js";
import { toast } from "./dom.js";
import { active, finished, pausable } from "./format.js";
import { openBid } from "./bid.js";
import { openCancel } from "./cancel.js";
import { openRestart } from "./restart.js";
import { openSubmit } from "./submit.js";

// act asks for a change that needs no words, and says what came of it.
async function act(job, verb, done) {
  try {
    const a = await post(`/api/jobs/${job.id}/${verb}`, { request: requestID() });
    toast(`#${job.id} ${a.jobs?.[0]?.sentence ?? done}`);
  } catch (e) {
    toast([e.message, e.hint].filter(Boolean).map(sentence).join(" "));
  }
}

export const pause = (job) => act(job, "pause");
export const resume = (job) => act(job, "resume");
export const hold = (job) => act(job, "hold");
export const release = (job) => act(job, "release");
export const promote = (job) => act(job, "promote");
export const restart = (job) => act(job, "restart", "is queued again");

export const held = (job) => job.waiting?.why === "held";

// acts are those that fit a job's state: [name, f, class]. A change that somebody else makes at the same time is
// refused by the daemon.
export function acts(job) {
  const list = [];
  const add = (name, f, look = "") => list.push([name, f, look]);
  if (finished(job)) {
    add("Restart", restart, "primary");
    add("Restart with…", openRestart);
    add("Submit another…", openSubmit);
    return list;
  }
  add("Bid", openBid);
  if (job.state === "paused") add("Resume", resume, "primary");
  if ((job.state === "running" || job.state === "starting") && pausable(job)) add("Pause", pause);
  if (job.state === "queued") {
    if (held(job)) add("Release", release, "primary");
    else {
      add("Promote", promote);
      add("Hold", hold);
    }
  }
  add("Submit another…", openSubmit);
  add("Cancel job", openCancel, active(job) ? "warn" : "");
  return list;
}
