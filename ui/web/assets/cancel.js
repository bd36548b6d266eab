// Cancelling a job.

import { post, requestID } from "./api.js";
import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import { active, span } from "./format.js";

export function openCancel(job) {
  const request = requestID();
  dialog({
    title: `Cancel #${job.id} ${job.name}?`, action: "Cancel job", danger: true,
    form: () => h("p", {}, active(job) ? `It runs. It gets SIGTERM, and SIGKILL ${span(job.grace)} later if it is still there.` : "It waits, and leaves the queue."),
    act: async () => { await post(`/api/jobs/${job.id}/cancel`, { request }); return `#${job.id} is cancelled`; },
  });
}
