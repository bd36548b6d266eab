// A filter as people type it, with the words of the console's: all of them must match. A word is in a job's name, tags,
// state, submitter, on whose behalf it runs, note, command, machine or reason, whatever its case. "#42" and "42" are a
// job's number, or its group's; "@vision" is a tag, "state:failed" a state, "by:ada" a person, "on:box" a machine; "-"
// before a word: it must not match.

const prefixes = [["#", "id"], ["@", "tag"], ["tag:", "tag"], ["state:", "state"], ["by:", "by"], ["on:", "on"], ["machine:", "on"]];

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

// matches reports whether a filter takes a job.
export const matches = (words, job) => words.every((w) => hit(w, job) !== w.not);

function hit({ text, kind }, job) {
  const within = (s) => s !== null && s !== undefined && s.toLowerCase().includes(text);
  const is = (s) => s !== null && s !== undefined && s.toLowerCase() === text;
  const id = () => String(job.id) === text || String(job.group) === text;
  switch (kind) {
    case "id": return id();
    case "tag": return job.tags.some(is);
    case "state": return is(job.state);
    case "by": return is(job.submitter) || is(job.by);
    case "on": return within(job.machine);
  }
  return id() || within(job.name) || within(job.state) || job.tags.some(within) || within(job.submitter) || within(job.by) ||
    within(job.reason) || within(job.note) || within(job.machine) || within(job.command);
}
