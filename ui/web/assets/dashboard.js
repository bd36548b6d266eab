// The dashboard.

import { h } from "./dom.js";
import { mark } from "./format.js";
import { Market } from "./market.js";
import { mood, trouble } from "./app.js";

export function open(el) {
  const rows = h("tbody", { id: "jobs" });
  el.append(h("h1", { class: "unseen" }, "Jobs"), h("table", {}, rows));
  const market = new Market({ limit: 500 });
  market.listen(() => {
    trouble(market.lost ? "The connection is lost; it is tried again." : null);
    rows.replaceChildren(...market.list().map((job) => h("tr", {},
      h("td", {}, h("a", { href: `/jobs/${job.id}` }, `#${job.id}`)),
      h("td", {}, job.name),
      h("td", {}, h("span", { class: "state", dataset: { state: job.state } }, mark(job.state), " ", job.state)))));
    mood();
  });
  return { title: "pasar", close: () => market.close(), keys: [] };
}
