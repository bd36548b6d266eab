// Elements, made without markup: what came from jobs and people is only ever text here.

// h makes an element. Of props, on… are listeners, dataset and style are objects, class is the class; false, null and
// undefined leave an attribute out, true is one without a value. Children are nodes, text, or lists of them; null and
// false are left out.
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  set(el, props);
  add(el, children);
  return el;
}

// svg is h for SVG.
export function svg(tag, props, ...children) {
  const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(el, props);
  add(el, children);
  return el;
}

function set(el, props) {
  for (const [k, v] of Object.entries(props ?? {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on")) el.addEventListener(k.slice(2), v);
    else if (k === "dataset") Object.assign(el.dataset, v);
    else if (k === "style") for (const [name, value] of Object.entries(v)) el.style.setProperty(name, value);
    else if (k === "value" || k === "checked" || k === "disabled") el[k] = v;
    else el.setAttribute(k, v === true ? "" : v);
  }
}

function add(el, children) {
  for (const c of children.flat(Infinity)) {
    if (c === null || c === undefined || c === false) continue;
    el.append(c instanceof Node ? c : String(c));
  }
}

// say sets an element's text if it is another: who listens to it isn't told the same twice.
export function say(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

// become makes an element's children the given ones, and leaves alone those that are the same already: what has the focus
// keeps it, and what is being selected stays selected.
export function become(el, ...children) {
  const next = [...h("div", {}, children).childNodes];
  next.forEach((n, i) => {
    const old = el.childNodes[i];
    if (!old) el.append(n);
    else if (!old.isEqualNode(n)) {
      if (alike(old, n)) become(old, ...n.childNodes);
      else {
        const focus = old === document.activeElement;
        old.replaceWith(n);
        if (focus) n.focus();
      }
    }
  });
  while (el.childNodes.length > next.length) el.lastChild.remove();
}

// alike says whether one element can become the other by its children alone. What listens is made anew.
function alike(a, b) {
  return a.nodeType === 1 && a.tagName !== "BUTTON" && a.cloneNode(false).isEqualNode(b.cloneNode(false)) && a.childElementCount + b.childElementCount > 0;
}

// copy puts text where it can be pasted from.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("copied");
  } catch { // not allowed, or not over HTTPS
    const area = h("textarea", { class: "unseen", value: text, "aria-hidden": true });
    const from = document.activeElement;
    document.body.append(area);
    area.select();
    toast(document.execCommand("copy") ? "copied" : "it could not be copied");
    area.remove();
    from?.focus();
  }
}

let silence;

// toast says what was done, for some seconds: a text, or a list of texts and nodes.
export function toast(text) {
  const el = document.getElementById("said");
  el.replaceChildren(...[text].flat());
  el.classList.add("shown");
  clearTimeout(silence);
  silence = setTimeout(() => el.classList.remove("shown"), 6000);
}

const loaded = new Map();

// script loads a classic script once, and its style sheet: libraries that not every page needs.
export function script(src, css) {
  if (!loaded.has(src)) {
    if (css) document.head.append(h("link", { rel: "stylesheet", href: css }));
    loaded.set(src, new Promise((done, failed) => {
      document.head.append(h("script", { src, onload: done, onerror: () => failed(new Error(`${src} could not be loaded`)) }));
    }).catch((e) => { loaded.delete(src); throw e; }));
  }
  return loaded.get(src);
}

// frame runs f before the next painting, and once however often it is asked for until then.
export function frame(f) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    const go = () => { if (asked) { asked = false; f(); } };
    if (document.hidden) setTimeout(go, 1000); // no frames come while nobody looks
    else requestAnimationFrame(go);
  };
}
