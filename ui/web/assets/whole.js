// A page of which a part didn't come, since a network changed meanwhile or the daemon ended, can do nothing: it is asked for
// again, ever later. The parts themselves can't see to that.

addEventListener("error", (e) => {
  if (!(e.target instanceof HTMLScriptElement || e.target instanceof HTMLLinkElement)) return;
  const tries = Number(sessionStorage.getItem("tries"));
  if (tries >= 6) return;
  sessionStorage.setItem("tries", tries + 1);
  setTimeout(() => location.reload(), 500 * 2 ** tries);
}, true);
addEventListener("load", () => setTimeout(() => sessionStorage.removeItem("tries"), 60000)); // whoever reads a page for so long has all of it
