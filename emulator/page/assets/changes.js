// The writes of an action, with the data before and after.

import { ask } from "./api.js";
import { h, plural } from "./dom.js";

const document_ = /^(delete|set|update|create) (?!gs:\/\/|account |objects under )(.+)$/;
const other = /^(delete|hand over) (.+)$/;

// written splits a write of a plan, e.g. "delete comments/c1".
export function written(text) {
  let m = document_.exec(text);
  if (m) return { op: m[1], target: m[2], path: m[2] };
  m = other.exec(text);
  return m ? { op: m[1], target: m[2] } : { op: "", target: text };
}

// collections returns the names of the collections of a plan's documents.
export function collections(plan) {
  const names = new Set();
  for (const action of plan ?? []) {
    for (const text of action.writes ?? []) {
      written(text).path?.split("/").forEach((part, i) => i % 2 === 0 && names.add(part));
    }
  }
  return [...names];
}

// deletes reports whether a plan deletes something, or may: writes that were not worked out count as deletions.
export const deletes = (plan) => plan.some((a) => !a.writes || a.more || a.writes.some((w) => w.startsWith("delete ")));

const value = (text) => (text === null ? h("td", { class: "gone" }, "not there") : h("td", {}, text));

// table shows a document's fields. columns maps the names of the values that are shown to their headings.
function table(fields, columns) {
  return h("table", { class: "fields" },
    h("thead", {}, h("tr", {}, ["Field", ...Object.values(columns)].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, fields.map((f) => h("tr", { class: columns.before && columns.after && f.changed ? "changed" : null },
      h("th", { scope: "row" }, f.name), Object.keys(columns).map((c) => value(f[c]))))));
}

const compared = { deleted: { before: "Before" }, created: { after: "After" }, changed: { before: "Before", after: "After" } };

// write shows a write: what it does to which item, and a document's fields. change is what a run did; document is the document
// as it is now.
export function write({ op, target, change, document }) {
  const what = change?.what ?? op;
  const parts = [h("p", {}, h("span", { class: "op " + what.split(" ")[0] }, what), h("span", { class: "mono" }, target))];
  if (change?.sent) parts.push(h("p", { class: "quiet" }, "It was sent to somebody: undo leaves it."));
  if (change?.fields?.length > 0) parts.push(table(change.fields, compared[change.what]));
  if (!change && document?.exists) parts.push(table(document.fields, { before: "Now" }));
  if (!change && document && !document.exists) parts.push(h("p", { class: "quiet" }, "There is no such document now."));
  return h("div", { class: "write" }, parts);
}

const most = 30; // how many documents are read for an action

// now fills an opened action of a plan with its writes and with their documents as they are now.
export async function now(job, action, inside) {
  const all = (action.writes ?? []).map(written);
  const paths = [...new Set(all.map((w) => w.path).filter(Boolean))].slice(0, most);
  let documents = [];
  const notes = [];
  try {
    if (paths.length > 0) documents = await ask("documents", { job, paths });
  } catch (err) {
    notes.push(h("p", { class: "quiet" }, err.message));
  }
  const seen = new Set();
  const parts = all.map((w) => {
    const first = !seen.has(w.path);
    seen.add(w.path);
    return write({ ...w, document: first ? documents.find((d) => d.path === w.path) : undefined });
  });
  if (!action.writes) notes.push(h("p", { class: "quiet" }, "What it would write is worked out for the first 100 actions only."));
  if (action.more) notes.push(h("p", { class: "quiet" }, "There are more writes than these."));
  inside.replaceChildren(...parts, ...notes);
}

// size says how many writes an action makes.
export const size = (action) => (action.writes ? plural(action.writes.length, "write") + (action.more ? " or more" : "") : "");
