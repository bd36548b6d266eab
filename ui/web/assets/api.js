// The HTTP API: `pasar guide api` describes it.

import { key, keyed, protocols } from "./key.js";

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
      headers: keyed(body === undefined ? { Accept: "application/json" } : { Accept: "application/json", "Content-Type": "application/json" }),
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

// follow opens a link that answers with a file: the browser asks for that by itself, without the key, and a code stands in
// for it once. Where there is no key the link does by itself.
export async function follow(e, failed) {
  if (key() === "") return;
  e.preventDefault();
  const link = e.currentTarget;
  try {
    const { code } = await post("/api/code");
    const once = link.cloneNode();
    const url = new URL(link.href);
    url.searchParams.set("code", code);
    once.href = url;
    once.click();
  } catch (err) {
    failed(err.message);
  }
}

// requestID makes a change safe to send again: it gets the first answer.
export const requestID = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

// asking is for a form: what it asks for gets an id, and the same one when the same is asked for again.
export function asking() {
  let [last, request] = ["", ""];
  return (words) => {
    const text = JSON.stringify(words);
    if (text !== last) [last, request] = [text, requestID()];
    return { ...words, request };
  };
}

// query makes "?a=1&b" of an object without what is null, undefined or "".
export function query(keys) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(keys)) {
    if (v !== null && v !== undefined && v !== "" && v !== false) q.set(k, v === true ? "1" : v);
  }
  const s = q.toString();
  return s ? `?${s}` : "";
}

// streams are those that are listened to. One of a page that nobody sees costs the daemon for nothing: it rests, and goes on
// when somebody does.
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

// events reads a stream of events, however it comes in pieces, and hands each over: its name, its data, and the id of the
// last that had one.
function events(each) {
  const text = new TextDecoder();
  let rest = "";
  let event = { id: "" };
  return (piece) => {
    const lines = (rest + text.decode(piece, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.name) each(event.name, event.data, event.id);
        event = { id: event.id };
        continue;
      }
      const at = line.indexOf(": ");
      const [key, value] = [line.slice(0, at), line.slice(at + 2)];
      if (key === "event") event.name = value;
      else if (key === "data") event.data = value;
      else if (key === "id") event.id = value;
    }
  };
}

// stream listens to events until close; connect goes on after that. handlers are by the event's name and get the value;
// open and lost are told how the connection is, which is made again when it ends, ever less often while it can't be; that it
// is back is told to the page, as pasar:back. With resume the server goes on behind the last event that came; else each
// connection begins anew. A WebSocket carries them: of other connections a browser has six for all of its tabs.
export function stream(path, handlers, { open = () => {}, lost = () => {}, resume = false } = {}) {
  let socket = null;
  let timer;
  let wait = 1000;
  let away = false;
  let last = "";
  const s = {
    connect() {
      if (socket) return;
      streams.add(s);
      clearTimeout(timer);
      const url = new URL(path, location.href);
      url.protocol = url.protocol.replace("http", "ws");
      if (resume && last) url.searchParams.set("last_event_id", last);
      const own = socket = new WebSocket(url, protocols("pasar-events"));
      own.binaryType = "arraybuffer";
      const read = events((name, data, id) => {
        last = id;
        if (socket === own) handlers[name]?.(JSON.parse(data), { lastEventId: id });
      });
      own.onopen = () => {
        wait = 1000;
        open();
        if (away) document.dispatchEvent(new Event("pasar:back"));
        away = false;
      };
      own.onmessage = (e) => { if (socket === own) read(e.data); };
      own.onclose = () => {
        if (socket !== own) return;
        socket = null;
        away = true;
        lost();
        if (socket || !streams.has(s)) return;
        timer = setTimeout(s.connect, wait);
        wait = Math.min(wait * 2, 30000);
      };
    },
    rest() {
      clearTimeout(timer);
      const own = socket;
      socket = null;
      if (own?.readyState === WebSocket.CONNECTING) own.onopen = () => own.close(); // a browser complains of one that is closed before
      else own?.close();
    },
    close() {
      streams.delete(s);
      s.rest();
    },
  };
  s.connect();
  return s;
}
