// What a run did: counts before and after, each write, and the undo.

import { advise, ask } from "./api.js";
import { write, written } from "./changes.js";
import { announce, button, fill, h, plural, problem } from "./dom.js";
import { done } from "./list.js";
import { byKind, expandable, group, trouble } from "./plan.js";

const key = (c) => c.sort + " " + c.name;

// counts compares numbers of items. Each column holds what was counted at one time.
export function counts(columns) {
  const names = new Map(columns.flatMap(([, all]) => all.map((c) => [key(c), c])));
  const at = (all, name) => all.find((c) => key(c) === name);
  const number = (c) => (c ? c.count + (c.more ? "+" : "") : "0");
  const row = ([name, c]) => {
    const cells = columns.map(([, all], i) => {
      const is = at(all, name);
      const was = i > 0 ? at(columns[i - 1][1], name) : is;
      const change = (is?.count ?? 0) - (was?.count ?? 0);
      const [kind, sign] = change < 0 ? ["less", "−"] : ["more", "+"];
      return h("td", {}, number(is), change === 0 ? null : h("span", { class: kind }, ` ${sign}${Math.abs(change)}`));
    });
    const element = h("tr", {}, h("th", { scope: "row" }, label(c)), cells);
    return { changed: cells.some((cell) => cell.querySelector("span")), element };
  };
  const table = (rows) => h("table", { class: "counts" },
    h("thead", {}, h("tr", {}, ["What", ...columns.map(([title]) => title)].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", {}, rows));
  const rows = [...names].sort().map(row);
  const changed = rows.filter((r) => r.changed).map((r) => r.element);
  const same = rows.filter((r) => !r.changed).map((r) => r.element);
  return h("div", { class: "card" },
    changed.length > 0 ? table(changed) : h("p", { class: "pad" }, "There is as much of everything as before."),
    same.length > 0 ? h("details", {}, h("summary", {}, h("span", {}, `${same.length} unchanged`)), table(same)) : null);
}

const label = (c) => (c.sort === "files" ? "files in " + (c.name || "the bucket itself") : c.name);

// things shows what a run did, as its undo log says, with the data before and after. plan, if it is known, says which writes
// belong to which action.
export function things(did, plan) {
  const changes = new Map(did.changes.map((c) => [c.target, c]));
  const told = new Set();
  const items = did.items.map((item) => {
    const planned = plan?.find((a) => a.target === item.target && a.action === item.action);
    const targets = [...new Set((planned?.writes ?? []).map((w) => written(w).target.replace(/^objects under /, "")))];
    if (changes.has(item.target) && !targets.includes(item.target)) targets.unshift(item.target);
    const its = targets.filter((t) => changes.has(t));
    its.forEach((t) => told.add(t));
    return { ...item, writes: its.map((t) => `${changes.get(t).what === "deleted" ? "delete" : "update"} ${t}`), its };
  });
  const rest = did.changes.filter((c) => !told.has(c.target));
  const shown = (all) => all.map((t) => write({ op: "", target: t, change: changes.get(t) }));
  const none = () => h("p", { class: "quiet" }, "What it wrote is listed below, or was handed on.");
  return [
    byKind(items, (item) => expandable(item, item.its.length > 0 ? plural(item.its.length, "thing") : "",
      (inside) => inside.replaceChildren(...(item.its.length > 0 ? shown(item.its) : [none()])))),
    rest.length > 0 ? group("also written", "change", rest, (c) => expandable({ target: c.target, reason: "" }, c.what,
      (inside) => inside.replaceChildren(write({ op: "", target: c.target, change: c })))) : null,
    did.more ? h("p", { class: "hint" }, "There is more than is listed: go run ./scripts/firesweep show --all RUN") : null,
  ];
}

// undoing returns a button that shows what an undo of a run would bring back, and offers to do it. Then it calls after.
export function undoing(runID, place, softDelete, after) {
  const outcomeOf = (o) => h("li", {}, h("p", {},
    h("span", { class: "mono" }, o.target), o.why || o.note ? h("span", { class: "quiet" }, " " + (o.why || o.note)) : null));
  const shown = (answer) => {
    const steps = Map.groupBy(answer.outcomes, (o) => o.says);
    const lostFiles = answer.outcomes.some((o) => o.step === "conflict" && o.target.startsWith("gs://"));
    return [
      answer.problem ? problem("It ended early.", [answer.problem]) : null,
      !softDelete && lostFiles ? h("div", { class: "box warn" }, h("strong", {}, "Files do not come back here."),
        h("p", {}, "The Storage of the Firebase Emulator Suite does not keep deleted files. Google's keeps them for 7 days, " +
          "and so does the Storage that go run ./emulator starts itself.")) : null,
      [...steps].map(([says, some]) => group(says, some[0].step === "conflict" ? "delete" : "", some, outcomeOf)),
    ];
  };
  const open = button("Undo…", "", async () => {
    let answer;
    try {
      answer = await ask("undo", { run: runID });
    } catch (err) {
      fill(place, h("h3", {}, "Undo"), problem("Nothing can be taken back.", [err.message]));
      announce("Nothing can be taken back.");
      return;
    }
    const cancel = button("Leave it", "", () => {
      place.replaceChildren();
      open.focus();
    });
    const apply = button("Bring it back", "first", async () => {
      try {
        const applied = await ask("undo", { run: runID, apply: true });
        const title = `Undone: ${plural(applied.back, "thing is", "things are")} as before`;
        fill(place, h("h3", { tabindex: "-1" }, title), shown(applied));
        place.querySelector("h3").focus();
        announce(title + ".");
        await after();
      } catch (err) {
        place.append(problem("It was not taken back.", [err.message]));
      }
    });
    const heading = h("h3", { tabindex: "-1" }, `Undo would take back ${plural(answer.back, "thing")}`);
    const conflicts = answer.outcomes.filter((o) => o.step === "conflict").length;
    const hint = conflicts > 0 ? `${conflicts} cannot come back; each says why.` : "Nothing prevents it.";
    fill(place, heading, h("p", { class: "hint" }, hint), shown(answer),
      h("p", { class: "actions" }, answer.back > 0 ? apply : null, cancel));
    heading.focus();
    announce(heading.textContent);
  });
  return open;
}

export const summary = (report) => `${done(report)}, in ${report.durationMs} ms`;

export async function outcome(report) {
  return trouble(report, await advise(report.job, report));
}
