// Items of plans and runs, with what their documents hold.

import { shown } from "./calls.js";
import { dated, fill, h, plural } from "./dom.js";

const most = 200; // items that are shown of a group

// group shows items below a heading with their number.
export const group = (title, some, show) => (some.length === 0 ? null
  : h("div", { class: "card group " + title.split(" ")[0].toLowerCase() },
    h("h4", null, title, h("span", { class: "number" }, String(some.length))),
    h("ul", null, some.slice(0, most).map(show),
      some.length > most ? h("li", { class: "quiet" }, `and ${some.length - most} more`) : null)));

// item shows a target with its reason. If there is more to show, it can be opened, and open fills it.
export function item({ target, reason, ...along }, open) {
  const texts = [h("span", { class: "target" }, target), h("span", { class: "size" }, size(along)),
    reason ? h("span", { class: "why" }, dated(reason)) : null];
  if (!open) return h("li", { class: "plain" }, texts);
  const inside = h("div", { class: "inside" }, h("p", { class: "quiet" }, "Reading…"));
  const details = h("details", null, h("summary", null, texts), inside);
  details.addEventListener("toggle", () => details.open && open(inside), { once: true });
  return h("li", null, details);
}

// size says what an action does besides to its target, by kinds.
function size({ with: along, more, kept }) {
  const says = { delete: "with", write: "writes", queue: "queues" };
  const texts = Object.entries(along ?? {}).sort().map(([what, n]) => {
    const [verb, ...kind] = what.split(" ");
    if (verb === "keep") return `keeps ${n} of what belongs to it: ${kind.join(" ")}`;
    return `${says[verb]} ${plural(n, kind[0])} ${kind.slice(1).join(" ")}`.trim();
  });
  return [...texts, more && "and more", kept && `but is kept: ${kept}`].filter(Boolean).join(", ");
}

const columns = { deleted: ["before"], created: ["after"], changed: ["before", "after"], now: ["now"] };

// fields shows a document's fields.
export const fields = (all, what) => h("table", null,
  h("thead", null, h("tr", null, ["Field", ...columns[what]].map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", null, all.map((f) => h("tr", { class: what === "changed" && f.changed ? "changed" : "" },
    h("th", { scope: "row" }, f.name), columns[what].map((name) => h("td", null, f[name] === null ? "–" : dated(f[name])))))));

// now fills an opened action of a plan with what its document holds now.
export async function now(inside, { target }, read) {
  if (/^(gs:\/\/|account )/.test(target)) return fill(inside, h("p", null, target));
  try {
    const holds = Object.entries((await read([target])).get(target) ?? {}).sort().map(([name, value]) => ({ name, now: shown(value) }));
    return fill(inside, holds.length > 0 ? fields(holds, "now") : h("p", { class: "quiet" }, "There is no such document."));
  } catch (err) {
    return fill(inside, h("p", { class: "quiet" }, err.message));
  }
}
