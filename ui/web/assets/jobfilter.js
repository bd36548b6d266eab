// A filter as people type it, with the words of the console's: all of them must match. A word is in a job's name, tags,
// state, submitter, on whose behalf it runs, note, command, machine or reason, or in what else its row says, whatever its
// case. "#42" and "42" are a job's number, or its group's; "group:20" is a group's alone; "@vision" is a tag, "state:failed"
// a state, "by:ada" a person, "on:box" a machine; "-" before a word: it must not match.

import { states } from "./format.js";

const prefixes = [["#", "id"], ["@", "tag"], ["tag:", "tag"], ["state:", "state"], ["group:", "group"], ["by:", "by"], ["on:", "on"], ["machine:", "on"]];

export function parse(text) {
  const words = [];
  for (let t of text.toLowerCase().split(/\s+/)) {
    const not = t.startsWith("-");
    if (not) t = t.slice(1);
    const [prefix, kind] = prefixes.find(([p]) => t.startsWith(p)) ?? ["", "any"];
    t = t.slice(prefix.length);
    if (t !== "") words.push({ text: t, kind, not }); // else it is still being typed
  }
  return words;
}

// mistaken is what is wrong with a filter, in words; "": nothing.
export function mistaken(words) {
  const w = words.find(({ text, kind }) => kind === "state" && !states.includes(text));
  return w ? `There is no state “${w.text}”. The states are ${states.slice(0, -1).join(", ")} and ${states.at(-1)}.` : "";
}

// matches reports whether a filter takes a job; says is what else its row shows.
export const matches = (words, job, says = () => "") => words.every((w) => hit(w, job, says) !== w.not);

function hit({ text, kind }, job, says) {
  const within = (s) => s !== null && s !== undefined && s.toLowerCase().includes(text);
  const is = (s) => s !== null && s !== undefined && s.toLowerCase() === text;
  const id = () => String(job.id) === text || String(job.group) === text;
  switch (kind) {
    case "id": return id();
    case "group": return String(job.group) === text.replace("#", "");
    case "tag": return job.tags.some(is);
    case "state": return is(job.state);
    case "by": return is(job.submitter) || is(job.by);
    case "on": return within(job.machine);
  }
  return id() || within(job.name) || within(job.state) || job.tags.some(within) || within(job.submitter) || within(job.by) ||
    within(job.reason) || within(job.note) || within(job.machine) || within(job.command) || within(job.summary) || within(says(job));
}
