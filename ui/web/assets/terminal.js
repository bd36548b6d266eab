// A job's terminal: watched, until the person takes control of it. xterm.js draws it.

import { query } from "./api.js";
import { h, say, script } from "./dom.js";
import { protocols } from "./key.js";
import { openLink } from "./link.js";

const xterm = () => script("/assets/vendor/xterm.js", "/assets/vendor/xterm.css");

const dark = matchMedia("(prefers-color-scheme: dark)");

const themes = {
  light: { background: "#fffefb", foreground: "#22262a", cursor: "#a8321f", cursorAccent: "#fffefb", selectionBackground: "#cfe0ee",
    black: "#22262a", red: "#a4161a", green: "#176b34", yellow: "#7d5200", blue: "#1d5f8a", magenta: "#8a3a90", cyan: "#0f6b71", white: "#6b6f74",
    brightBlack: "#5f6368", brightRed: "#c0262a", brightGreen: "#1f7a3e", brightYellow: "#8a6100", brightBlue: "#2a6fb0", brightMagenta: "#9a3fa0", brightCyan: "#0f7f86", brightWhite: "#3a3f44" },
  dark: { background: "#101316", foreground: "#e6e3dd", cursor: "#ff9a7d", cursorAccent: "#101316", selectionBackground: "#34495c",
    black: "#3a4046", red: "#ff8f88", green: "#78d693", yellow: "#f0bd62", blue: "#82c4f0", magenta: "#d98be0", cyan: "#5fc6cb", white: "#d6d3cd",
    brightBlack: "#8a8f94", brightRed: "#ffaaa4", brightGreen: "#9be6b0", brightYellow: "#ffd68a", brightBlue: "#a8d8f8", brightMagenta: "#ecb0f0", brightCyan: "#8ae0e4", brightWhite: "#ffffff" },
};
const theme = () => (dark.matches ? themes.dark : themes.light);

