// The HTTP API: `pasar guide api` describes it.

// An ApiError is an answer that refuses: code, message and hint are pasar's.
export class ApiError extends Error {
  constructor(status, error) {
    super(error?.message ?? `the answer was ${status}`);
    this.status = status;
    this.code = error?.code ?? "internal";
    this.hint = error?.hint ?? "";
  }
}

async function ask(method, path, body, signal) {
  let res;
  try {
    res = await fetch(path, {
      method, signal,
      headers: body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new ApiError(0, { code: "no_daemon", message: "pasar doesn't answer", hint: "it may be restarting; jobs go on without it" });
  }
  let value = null;
  try {
    value = await res.json();
  } catch { /* told below */ }
  if (!res.ok || value === null) throw new ApiError(res.status, value?.error);
  return value;
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const post = (path, body = {}) => ask("POST", path, body);
export const patch = (path, body) => ask("PATCH", path, body);

// requestID makes a change safe to send again: it gets the first answer.
export const requestID = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

// query makes "?a=1&b" of an object without what is null, undefined or "".
export function query(keys) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(keys)) {
    if (v !== null && v !== undefined && v !== "" && v !== false) q.set(k, v === true ? "1" : v);
  }
  const s = q.toString();
  return s ? `?${s}` : "";
}

// stream listens to events until close. handlers are by the event's name and get the value; open and lost are told how
// the connection is. The browser connects again by itself, except after a refusal: then this does, ever less often.
export function stream(path, handlers, { open = () => {}, lost = () => {} } = {}) {
  let source;
  let timer;
  let wait = 1000;
  let closed = false;
  const connect = () => {
    source = new EventSource(path);
    source.onopen = () => { wait = 1000; open(); };
    source.onerror = () => {
      lost();
      if (source.readyState === EventSource.CLOSED && !closed) {
        timer = setTimeout(connect, wait);
        wait = Math.min(wait * 2, 30000);
      }
    };
    for (const [name, f] of Object.entries(handlers)) {
      source.addEventListener(name, (e) => f(JSON.parse(e.data), e));
    }
  };
  connect();
  return { close() { closed = true; clearTimeout(timer); source.close(); } };
}
