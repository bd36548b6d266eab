// A link that a job printed: where it leads is said before it is opened.

import { dialog } from "./dialog.js";
import { copy, h } from "./dom.js";

// openLink asks before a page of somebody else's opens, which is told nothing of this one. What isn't of the web is no link.
export function openLink(text) {
  let url;
  try { url = new URL(text); } catch { return; }
  if (url.protocol !== "http:" && url.protocol !== "https:" || url.username || url.password) return;
  const begin = `${url.protocol}//`;
  dialog({
    title: "Open a link of the job?", action: "Open", leave: "Cancel",
    also: ["Copy", () => copy(url.href)],
    form: () => [
      h("p", { class: "link" }, begin, h("strong", {}, url.host), url.href.slice(begin.length + url.host.length)),
      h("p", { class: "faint" }, "The job wrote it: what it is called in the terminal need not be where it leads. It opens in a window of its own."),
    ],
    act: () => { window.open(url.href, "_blank", "noopener,noreferrer"); },
  });
}
