// The pages: which one is shown, what is above all of them, and the keys that work everywhere.

import { get } from "./api.js";
import { say } from "./dom.js";
import { dialog } from "./dialog.js";
import { h } from "./dom.js";
import * as dashboard from "./dashboard.js";
import * as jobpage from "./jobpage.js";
import { openSubmit } from "./submit.js";
import { code } from "./verdict.js";

// A page module has open(el, params), which fills el and returns { title, close(), keys }: keys are [key, what it does, f]. With
// back it was left before, and is as it was then.
const routes = [
  [/^\/$/, dashboard, () => ({})],
  [/^\/jobs\/([1-9][0-9]*)$/, jobpage, (m) => ({ id: Number(m[1]) })],
];

const main = document.getElementById("page");
let page = null;
let shown = "";

function show({ focus = true, back = false } = {}) {
  const path = location.pathname;
  if (page && path === shown) {
    page.query?.(new URLSearchParams(location.search));
    return;
  }
  page?.close();
  page = null;
  shown = path;
  main.replaceChildren();
  for (const [pattern, module, params] of routes) {
    const m = pattern.exec(path);
    if (!m) continue;
    page = module.open(main, { ...params(m), back });
    document.title = page.title;
    window.scrollTo(0, 0);
    if (focus) main.focus({ preventScroll: true });
    return;
  }
  document.title = "pasar";
  main.append(h("p", { class: "empty" }, "There is no such page. ", h("a", { href: "/" }, "All jobs")));
}

// go shows another page, as a link to it would.
export function go(path) {
  history.pushState(null, "", path);
  show();
}

document.addEventListener("click", (e) => {
  const a = e.target.closest?.("a[href]");
  if (!a || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  if (a.origin !== location.origin || a.target || a.hasAttribute("download") || !routes.some(([p]) => p.test(a.pathname)) || a.hash) return;
  e.preventDefault();
  if (a.pathname + a.search !== location.pathname + location.search) go(a.pathname + a.search);
});
window.addEventListener("popstate", () => show({ back: true }));

// everywhere are the keys that work on each page.
const everywhere = [
  ["s", "submit a job", () => openSubmit()],
  ["?", "these keys", () => help()],
  ["h", "all jobs", () => go("/")],
];

function typing(el) {
  return el.closest("input, select, textarea, [contenteditable], dialog, .xterm") !== null;
}

document.addEventListener("keydown", (e) => {
  if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.altKey || typing(e.target)) return;
  for (const [key, , f] of [...(page?.keys ?? []), ...everywhere]) {
    if (e.key === key) {
      e.preventDefault();
      f();
      return;
    }
  }
});

function help() {
  dialog({
    title: "Keys",
    form: () => h("dl", { class: "keys" }, [...(page?.keys ?? []), ...everywhere].map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
  });
}

document.getElementById("submit").addEventListener("click", () => openSubmit());
document.getElementById("keys").addEventListener("click", help);

// The mood: asked for again when a page says that something has changed, and from time to time.
const headline = document.getElementById("headline");
const mascot = document.getElementById("mascot");
let asking = false;
let again = 0;

export async function mood() {
  if (asking) { again = true; return; }
  asking = true;
  again = false;
  try {
    const m = await get("/api/mascot");
    say(headline, m.headline);
    if (mascot.getAttribute("src") !== m.image) mascot.src = m.image;
    mascot.alt = "";
    mascot.classList.remove("away");
    mascot.title = `${m.mood}: ${m.why}`;
  } catch (e) {
    say(headline, e.status === 401 ? "this browser isn't signed in any more: `pasar web` opens a page that is" : e.message);
    if (e.status !== 0) mascot.src = "/mascot/confused.svg"; // else there is nobody to give out a picture
    mascot.classList.toggle("away", e.status === 0);
  }
  setTimeout(() => { asking = false; if (again) mood(); }, 1000);
}
setInterval(() => { if (!document.hidden) mood(); }, 15000);
document.addEventListener("visibilitychange", () => { if (!document.hidden) mood(); });

// lost is said while there is no connection.
export const lost = "The connection is lost; it is tried again. What is shown is as it was. If pasar has stopped there, any `pasar` command on its machine starts it.";

// trouble says over every page what is wrong; null: nothing is.
let troubled = null;
export function trouble(text) {
  if (text === troubled) return;
  troubled = text;
  const el = document.getElementById("trouble");
  el.hidden = !text;
  el.replaceChildren(...code(text ?? ""));
}

mood();
show({ focus: false });
