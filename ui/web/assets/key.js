// The key of this page. The browser shows its cookie to every server of the host, whoever's it is; what this origin keeps, it
// shows to no other. `pasar web` signs in with both, and the daemon takes the cookie for nothing of a job without the key.

const place = "pasar-key";
let known = ""; // where nothing may be kept

// take takes the key out of the address, where it shall not stay.
function take() {
  const m = /^#key=([0-9a-f]{64})$/.exec(location.hash);
  if (!m) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  known = m[1];
  try { localStorage.setItem(place, known); } catch { /* known has it until the page is closed */ }
}

take();
addEventListener("hashchange", take);

// key is the key, or "": whoever is let in as this user needs none. Another tab may have signed in anew.
export function key() {
  try { return localStorage.getItem(place) ?? known; } catch { return known; }
}

// keyed is headers with the key among them.
export const keyed = (headers = {}) => key() === "" ? headers : { ...headers, "Pasar-Key": key() };

// protocols are the subprotocols of a WebSocket that speaks one: it takes no headers, and the key goes among them.
export const protocols = (name) => key() === "" ? [name] : [name, `key.${key()}`];
