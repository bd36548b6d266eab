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

// streams are those that are listened to. A browser has six connections to a server, for all of its tabs together: a
// stream of a page that nobody sees gives its own back, and goes on when somebody does.
const streams = new Set();
const unseenFor = 10000; // milliseconds
let unseen;

function rest() { for (const s of streams) s.rest(); }
function goOn() { for (const s of streams) s.connect(); }

document.addEventListener("visibilitychange", () => {
  clearTimeout(unseen);
  if (document.hidden) unseen = setTimeout(rest, unseenFor);
  else goOn();
});
addEventListener("pagehide", rest);
addEventListener("pageshow", goOn);

// stream listens to events until close. handlers are by the event's name and get the value; open and lost are told how
// the connection is. The browser connects again by itself, except after a refusal: then this does, ever less often. With
// resume the server can go on behind the last event that came; else each connection begins anew.
export function stream(path, handlers, { open = () => {}, lost = () => {}, resume = false } = {}) {
  let source = null;
  let timer;
  let wait = 1000;
  let last = "";
  const s = {
    connect() {
      if (source) return;
      clearTimeout(timer);
      source = new EventSource(resume && last ? `${path}${path.includes("?") ? "&" : "?"}last_event_id=${encodeURIComponent(last)}` : path);
      source.onopen = () => { wait = 1000; open(); };
      source.onerror = () => {
        lost();
        if (source?.readyState !== EventSource.CLOSED) return;
        source = null;
        if (!streams.has(s)) return;
        timer = setTimeout(s.connect, wait);
        wait = Math.min(wait * 2, 30000);
      };
      for (const [name, f] of Object.entries(handlers)) {
        source.addEventListener(name, (e) => {
          if (e.lastEventId) last = e.lastEventId;
          f(JSON.parse(e.data), e);
        });
      }
    },
    rest() {
      clearTimeout(timer);
      source?.close();
      source = null;
    },
    close() {
      streams.delete(s);
      s.rest();
    },
  };
  streams.add(s);
  s.connect();
  return s;
}
