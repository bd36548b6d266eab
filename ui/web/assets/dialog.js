// Dialogs: a title, what is asked, and buttons. Escape closes one, and the focus goes back to where it came from.

import { h, toast } from "./dom.js";
import { sentence } from "./format.js";
import { code } from "./verdict.js";

let number = 0;

// dialog opens one and returns it. form makes its content and is given the dialog; act is what the main button does: it
// may fail with an ApiError, which is shown in the dialog until something is changed, or until the connection is back if that
// was lost; what it returns is said to the person.
// options: title, wide, action (the main button's text), danger (it is red), leave (the text of the button that does
// nothing), also (another button's text, and what it does once the dialog is closed), act, preview (the Preview in the form), form(d).
export function dialog({ title, wide, action, danger, leave = action ? "Not now" : "Close", also, act, preview, form }) {
  const id = `dialog-${++number}`;
  const from = document.activeElement;
  const error = h("p", { class: "error", role: "alert", hidden: true });
  const main = action && h("button", { type: "submit", class: danger ? "danger" : "primary" }, action);
  const d = h("dialog", { class: wide ? "dialog wide" : "dialog", "aria-labelledby": id });
  const content = h("div", { class: "content" });
  const body = h("form", { method: "dialog", novalidate: true, onsubmit: (e) => { e.preventDefault(); run(); } },
    h("h2", { id }, title),
    content,
    error,
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "quiet", onclick: () => d.close() }, leave),
      also && h("button", { type: "button", onclick: () => { d.close(); also[1](); } }, also[0]),
      main));
  d.append(body);
  let shown = null;
  d.fail = (e) => {
    error.hidden = !e;
    error.replaceChildren(...(e ? refusal(e) : []));
    shown = e;
    if (e) error.scrollIntoView({ block: "end", behavior: "instant" }); // above the buttons, which stay
  };
  d.ready = (yes) => { if (main) main.disabled = !yes; };
  let busy = false;
  async function run() {
    if (busy || !act || main?.disabled) return;
    busy = true;
    main?.setAttribute("aria-busy", "true");
    d.fail(null);
    try {
      const said = await act(d);
      d.close();
      if (said) toast(said);
    } catch (e) {
      if (!d.open) toast(e.message);
      else if (!e.told) { // else a field says it
        preview?.hush(e);
        d.fail(e);
      }
    } finally {
      busy = false;
      main?.removeAttribute("aria-busy");
    }
  }
  content.addEventListener("input", () => d.fail(null));
  const back = () => {
    if (shown?.status === 0) d.fail(null);
    preview?.back();
  };
  document.addEventListener("pasar:back", back);
  d.addEventListener("close", () => {
    document.removeEventListener("pasar:back", back);
    d.remove();
    if (from?.isConnected) from.focus();
  });
  document.body.append(d);
  content.append(...[form(d)].flat(Infinity));
  d.showModal();
  (content.querySelector("[autofocus]") ?? content.querySelector("input, select, textarea") ?? main)?.focus();
  return d;
}

// refusal is what an error says, in sentences.
export const refusal = (e) => [h("strong", {}, code(sentence(e.message))), e.hint ? h("span", {}, " ", code(sentence(e.hint))) : ""];

// field is a labelled control, with a line of help. Props are those of the control.
export function field(label, control, help) {
  const id = control.id || `field-${++number}`;
  control.id = id;
  const about = help && h("small", { id: `${id}-help` }, help);
  if (about) control.setAttribute("aria-describedby", about.id);
  return h("div", { class: control.type === "checkbox" ? "field check" : "field" }, h("label", { for: id }, label), control, about);
}

// late calls f some time after the last of many calls: while somebody types, nobody is asked.
export function late(f, after = 250) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...args), after);
  };
}
