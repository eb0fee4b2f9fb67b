// What is shown before a job is chosen.

import { call } from "./api.js";
import { announce, button, h } from "./dom.js";
import { badge } from "./list.js";
import { total } from "./plan.js";
import * as time from "./time.js";

export function start(about) {
  const jobs = about.jobs.filter((j) => j.when);
  const rows = new Map();
  const keptOf = (report) => Object.values(report.kept).reduce((n, k) => n + k, 0);
  const body = h("tbody", {}, jobs.map((j) => {
    const cells = [h("td", {}, "–"), h("td", {}, "–"), h("td", {}, "–")];
    rows.set(j.name, cells);
    return h("tr", {}, h("th", { scope: "row" }, h("a", { href: "#" + j.name }, j.name)), cells);
  }));
  const all = button("Preview all", "first", async () => {
    for (const job of jobs) {
      const [would, kept, status] = rows.get(job.name);
      try {
        const report = await call(job.name, { dryRun: true }, time.at());
        would.textContent = total(report);
        kept.textContent = keptOf(report);
        status.replaceChildren(badge(report));
      } catch (err) {
        status.textContent = err.message;
      }
    }
    announce("All jobs are previewed.");
  });
  return h("article", {}, h("h2", {}, "What would be cleaned up?"),
    h("p", { class: "lead" }, "A preview plans and writes nothing. Choose a job to see each action with its reason, run it, " +
      "see the data before and after, and undo the run."),
    h("div", { class: "actions" }, all, time.chooser()), h("p", { class: "hint" }, time.hint(about)),
    h("section", {}, h("div", { class: "card" }, h("table", { class: "counts" },
      h("thead", {}, h("tr", {}, ["Job", "Would do", "Would keep", "Plan"].map((t) => h("th", { scope: "col" }, t)))), body))));
}
