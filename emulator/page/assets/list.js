// The list of jobs and workers.

import { clock, h } from "./dom.js";

const mood = { completed: "good", partial: "warn", skipped: "warn", aborted: "bad", failed: "bad", killed: "bad" };

export const badge = (report) => h("span", { class: "badge " + mood[report.status] }, report.status);

// done describes what a run did.
export function done(report) {
  const parts = Object.entries(report.actions).filter(([, c]) => c.planned > 0).map(([kind, c]) => `${c.done} × ${kind}`);
  const none = { completed: "nothing was due", killed: "what was planned is not known" };
  return parts.join(", ") || (none[report.status] ?? "nothing was planned");
}

function last(job) {
  if (job.problem) return [h("span", { class: "dot bad" }), "cannot run: look here"];
  if (job.underWay) return [h("span", { class: "dot warn" }), "under way"];
  if (job.calledBy && job.waiting > 0) return [h("span", { class: "dot warn" }), `${job.waiting} waiting`];
  if (job.calledBy) return ["nothing is waiting"];
  if (!job.last) return [h("span", { class: "dot" }), "no run yet"];
  const total = Object.values(job.last.actions).reduce((n, c) => n + c.done, 0);
  const { status, startedAt } = job.last;
  return [h("span", { class: "dot " + mood[status] }), `${status}, ${total} done · ${clock(startedAt)}`];
}

const entry = (job, chosen) => h("li", {}, h("a", { href: "#" + job.name, "aria-current": job.name === chosen ? "page" : null },
  h("span", { class: "name" }, job.name),
  job.when ? h("span", { class: "when" }, job.when) : null,
  h("span", { class: "last" }, last(job))));

export function list(jobs, chosen) {
  const groups = [
    ["Jobs", jobs.filter((j) => j.when && !j.yours)],
    ["Your rules", jobs.filter((j) => j.yours)],
    ["Workers", jobs.filter((j) => j.calledBy)],
  ];
  const focused = document.activeElement?.closest?.("nav a")?.getAttribute("href");
  const nav = document.getElementById("jobs");
  nav.replaceChildren(...groups.filter(([, some]) => some.length > 0).flatMap(([title, some]) =>
    [h("h2", {}, title), h("ul", {}, some.map((j) => entry(j, chosen)))]));
  if (focused) nav.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}
