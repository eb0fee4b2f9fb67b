// Everything is inserted into the page as text, so no data is ever taken for HTML.

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// fill shows something in a place, instead of what was there.
export const fill = (place, ...parts) => place.replaceChildren(...h("div", null, parts).childNodes);

// announce tells screen readers what has happened.
export function announce(text) {
  document.getElementById("live").textContent = text;
}

export const plural = (n, one, many = one + "s") => `${n} ${n === 1 ? one : many}`;

// dated returns a text whose dates do not break at their hyphens.
export const dated = (text) => text.split(/(\d{4}-\d\d-\d\d)/)
  .map((part, i) => (i % 2 === 1 ? h("span", { class: "date" }, part) : part));

// button returns a button that does one thing at a time. It keeps the focus while it works.
export function button(text, kind, work) {
  const b = h("button", { type: "button", class: kind }, text);
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

// problem returns a box that says what is wrong.
export const problem = (title, texts) => h("div", { class: "box bad", role: "alert" }, h("strong", null, title),
  texts.map((text) => h("p", null, dated(text))));

// confirmed asks before something is done, and returns whether to do it. Escape means no.
export function confirmed(title, content, kind, yes) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": title, tabindex: "-1" }, h("h3", null, title),
      h("div", { class: "content" }, content));
    const choice = (text, its, is) => button(text, its, () => dialog.close(is));
    const no = choice(yes ? "Cancel" : "Close", "", "");
    dialog.append(h("p", { class: "actions" }, yes ? choice(yes, kind, "yes") : null, no));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal(); // the focus comes back when it is closed
    dialog.focus(); // not the button that does it
  });
}
