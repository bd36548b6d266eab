// Children by keys: what is there already stays, with its focus and what is selected in it.

// fill gives a parent a child for each key, in order.
export function fill(parent, keys, make, update = () => {}) {
  const there = new Map([...parent.children].map((el) => [el.dataset.key, el]));
  const list = keys.map((key) => {
    const el = there.get(String(key)) ?? make(key);
    there.delete(String(key));
    el.dataset.key = key;
    update(el, key);
    return el;
  });
  for (const el of there.values()) el.remove();
  put(parent, list);
}

// put brings children into an order with few moves: when one goes far, the others stay.
export function put(parent, list) {
  let at = parent.firstChild;
  for (const el of list) {
    if (at !== el && at?.nextSibling === el) parent.append(at);
    else if (at !== el) parent.insertBefore(el, at);
    at = el.nextSibling;
  }
}