// styled is the document as xterm.js sees it. The page's policy forbids the style elements that it would make, and allows
// what comes to the same: sheets of a script's making.
function styled(sheets) {
  const make = (tag, ...more) => {
    if (tag !== "style") return document.createElement(tag, ...more);
    const el = h("span", { hidden: true });
    const sheet = new CSSStyleSheet();
    sheets.add(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    Object.defineProperty(el, "textContent", { get: () => "", set: (css) => sheet.replaceSync(css) });
    return el;
  };
  return new Proxy(document, {
    get(doc, name) {
      if (name === "createElement") return make;
      const v = Reflect.get(doc, name, doc);
      return typeof v === "function" ? v.bind(doc) : v;
    },
    set: (doc, name, value) => Reflect.set(doc, name, value, doc),
  });
}

const largest = 14; // pixels of the font
const smallest = 8; // below it the terminal is scrolled instead
const beside = 28; // pixels of the frame's width: its padding, and the scrollbar's room
const font = 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

let cell;

// measure is a character's width and height, as parts of the font's size.
function measure() {
  if (!cell) {
    const el = document.body.appendChild(h("span", { class: "unseen", "aria-hidden": "true", style: { font: `100px/normal ${font}` } }, "W".repeat(20)));
    el.style.width = el.style.height = "auto";
    const box = el.getBoundingClientRect();
    cell = { width: box.width / 2000, height: Math.max(1.1, box.height / 100) };
    el.remove();
  }
  return cell;
}

// pad is the keys that a phone hasn't: what is on them, their names where that isn't one, and what they send.
const pad = [["Ctrl-C", null, "\x03"], ["Esc", null, "\x1b"], ["Tab", null, "\t"], ["←", "Left", "\x1b[D"], ["↑", "Up", "\x1b[A"], ["↓", "Down", "\x1b[B"], ["→", "Right", "\x1b[C"]];

// A TerminalView is connected from show to close.
export class TerminalView {
  constructor() {
    const button = (name, f, look) => h("button", { type: "button", class: `small ${look ?? ""}`, onclick: f }, name);
    this.take = button("Take control", () => this.order(), "primary");
    this.release = button("Release control", () => { this.leaves = true; this.send({ release: true }); });
    this.reader = h("button", { type: "button", class: "small", "aria-pressed": "false", title: "has a screen reader read what the job writes", onclick: () => this.read() }, "Screen reader");
    this.said = h("p", { class: "said faint", role: "status" });
    this.pad = h("div", { class: "pad", role: "group", "aria-label": "Keys", hidden: true }, pad.map(([word, name, bytes]) => h("button", { type: "button", class: "small", "aria-label": name, onpointerdown: (e) => e.preventDefault(), onclick: () => this.type(new TextEncoder().encode(this.term?.modes.applicationCursorKeysMode ? bytes.replace("[", "O") : bytes)) }, word)));
    this.touch = h("p", { class: "faint leave touch", hidden: true }, "What you type goes to the job, until you release control.");
    this.help = h("p", { class: "faint leave keyed", hidden: true }, "What you type goes to the job, Tab and Escape too. ", h("kbd", {}, "Ctrl"), "+", h("kbd", {}, "]"), " and then ", h("kbd", {}, "d"), ", or ", h("kbd", {}, "Ctrl"), "+", h("kbd", {}, "Shift"), "+", h("kbd", {}, "Esc"), ", leaves the terminal.");
    this.place = h("div", { class: "screen" });
    this.box = h("div", { class: "screenbox", tabindex: "0", role: "group", "aria-label": "Terminal" }, this.place);
    this.el = h("div", { class: "terminal" }, h("div", { class: "tools" }, this.said, h("span", { class: "gap" }), this.reader, this.take, this.release), this.pad, this.box, this.touch, this.help);
    this.watch = new ResizeObserver(() => this.fit());
    this.paint = () => { if (this.term) this.term.options.theme = theme(); };
    this.offer();
  }

  // show connects to an attempt. With live false it is over, and its last screen is all there is.
  async show(id, attempt, live) {
    this.close();
    Object.assign(this, { id, attempt, live, wait: 1000, holder: false, who: null, over: false, closed: false, welcome: null });
    const turn = (this.turn = Symbol());
    this.box.hidden = false;
    this.offer();
    say(this.said, "connecting …");
    try {
      await xterm();
    } catch (e) {
      say(this.said, e.message);
      return;
    }
    if (this.turn !== turn) return;
    this.start();
    this.connect();
  }

  start() {
    this.sheets = new Set();
    this.term = new Terminal({
      cols: 120, rows: 40, fontFamily: font, fontSize: largest, theme: theme(), scrollback: 2000, disableStdin: true, cursorBlink: false,
      documentOverride: styled(this.sheets), screenReaderMode: this.reader.getAttribute("aria-pressed") === "true", linkHandler: { activate: (_, text) => openLink(text), allowNonHttpProtocols: false },
      macOptionIsMeta: true,
    });
    this.term.open(this.place);
    // The same goes for style attributes, which it sets for colours beyond the palette.
    const rows = this.term._core._renderService?._renderer?.value?._rowFactory;
    if (rows) rows._addStyle = (el, css) => { el.style.cssText += `${css};`; };
    this.term.textarea.setAttribute("aria-label", `Terminal of #${this.id}`);
    const bytes = new TextEncoder();
    this.term.onData((text) => this.type(bytes.encode(text)));
    this.term.onBinary((text) => this.type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    this.term.attachCustomKeyEventHandler((e) => this.key(e));
    this.watch.observe(this.box);
    dark.addEventListener("change", this.paint);
    this.fit();
  }

  close() {
    this.turn = null;
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.late);
    this.socket?.close();
    this.socket = null;
    this.watch.disconnect();
    dark.removeEventListener("change", this.paint);
    this.term?.dispose();
    this.term = null;
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => !this.sheets?.has(s));
    this.sheets = null;
    this.place.replaceChildren();
  }

  connect() {
    const url = new URL(`/api/jobs/${this.id}/attach${query({ attempt: this.attempt })}`, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const ws = new WebSocket(url, protocols("pasar-attach"));
    this.socket = ws;
    ws.binaryType = "arraybuffer";
    ws.onmessage = (e) => {
      if (ws !== this.socket) return;
      if (typeof e.data === "string") this.hear(JSON.parse(e.data));
      else this.term.write(new Uint8Array(e.data));
    };
    ws.onclose = () => {
      if (ws !== this.socket) return;
      this.socket = null;
      this.hold(false, null);
      if (this.over) return;
      say(this.said, "The connection is lost; it is tried again.");
      this.timer = setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(2 * this.wait, 30000);
    };
  }

  hear(m) {
    switch (m.event) {
      case "welcome":
        this.wait = 1000;
        this.welcome = m;
        this.resize(m.cols, m.rows);
        this.hold(m.holder, m.who);
        break;
      case "paint": // in the order of what is drawn: a reset at once would be too early
        this.term.write("\x1bc");
        break;
      case "size":
        this.resize(m.cols, m.rows);
        break;
      case "holder":
        this.hold(m.holder, this.leaves ? null : m.who); // who has just released may still be named
        this.leaves = false;
        break;
      case "note":
        say(this.said, sentence(m.text));
        break;
      case "exit":
        this.end(`It has ended${m.state ? `: ${m.summary ?? m.state}` : ""}. This is its last screen; the output has all that was kept.`);
        break;
      case "error":
        this.end(sentence(m.error.message));
        break;
    }
  }

  end(text) {
    this.over = true;
    if (!this.welcome) this.box.hidden = true; // there is nothing on it
    this.hold(false, null);
    say(this.said, text);
  }

  send(order) { if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(order)); }

  type(bytes) { if (this.holder && this.socket?.readyState === WebSocket.OPEN) this.socket.send(bytes); }

  // order takes control. The job's terminal gets the size of this one.
  order() {
    this.send({ take: true, ...this.room() });
  }

  hold(yes, who) {
    const before = this.holder;
    this.holder = yes;
    this.who = who;
    if (this.term) {
      this.term.options.disableStdin = !yes;
      this.term.options.cursorBlink = yes && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    }
    if (yes && !before) {
      say(this.said, "You have control.");
      this.term.focus();
      this.el.scrollIntoView({ block: "nearest" });
      this.fit();
    } else if (!yes && this.socket) {
      say(this.said, who ? `${before ? `${who} has taken control; you` : "You"} are watching${before ? "" : `; ${who} has control`}.` : "You are watching.");
    }
    const here = before && !yes && this.el.contains(document.activeElement);
    this.offer();
    if (here && !this.take.hidden) this.take.focus();
  }

  offer() {
    this.take.hidden = this.holder || this.over || !this.live;
    this.release.hidden = !this.holder;
    this.reader.hidden = this.over && !this.term;
    this.help.hidden = this.pad.hidden = this.touch.hidden = !this.holder;
    this.el.classList.toggle("held", this.holder);
  }

  // key lets the page have the keys while the person only watches, and a way out while they don't.
  key(e) {
    if (!this.holder) return false;
    if (e.type !== "keydown") return !this.leaving;
    const leave = this.leaving;
    if (e.key === "Control" || e.key === "Shift") return true;
    this.leaving = false;
    if (e.key === "Escape" && e.ctrlKey && e.shiftKey || leave && (e.key === "d" || e.key === "D")) {
      e.preventDefault();
      this.release.focus();
      say(this.said, "You have left the terminal, and still have control.");
      return false;
    }
    if (e.key === "]" && e.ctrlKey && !leave) {
      this.leaving = true;
      e.preventDefault();
      clearTimeout(this.late);
      this.late = setTimeout(() => { this.leaving = false; }, 1000);
      return false;
    }
    return true;
  }

  read() {
    const on = this.reader.getAttribute("aria-pressed") !== "true";
    this.reader.setAttribute("aria-pressed", String(on));
    if (this.term) this.term.options.screenReaderMode = on;
  }

  // resize gives the terminal the job's size, in the order of what is drawn.
  resize(cols, rows) {
    this.term.write("", () => {
      if (!this.term) return;
      if (cols !== this.term.cols || rows !== this.term.rows) this.term.resize(cols, rows);
      this.fit();
    });
  }

  // room is the size that fits the pane.
  room() {
    const c = measure();
    const width = this.box.clientWidth - beside;
    const size = width < 500 ? 11 : largest;
    return { cols: Math.max(20, Math.floor(width / (c.width * size))), rows: Math.max(10, Math.min(60, Math.floor(this.height() / (c.height * size)))) };
  }

  height() { return Math.max(240, Math.min(innerHeight * 0.62, 620)); }

  // fit scales the job's screen to the pane, or the job's screen to the pane's size for who has control.
  fit() {
    if (!this.term || this.box.clientWidth === 0) return;
    if (this.holder) {
      const r = this.room();
      if (r.cols !== this.term.cols || r.rows !== this.term.rows) {
        clearTimeout(this.resizing);
        this.resizing = setTimeout(() => { if (this.holder) this.send({ resize: this.room() }); }, 150);
      }
    }
    const size = Math.floor(2 * (this.box.clientWidth - beside) / (this.term.cols * measure().width)) / 2;
    const fontSize = Math.max(smallest, Math.min(largest, size));
    if (this.term.options.fontSize !== fontSize) this.term.options.fontSize = fontSize;
  }
}

const sentence = (s) => (s ? `${s[0].toUpperCase()}${s.slice(1)}${/[.!?]$/.test(s) ? "" : "."}` : "");
