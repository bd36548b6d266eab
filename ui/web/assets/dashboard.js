// The dashboard: GPUs, the timeline, the jobs, and what awaits approval.

import { h } from "./dom.js";
import { Market } from "./market.js";
import { lost, mood, trouble } from "./app.js";
import { Cloud } from "./cloud.js";
import { JobTable } from "./jobtable.js";
import { Tiles } from "./tiles.js";
import { Timeline } from "./timeline.js";

let left = null; // where the reader was when the page was left

export function open(el, { back }) {
  const market = new Market({ limit: 500 });
  const tiles = new Tiles(market);
  const cloud = new Cloud(market);
  const timeline = new Timeline(market, address);
  const table = new JobTable(market, address);
  if (back) table.back = left;
  const asking = h("p", { class: "empty" }, "asking …");
  const page = h("div", { class: "dashboard", hidden: true }, tiles.notices, cloud.el, tiles.el, timeline.el, table.el);
  const phone = matchMedia("(max-width: 48rem)"); // there jobs come first
  const place = () => (phone.matches ? table : tiles).el.after(timeline.el);
  phone.addEventListener("change", place);
  place();
  el.append(h("h1", { class: "unseen" }, "The market"), asking, page);

  market.listen((changed) => {
    trouble(market.lost ? lost : null);
    if (!market.known) return;
    if (page.hidden) {
      asking.remove();
      page.hidden = false;
    }
    cloud.update();
    tiles.update();
    timeline.update();
    table.changed(changed);
    mood();
  });

  // address changes keys of the page's address; what is empty goes.
  function address(keys, push) {
    const params = new URLSearchParams(location.search);
    for (const [k, v] of Object.entries(keys)) {
      if (v === "" || v === false || v === null) params.delete(k);
      else params.set(k, v === true ? "1" : v);
    }
    const text = params.toString().replaceAll("%2C", ",").replaceAll("%40", "@").replaceAll("%3A", ":");
    const to = text ? `/?${text}` : "/";
    if (to !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", to);
    query(params);
  }

  function query(params) {
    timeline.query(params);
    table.query(params);
  }
  query(new URLSearchParams(location.search));

  const fresh = (e) => table.reveal(e.detail);
  document.addEventListener("pasar:submitted", fresh);

  return {
    title: "pasar",
    query,
    keys: table.keys,
    close() {
      left = table.place();
      phone.removeEventListener("change", place);
      document.removeEventListener("pasar:submitted", fresh);
      cloud.close();
      tiles.close();
      timeline.close();
      table.close();
      market.close();
      trouble(null);
    },
  };
}
