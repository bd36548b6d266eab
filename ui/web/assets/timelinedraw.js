// What the timeline looks like. A view says when and where: from when on, how wide it is, x(t), and tint(name).

import { bytes, ofBytes } from "./format.js";
import { hue } from "./hue.js";
import { fullName } from "./jobrow.js";

const hour = 3600e3;
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7200, 14400].map((m) => m * 60e3); // between ticks

export const top = 24; // pixels of the axis
export const chart = 44; // of the memory
export const lane = 22;

// deep is how high a lane is: one with nothing in it has only its name.
export const deep = (l) => (l.bars.length > 0 ? lane : 15);

export function axis(view, c, from, to, now, high) {
  const step = steps.find((s) => s / view.scale() >= 84) ?? steps.at(-1);
  const offset = new Date(from).getTimezoneOffset() * 60e3;
  c.strokeStyle = view.tint("line");
  c.fillStyle = view.tint("faint");
  c.lineWidth = 1;
  c.textAlign = "left";
  for (let t = Math.ceil((from - offset) / step) * step + offset; t < to; t += step) {
    const x = Math.round(view.x(t)) + 0.5;
    if (x < view.gutter()) continue;
    c.beginPath();
    c.moveTo(x, top - 4);
    c.lineTo(x, high);
    c.stroke();
    const d = new Date(t);
    const midnight = d.getHours() === 0 && d.getMinutes() === 0;
    const text = midnight || step >= 24 * hour ? d.toLocaleDateString(undefined, { weekday: step < 48 * hour ? "short" : undefined, day: "numeric", month: step >= 24 * hour ? "short" : undefined })
      : `${String(d.getHours()).padStart(2, "0")}:${String(d.getMinutes()).padStart(2, "0")}`;
    const end = x + 4 + c.measureText(text).width;
    if (end < view.wide && (end < view.x(now) - 18 || x + 4 > view.x(now) + 18)) c.fillText(text, x + 4, top / 2 - 1);
  }
}

// memory draws what was in use, and what is claimed from now on.
export function memory(view, c, gpus, from, to, now) {
  const total = gpus.reduce((n, g) => n + g.total, 0) || 1;
  const there = new Set(gpus.map((g) => g.uuid));
  const [y0, y1] = [top + chart, top + 4];
  const y = (b) => y0 - (Math.min(b, total) / total) * (y0 - y1);
  const left = view.gutter();
  c.save();
  c.beginPath();
  c.rect(left, 0, view.wide - left, y0 + 1);
  c.clip();
  const at = new Map();
  for (const g of view.points) {
    if (!there.has(g.uuid)) continue;
    for (const p of g.points) if (p.used !== null) at.set(p.at, (at.get(p.at) ?? 0) + p.used);
  }
  const used = [...at].map(([t, b]) => [new Date(t).getTime(), b]).sort((a, b) => a[0] - b[0]);
  const current = gpus.every((g) => g.used !== null) ? gpus.reduce((n, g) => n + g.used, 0) : null;
  if (current !== null) used.push([now, current]);
  c.fillStyle = c.strokeStyle = view.tint("calm");
  let run = [];
  const flush = () => {
    if (run.length > 0) {
      c.globalAlpha = 0.22;
      c.beginPath();
      c.moveTo(run[0][0], y0);
      for (const [px, py] of run) c.lineTo(px, py);
      c.lineTo(run.at(-1)[0], y0);
      c.fill();
      c.globalAlpha = 1;
      c.lineWidth = 1.5;
      c.beginPath();
      for (const [px, py] of run) c.lineTo(px, py);
      c.stroke();
    }
    run = [];
  };
  let last = null;
  for (const [t, b] of used) {
    if (last !== null && t - last > 2.5 * (view.step ?? 60e3)) flush();
    run.push([view.x(t), y(b)]);
    last = t;
  }
  flush();
  // From now on: the claims of what runs and what is projected, each over its time, stacked by colour.
  const marks = [];
  for (const job of view.market.list()) {
    const p = job.projected;
    if (!p.start || !p.finish || !p.gpus?.length || (job.state !== "queued" && job.state !== "running" && job.state !== "starting")) continue;
    const size = job.claim.kind === "whole" ? null : job.claim.limit ?? job.claim.mem;
    const sum = p.gpus.reduce((n, ref) => { const g = gpus.find((o) => o.uuid === ref.uuid || o.uuid === ref.parent); return n + (g ? size ?? g.total : 0); }, 0);
    const [a, b] = [Math.max(now, new Date(p.start).getTime()), new Date(p.finish).getTime()];
    if (b > a && a < to) marks.push({ a, b, sum, hue: hue(job) });
  }
  const times = [...new Set(marks.flatMap((m) => [m.a, m.b]))].sort((a, b) => a - b);
  c.lineWidth = 1;
  for (let i = 0; i + 1 < times.length; i++) {
    const here = marks.filter((m) => m.a <= times[i] && m.b > times[i]);
    let sum = 0;
    for (const m of here) {
      const [ya, yb] = [y(sum), y(sum + m.sum)];
      sum += m.sum;
      c.fillStyle = view.tint(`hue-${m.hue}`);
      c.globalAlpha = 0.25;
      c.fillRect(view.x(times[i]), yb, view.x(times[i + 1]) - view.x(times[i]), ya - yb);
    }
  }
  c.restore();
  c.globalAlpha = 1;
  c.strokeStyle = view.tint("line");
  c.beginPath();
  c.moveTo(left, y0 + 0.5);
  c.lineTo(view.wide, y0 + 0.5);
  c.stroke();
  c.fillStyle = view.tint("faint");
  c.textAlign = "left";
  c.fillText("memory", 0, y1 + 5);
  c.fillText(current === null ? bytes(total) : ofBytes(current, total).replace(" GiB", ""), 0, y1 + 20);
  c.fillText(/ \w+$/.exec(bytes(total))[0].trim(), 0, y1 + 34);
}

