// Changing a bid.

import { patch, requestID } from "./api.js";
import { dialog, field } from "./dialog.js";
import { h } from "./dom.js";

// openBid asks for a job's new bid; number is what the field has at first.
export function openBid(job, number = job.bid) {
  const input = h("input", { type: "number", value: String(number), step: "1" });
  const request = requestID();
  dialog({
    title: `Bid of #${job.id} ${job.name}`, action: "Bid",
    form: () => field("Bid", input, `Higher bids start first; now it is ${job.bid}.`),
    act: async () => {
      const a = await patch(`/api/jobs/${job.id}`, { bid: Number(input.value), request });
      return `#${job.id} ${a.jobs[0].sentence}`;
    },
  });
}
