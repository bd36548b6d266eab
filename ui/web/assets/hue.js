// The colour of a job: the same for all jobs with the same first tag, else with the same name but for its numbers. It is the
// job's own, as the console would give it first, on every page and at all times: two kinds of jobs may share one, but a job
// is never in another colour because of who is seen beside it.

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

// hue is a job's colour, 1 to 12: CSS has it as --hue-N.
export const hue = (job) => hueOf(key(job));

// colour is the same for CSS.
export const colour = (job) => `var(--hue-${hue(job)})`;
