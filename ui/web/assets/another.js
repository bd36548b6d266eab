// Another job like one that there is: what the form of a submit says for it.

import { exactly, sized, typed, words as command } from "./format.js";

// lost is what a job doesn't tell of how it was submitted. A key would make it the same job.
export const lost = "It is filled in from that job, except for what isn't known any more: its environment (say under More what it needs beside the daemon's own), and no_pty, cols, rows, no_sigterm and checkpoint_grace, if it was submitted with them.";

// another is what the fields say.
export function another(job) {
  const c = job.claim;
  const begin = job.begin && new Date(job.begin) > new Date() ? new Date(job.begin) : null; // what has passed holds nothing up
  return {
    command: typed(job) === job.command ? command(job) : typed(job), cwd: typeof job.cwd === "string" ? job.cwd : "", name: job.name, tags: job.tags.join(" "),
    gpus: String(c.kind === "none" ? 0 : c.gpus), mem: c.auto ? "auto" : c.mem !== null ? sized(c.mem) : "", ram: c.ram ? sized(c.ram) : "", gpu_type: c.type ?? "",
    time: job.est_source === "estimate" ? exactly(job.est_runtime) : "", bid: String(job.bid), retries: job.retries.max > 0 ? String(job.retries.max) : "", preempt: job.preempt,
    grace: exactly(job.grace), time_limit: job.time_limit > 0 ? exactly(job.time_limit) : "", after: job.after.map((d) => (d.on === "ok" ? d.job : `${d.job}:${d.on}`)).join(", "),
    begin: begin ? new Date(begin - begin.getTimezoneOffset() * 60e3).toISOString().slice(0, 19) : "",
    note: job.note ?? "", resume_command: job.resume_command ?? "", pausable: job.pausable,
  };
}

// along is what goes along that has no field: keys of the request, and what they say to people.
export function along(job) {
  const words = {};
  const says = [];
  const take = (key, value, text) => {
    words[key] = value;
    says.push(text);
  };
  if (job.claim.ids?.length > 0) take("gpu_ids", job.claim.ids, `on ${job.claim.ids.join(", ")}`);
  if (job.claim.external) take("external", job.claim.external, job.claim.external === "avoid" ? "only on GPUs that others don't use" : "also on GPUs that others use");
  if (!job.preemptible) take("non_preemptible", true, "not stopped for a higher bid");
  if (job.retries.on?.length > 0) take("retry_on", job.retries.on, `tried again only for ${job.retries.on.join(", ")}`);
  if (job.index !== null || job.params !== null) {
    take("points", [{ ...(job.index === null ? {} : { index: job.index }), ...(job.params === null ? {} : { params: job.params }) }],
      `with ${[...(job.index === null ? [] : [`index ${job.index}`]), ...Object.entries(job.params ?? {}).map(([k, v]) => `${k}=${v}`)].join(", ")} of its group, alone in one of its own`);
  }
  if (job.by !== null) take("by", job.by, `for ${job.by}`);
  return { words, says };
}
