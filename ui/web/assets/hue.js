// The colour of a job, as the console gives it: the same for all jobs with the same first tag, else with the same name but
// for its numbers. Who comes later and would have a colour that is taken gets the next that is free.

const hues = 12;

const key = (job) => (job.tags.length > 0 ? `tag ${job.tags[0]}` : `name ${job.name.replace(/[0-9]+/g, "#")}`);

const own = new Map();

function hueOf(word) {
  let hue = own.get(word);
  if (hue === undefined) {
    let sum = 0x811c9dc5; // FNV-1a
    for (const b of new TextEncoder().encode(word)) sum = Math.imul(sum ^ b, 0x01000193) >>> 0;
    hue = 1 + (((sum ^ (sum >>> 16)) >>> 0) % hues);
    if (own.size > 10000) own.clear();
    own.set(word, hue);
  }
  return hue;
}

let given = new Map();

// see takes up which jobs are seen. Those that are first in the list have the first choice.
export function see(jobs) {
  const next = new Map();
  const taken = new Set();
  for (const job of jobs) {
    const k = key(job);
    const hue = given.get(k);
    if (hue !== undefined && !next.has(k)) {
      next.set(k, hue);
      taken.add(hue);
    }
  }
  for (const job of jobs) {
    const k = key(job);
    if (next.has(k)) continue;
    let hue = hueOf(k);
    for (let n = 0; n < hues && taken.has(hue); n++) hue = (hue % hues) + 1;
    next.set(k, hue);
    taken.add(hue);
  }
  given = next;
}

// hue is a job's colour, 1 to 12: CSS has it as --hue-N.
export const hue = (job) => given.get(key(job)) ?? hueOf(key(job));

// colour is the same for CSS.
export const colour = (job) => `var(--hue-${hue(job)})`;
