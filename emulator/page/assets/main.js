// The address says which job is shown; none: all of them.

import { ask, call } from "./calls.js";
import { announce, button, h, plural, problem } from "./dom.js";
import { show as showJob, total } from "./job.js";

const main = document.getElementById("main");
let about;

// list shows all jobs, and on demand how much each would do.
function list() {
  const due = new Map(about.jobs.map((job) => [job, h("span", { class: "badge", hidden: "true" })]));
  const all = button("Plan all", "first", async () => {
    for (const [job, badge] of due) {
      badge.hidden = false;
      badge.textContent = "reading…";
      try {
        const report = await call(job, { dryRun: true }, about.now());
        const n = total(report);
        badge.className = "badge " + (report.status !== "completed" ? "bad" : n > 0 ? "warn" : "good");
        badge.textContent = report.status !== "completed" ? report.status : n > 0 ? `${n} due` : "nothing due";
      } catch (err) {
        badge.className = "badge bad";
        badge.textContent = err.message;
      }
    }
    announce("All jobs are planned.");
  });
  return h("article", null, h("h2", null, plural(about.jobs.length, "job")),
    h("p", { class: "lead" }, "A plan says what a job would delete or change, and why. It writes nothing."),
    h("p", { class: "actions" }, all),
    h("ul", { class: "card jobs" }, [...due].map(([job, badge]) => h("li", null,
      h("a", { href: "#" + job.name }, job.name), badge,
      h("p", { class: "quiet" }, job.description), h("p", { class: "quiet when" }, job.schedule)))));
}

async function show(moved) {
  const job = about.jobs.find((j) => j.name === decodeURIComponent(location.hash.slice(1)));
  document.title = job ? job.name + " · Firesweep" : "Firesweep";
  document.querySelector("dialog")?.close();
  const article = h("article");
  main.replaceChildren(job ? article : list());
  if (moved) {
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  if (job) await showJob(article, job, about);
}

const guarded = (work) => work().catch((err) => main.replaceChildren(problem("The page cannot continue.", [err.message])));

guarded(async () => {
  about = await ask("jobs");
  about.now = () => new Date(Date.now() + about.ahead * 1000).toISOString();
  document.getElementById("project").append("project ", h("strong", null, about.project), " on this machine");
  addEventListener("hashchange", () => guarded(() => show(true)));
  await show(false);
});