export function lanesAt(view, c, list, first, now) {
  view.bars = [];
  const left = view.gutter();
  let under = first;
  list.forEach((l) => {
    const y = under;
    const lane = deep(l);
    under += lane;
    c.fillStyle = view.tint("faint");
    c.textAlign = "left";
    if (l.first) {
      c.fillText(fit(c, l.label, left - 6), 0, y + lane / 2);
      c.strokeStyle = view.tint("line");
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(0, y - 0.5);
      c.lineTo(view.wide, y - 0.5);
      c.stroke();
    }
    c.save();
    c.beginPath();
    c.rect(left, y, view.wide - left, lane);
    c.clip();
    for (const b of l.bars) bar(view, c, b, l, y + 2, lane - 4, now);
    c.restore();
  });
}

// bar draws one attempt, with a line at its beginning, and where its end is only expected in a lighter tint.
function bar(view, c, attempt, l, y, high, now) {
  const left = view.gutter();
  const [a, b] = [Math.max(view.x(attempt.from), left - 4), Math.min(view.x(attempt.to), view.wide + 4)];
  const wide = Math.max(b - a, 2);
  const ink = view.tint(`hue-${hue(attempt.job)}`);
  const box = (x, w, alpha) => {
    c.globalAlpha = alpha;
    c.fillStyle = ink;
    c.beginPath();
    c.roundRect(x, y, Math.max(w, 0), high, Math.min(4, w / 2));
    c.fill();
  };
  if (attempt.kind === "planned") {
    box(a, wide, 0.12);
    c.globalAlpha = 0.8;
    c.strokeStyle = ink;
    c.lineWidth = 1;
    c.setLineDash([4, 3]);
    c.beginPath();
    c.roundRect(a + 0.5, y + 0.5, Math.max(wide - 1, 1), high - 1, 4);
    c.stroke();
    c.setLineDash([]);
  } else {
    const cut = attempt.kind === "runs" ? Math.min(Math.max(view.x(now), a), b) : b;
    box(a, wide, attempt.kind === "runs" ? 0.2 : 0.3);
    if (attempt.kind === "runs") box(a, cut - a, 0.38);
    c.globalAlpha = 1;
    c.fillStyle = ink;
    c.fillRect(a, y, Math.min(3, wide), high);
  }
  c.globalAlpha = 1;
  if (attempt.failed) {
    c.fillStyle = view.tint("bad");
    c.fillRect(Math.max(a, b - 3), y, Math.min(3, wide), high);
  }
  if (attempt.open && wide > 30) {
    c.fillStyle = ink;
    c.fillText("…", b - 14, y + high / 2);
  }
  const x = Math.max(a, left);
  const room = b - x - 10 - (attempt.open ? 14 : 0);
  if (room > 18) {
    c.fillStyle = view.tint("text");
    c.fillText(fit(c, `${attempt.failed ? "✗ " : ""}#${attempt.job.id} ${fullName(attempt.job)}`, room), x + 6, y + high / 2 + 0.5);
  }
  const place = { bar: attempt, lane: l, x: a, y, w: wide, h: high };
  view.bars.push(place);
  if (view.chosen && view.chosen.bar.job.id === attempt.job.id && view.chosen.bar.attempt === attempt.attempt && view.chosen.lane.place === l.place) {
    view.chosen = place;
    c.strokeStyle = view.tint("text");
    c.lineWidth = 1.5;
    c.beginPath();
    c.roundRect(a + 0.75, y + 0.75, Math.max(wide - 1.5, 1), high - 1.5, 4);
    c.stroke();
  }
}

export function nowLine(view, c, now, from, to, high) {
  if (now < from || now > to) return;
  const x = Math.round(view.x(now)) + 0.5;
  c.strokeStyle = view.tint("accent");
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x, top - 6);
  c.lineTo(x, high);
  c.stroke();
  c.textAlign = "center";
  const w = c.measureText("now").width + 10;
  c.fillStyle = view.tint("card");
  c.fillRect(x - w / 2, 0, w, top - 6);
  c.fillStyle = view.tint("accent");
  c.fillText("now", x, top / 2 - 2);
  c.textAlign = "left";
}

// fit cuts a text to a width.
function fit(c, text, room) {
  if (c.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (c.measureText(`${text.slice(0, mid)}…`).width <= room) low = mid;
    else high = mid - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : "";
}
