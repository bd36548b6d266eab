// A job's bid.

import { dialog } from "./dialog.js";
import { h } from "./dom.js";

export function openBid(job) {
  dialog({ title: `Bid of #${job.id} ${job.name}`, form: () => h("p", {}, "") });
}
