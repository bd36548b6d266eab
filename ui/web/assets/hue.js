// The colour of a job: the same for all jobs with the same first tag, else with the same name but for its numbers. A kind of
// jobs that is seen for the first time gets the colour that is its own, as the console gives it, or if another kind has that
// already the next that is free. It keeps it on every page of this browser, whoever is seen beside it.

const hues = 12;
const kept = "pasar.hues"; // of the kinds that were seen, the latest last
const most = 60;

const key = (job) => (job.tags.length > 0 ? `tag ${job.tags[0]}` : `name ${job.name.replace(/[0-9]+/g, "#")}`);

function own(word) {
  let sum = 0x811c9dc5; // FNV-1a
  for (const b of new TextEncoder().encode(word)) sum = Math.imul(sum ^ b, 0x01000193) >>> 0;
  return 1 + (((sum ^ (sum >>> 16)) >>> 0) % hues);
}

let given = new Map();

// recall takes up what other pages have given since.
function recall() {
  try {
    const list = JSON.parse(localStorage.getItem(kept) ?? "[]").filter(([word, n]) => typeof word === "string" && Number.isInteger(n) && n >= 1 && n <= hues);
    given = new Map([...given, ...list]);
  } catch { /* it may be forbidden, or not ours */ }
}

function keep() {
  try {
    localStorage.setItem(kept, JSON.stringify([...given].slice(-most)));
  } catch { /* then for this page alone */ }
}

// hue is a job's colour, 1 to 12: CSS has it as --hue-N.
export function hue(job) {
  const word = key(job);
  let n = given.get(word);
  if (n !== undefined) return n;
  recall();
  n = given.get(word);
  if (n !== undefined) return n;
  if (given.size > 10 * most) given = new Map([...given].slice(-most));
  const taken = new Set([...given.values()].slice(-most));
  n = own(word);
  for (let tried = 0; tried < hues && taken.has(n); tried++) n = (n % hues) + 1;
  given.set(word, n);
  keep();
  return n;
}

// colour is the same for CSS.
export const colour = (job) => `var(--hue-${hue(job)})`;
