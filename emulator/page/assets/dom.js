// Everything is inserted into the page as text, so no data is ever taken for HTML.

// shown returns those parts that are not left out.
const shown = (parts) => parts.flat(2).filter((c) => c !== undefined && c !== null && c !== false);

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...shown(children));
  return element;
}

// fill shows something in a place, instead of what was there.
export function fill(place, ...parts) {
  place.hidden = false;
  place.replaceChildren(...shown(parts));
}

// announce tells screen readers what has happened.
export function announce(text) {
  document.getElementById("live").textContent = text;
}

export const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

// clock formats a moment of today as a time of day, and others with the date.
export function clock(time) {
  const today = new Date(time).toDateString() === new Date().toDateString();
  return today ? new Date(time).toLocaleTimeString("en-GB", { timeStyle: "short" }) : moment(time);
}

export const moment = (time) => new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

// button returns a button that does one thing at a time. It keeps the focus while it works.
export function button(text, kind, work) {
  const b = h("button", { type: "button", class: kind });
  b.textContent = text;
  b.addEventListener("click", async () => {
    if (b.getAttribute("aria-disabled")) return;
    b.setAttribute("aria-disabled", "true");
    try {
      await work();
    } finally {
      b.removeAttribute("aria-disabled");
    }
  });
  return b;
}

// problem returns a box with the texts of errors, the cause first, each followed by what to do.
export function problem(title, texts, steps = []) {
  const parts = texts.flatMap((text, i) => [h("p", {}, text), steps[i] && h("p", {}, "→ " + steps[i])]);
  return h("div", { class: "box bad", role: "alert" }, h("strong", {}, title), parts);
}
