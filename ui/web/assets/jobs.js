// The jobs in a table, asked for again every two seconds while somebody looks. What came from jobs and people is only
// ever text here, never markup.

const every = 2000; // milliseconds
const most = 200; // rows

const headline = document.getElementById("headline");
const rows = document.getElementById("jobs");
const none = document.getElementById("none");

async function ask(path) {
  const res = await fetch(path, { headers: { Accept: "application/json" } });
  const value = await res.json();
  if (!res.ok) throw new Error(value.error.message);
  return value;
}

function cell(text) {
  const td = document.createElement("td");
  td.textContent = text;
  return td;
}

function row(job) {
  const tr = document.createElement("tr");
  const state = cell(job.state);
  state.dataset.state = job.state;
  tr.append(cell(`#${job.id}`), cell(job.name), state, cell(job.bid), cell(job.summary ?? job.command));
  return tr;
}

function counts(jobs) {
  const said = ["running", "queued", "paused", "awaiting", "failed", "completed"].filter((s) => jobs[s]).map((s) => `${jobs[s]} ${s}`);
  return said.length ? said.join(", ") : "nothing runs, and nothing waits";
}

// look shows how things are; what says the same as before is left alone, so that a reader isn't told again.
async function look() {
  try {
    const [status, list] = await Promise.all([ask("/api/status"), ask(`/api/jobs?limit=${most}`)]);
    const said = status.problem ?? counts(status.jobs);
    if (headline.textContent !== said) headline.textContent = said;
    rows.replaceChildren(...list.jobs.map(row));
    none.hidden = list.jobs.length > 0;
  } catch (e) {
    headline.textContent = `no answer: ${e.message}`;
  }
}

let timer;
function watch() {
  clearInterval(timer);
  if (document.hidden) return;
  look();
  timer = setInterval(look, every);
}
document.addEventListener("visibilitychange", watch);
watch();
