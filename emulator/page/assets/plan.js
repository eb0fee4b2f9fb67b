// A plan: its actions by kind, what is kept and why, and tripped safety limits.

import { now, size } from "./changes.js";
import { h, moment, plural, problem } from "./dom.js";

// verb returns what actions of a kind do to data, which decides their colour.
function verb(actions) {
  const ops = new Set(actions.flatMap((a) => (a.writes ?? [a.action]).map((w) => w.split(" ")[0])));
  if (ops.has("delete")) return "delete";
  return ops.has("hand") && !ops.has("update") ? "hand" : "change";
}

// expandable returns an action that can be opened. fill then inserts its writes.
export function expandable(action, sized, fill) {
  const inside = h("div", { class: "inside" }, h("p", { class: "quiet" }, "Reading…"));
  let filled = false;
  const details = h("details", {},
    h("summary", {}, h("span", { class: "target" }, action.target), h("span", { class: "size" }, sized),
      h("span", { class: "why" }, action.reason)), inside);
  details.addEventListener("toggle", () => {
    if (details.open && !filled) {
      filled = true;
      fill(inside);
    }
  });
  return h("li", {}, details);
}

const most = 200; // that are shown of a group

// group shows things below a heading with their number. more, if it is given, tells of those that are left out.
export const group = (title, kind, some, item, more) => h("div", { class: "card group " + kind },
  h("h4", {}, title, h("span", { class: "number" }, String(some.length))),
  h("ul", {}, some.slice(0, most).map(item), some.length > most ? more?.(some.length - most) : null));

// byKind shows actions grouped by their kinds.
export function byKind(actions, item) {
  const left = (n) => h("li", {}, h("p", { class: "quiet" }, `and ${n} more: go run ./scripts/firesweep plan --local`));
  return [...Map.groupBy(actions, (a) => a.action)].map(([kind, some]) => group(kind, verb(some), some, item, left));
}

export function kept(report) {
  const reasons = Object.entries(report.kept).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  const total = reasons.reduce((n, [, count]) => n + count, 0);
  if (total === 0 && !report.notCounted && !report.warnings) return null;
  return h("div", { class: "card kept" }, h("h4", {}, "Kept: " + total),
    h("ul", {}, reasons.map(([reason, n]) => h("li", {}, h("span", { class: "n" }, String(n)), h("span", {}, reason))),
      (report.notCounted ?? []).map((name) => h("li", {},
        h("span", { class: "n" }, "?"), h("span", {}, `${name}: could not be counted`))),
      (report.warnings ?? []).map((text) => h("li", {}, h("span", { class: "n" }, "!"), h("span", {}, text)))));
}

// trouble shows why a run or plan is not completed, with the cause first.
export function trouble(report, advice) {
  if (report.failures.length > 0) {
    const done = Object.values(report.actions).some((c) => c.done > 0); // by passes that tripped no limit
    const aborted = `A safety limit tripped: ${done ? "what it guards is neither deleted nor changed" : "nothing is deleted or changed"}.`;
    const title = report.status === "aborted" ? aborted : "Something failed.";
    const texts = report.failures.map((f) => (report.status === "aborted" ? f.error : `${f.action} ${f.target}: ${f.error}`));
    const box = problem(title, texts, advice?.failures);
    if (advice?.next) box.append(h("p", {}, advice.next));
    return box;
  }
  if (report.status === "completed") return null;
  return h("div", { class: "box warn" }, h("strong", {}, report.status), h("p", {}, advice?.next ?? ""));
}

// total returns how many actions a report planned.
export const total = (report) => Object.values(report.actions).reduce((n, c) => n + c.planned, 0);

export function plan(job, report, advice, whole) {
  const actions = report.plan ?? [];
  const facts = [`as of ${moment(report.now)}`, `${report.scanned} looked at`, "nothing was written"];
  return [
    h("h3", {}, "Plan: " + plural(total(report), "action")),
    h("p", { class: "hint" }, facts.join(" · ")),
    trouble(report, advice),
    report.status === "aborted" ? h("p", { class: "actions" }, whole) : null,
    total(report) === 0 && report.status === "completed" ? h("p", { class: "card pad" }, "Nothing is due.") : null,
    byKind(actions, (a) => expandable(a, size(a), (inside) => now(job, a, inside))),
    total(report) > actions.length && actions.length > 0
      ? h("p", { class: "hint" }, `The first ${actions.length} of ${total(report)} are listed.`) : null,
    kept(report),
  ];
}
