// Items of plans and runs, with what their documents hold.

import { shown } from "./calls.js";
import { dated, fill, h } from "./dom.js";

const most = 200; // items that are shown of a group

// group shows items below a heading with their number.
export const group = (title, some, show) => (some.length === 0 ? null
  : h("div", { class: "card group " + title.split(" ")[0].toLowerCase() },
    h("h4", null, title, h("span", { class: "number" }, String(some.length))),
    h("ul", null, some.slice(0, most).map(show),
      some.length > most ? h("li", { class: "quiet" }, `and ${some.length - most} more`) : null)));

// item shows a target with its reason. If there is more to show, it can be opened, and open fills it.
export function item({ target, reason, writes, more }, open) {
  const texts = [h("span", { class: "target" }, target), h("span", { class: "size" }, size(writes ?? [], more)),
    reason ? h("span", { class: "why" }, dated(reason)) : null];
  if (!open) return h("li", { class: "plain" }, texts);
  const inside = h("div", { class: "inside" }, h("p", { class: "quiet" }, "Reading…"));
  const details = h("details", null, h("summary", null, texts), inside);
  details.addEventListener("toggle", () => details.open && open(inside), { once: true });
  return h("li", null, details);
}

// size says how many things an action deletes, and how many it writes.
function size(writes, more) {
  const deleted = writes.filter((w) => w.startsWith("delete ")).length;
  const written = writes.length - deleted;
  const texts = [deleted > 1 && `deletes ${deleted}`, written > 0 && `writes ${written}`].filter(Boolean);
  return texts.join(", ") + (more ? " or more" : "");
}

const columns = { deleted: ["before"], created: ["after"], changed: ["before", "after"], now: ["now"] };

// fields shows a document's fields.
export const fields = (all, what) => h("table", null,
  h("thead", null, h("tr", null, ["Field", ...columns[what]].map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", null, all.map((f) => h("tr", { class: what === "changed" && f.changed ? "changed" : "" },
    h("th", { scope: "row" }, f.name), columns[what].map((name) => h("td", null, f[name] === null ? "–" : dated(f[name])))))));

// written splits a write of a plan, such as "delete comments/c1". path is a document's.
function written(text) {
  const [, op, target] = /^(delete|set|update|create|hand over) (.+)$/.exec(text) ?? ["", "", text];
  const document = op && op !== "hand over" && !/^(gs:\/\/|account |objects under )/.test(target);
  return { op, target, path: document ? target : "" };
}

// now fills an opened action of a plan with what it writes, and with what the documents hold now.
export async function now(inside, action, read) {
  const writes = (action.writes ?? [action.target]).slice(0, 30).map(written);
  let documents = new Map();
  const problems = [];
  try {
    documents = await read([...new Set(writes.map((w) => w.path).filter(Boolean))]);
  } catch (err) {
    problems.push(h("p", { class: "quiet" }, err.message));
  }
  const parts = writes.map(({ op, target, path }) => {
    const holds = Object.entries(documents.get(path) ?? {}).sort().map(([name, value]) => ({ name, now: shown(value) }));
    return h("div", null,
      h("p", null, op ? h("span", { class: "op " + op }, op) : null, h("span", { class: "target" }, target)),
      holds.length > 0 ? fields(holds, "now") : null);
  });
  const more = action.more || (action.writes ?? []).length > writes.length;
  fill(inside, problems, parts, more ? h("p", { class: "quiet" }, "There is more than this.") : null);
}
