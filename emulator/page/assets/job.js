// The page of a job: what it is, its plan, its run, and the undo.

import { advise, ask, call } from "./api.js";
import { collections, deletes } from "./changes.js";
import { announce, button, clock, fill, h, moment, plural, problem } from "./dom.js";
import { badge, done } from "./list.js";
import { plan as showPlan, total } from "./plan.js";
import { counts, outcome, summary, things, undoing } from "./ran.js";
import * as time from "./time.js";

const where = { firestore: "Firestore", storage: "Storage", auth: "Authentication", tasks: "Cloud Tasks" };

const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

function facts(job) {
  const database = job.database && job.database !== "(default)" ? ` (${job.database})` : "";
  return h("dl", { class: "facts" },
    job.when ? fact("Runs", job.when + " ", h("code", {}, job.schedule)) : null,
    fact("Works on", job.uses.map((u) => where[u]).join(", ") + database),
    job.worker ? fact("Hands over to", h("a", { href: "#" + job.worker }, job.worker)) : null,
    job.calledBy ? fact("Called by", job.calledBy.map((name) => h("a", { href: "#" + name }, name))) : null,
    job.last ? fact("Last run", badge(job.last), ` ${clock(job.last.startedAt)}: ${done(job.last)}`) : null);
}

// page returns the page of a job. about is the overview of all jobs; reload reads it again.
export function page(job, about, reload) {
  const section = () => h("section", { hidden: true });
  const [head, notes, asked] = [h("div"), h("div"), h("div", { class: "asked" })];
  const [planned, ran, undone, earlier] = [section(), section(), section(), section()];
  const empty = (place) => {
    place.hidden = true;
    place.replaceChildren();
  };
  const failed = async (place, title, err) => {
    const steps = await advise(job.name, null, [err.message]).then((a) => a.failures, () => []);
    fill(place, problem(title, [err.message], steps));
    announce(title + " " + err.message);
  };

  async function preview(force = false) {
    asked.replaceChildren();
    empty(ran);
    planned.setAttribute("aria-busy", "true");
    try {
      const report = await call(job.name, force ? { dryRun: true, force: true } : { dryRun: true }, time.at());
      const whole = button("Show the whole plan all the same", "", () => preview(true));
      fill(planned, showPlan(job.name, report, await advise(job.name, report), whole));
      announce(`Plan of ${job.name}: ${plural(total(report), "action")}, ${report.status}.`);
      return report;
    } catch (err) {
      await failed(planned, "There is no plan.", err);
      return null;
    } finally {
      planned.removeAttribute("aria-busy");
    }
  }

  // run previews the job. It asks if something would be deleted, and then runs the job as of the same moment.
  async function run() {
    const report = await preview();
    if (!report || report.status === "aborted" || report.status === "failed") return;
    const plan = report.plan ?? [];
    if (total(report) === 0 || (plan.length === total(report) && !deletes(plan))) return begin(report);
    const cancel = button("Cancel", "", () => {
      asked.replaceChildren();
      runButton.focus();
      announce("Nothing was run.");
    });
    const go = button("Run it now", "danger", () => begin(report));
    const lost = !about.softDelete && plan.some((a) => (a.writes ?? []).some((w) => w.includes("gs://")));
    let hint = `It can be undone for ${plural(job.undoDays, "day")}.`;
    if (job.undoDays === 0) hint = "It cannot be undone: UNDO_DAYS is 0.";
    if (lost) hint = "Files would be gone for good: the Storage of the Firebase Emulator Suite has no soft delete.";
    asked.replaceChildren(h("div", { class: "ask", role: "group", tabindex: "-1", "aria-label": "This run deletes. Run it?" },
      h("div", {}, h("strong", {}, `This run deletes. ${plural(total(report), "action")} as planned above.`),
        h("p", { class: "hint" }, hint)),
      go, cancel));
    asked.firstChild.focus();
    announce("This run deletes. Run it now, or cancel.");
  }

  async function begin(previewed) {
    asked.replaceChildren();
    const names = collections(previewed.plan);
    const count = () => ask("counts", { job: job.name, collections: names });
    fill(ran, h("p", { class: "quiet" }, "Running…"));
    announce("Running…");
    try {
      const before = await count();
      const report = await call(job.name, {}, previewed.now);
      const columns = [["Before", before], ["After", await count()]];
      empty(planned);
      await show(report, previewed.plan, columns, count);
      await reload();
      await handedOver(report, columns, count);
    } catch (err) {
      await failed(ran, "The run has no report.", err);
    }
  }

  // show shows a run that has just ended, or an earlier one, of which only the report and the undo log are known.
  async function show(report, plan, columns, count) {
    const did = report.dryRun ? { kept: false, items: [], changes: [] } : await ask("did", { run: report.runId });
    const table = h("div", {}, columns ? counts(columns) : null);
    const undo = did.kept ? undoing(report.runId, undone, about.softDelete, async () => {
      if (count) {
        columns.push(["After undo", await count()]);
        table.replaceChildren(counts(columns));
      }
      await reload();
    }) : null;
    const planOnly = () => h("div", { class: "box warn" }, h("p", {}, "It only planned: DRY_RUN is true in its environment."));
    const noLog = !did.kept && !report.dryRun && (total(report) > 0 || report.status === "killed");
    empty(undone); // the button Undo fills it
    fill(ran, h("h3", { tabindex: "-1" }, report.status ? ["Run ", badge(report)] : "Run"),
      h("p", { class: "hint" }, [report.runId, report.status ? summary(report) : "a worker saves no report"].join(" · ")),
      report.status ? await outcome(report) : null,
      report.dryRun ? planOnly() : null,
      undo ? h("p", { class: "actions" }, undo) : null, undone,
      columns ? h("h4", { class: "title" }, "Before and after") : null, table,
      did.items.length + did.changes.length > 0 ? h("h4", { class: "title" }, "What it did") : null,
      things(did, plan),
      noLog ? h("p", { class: "hint" }, "There is no undo log of this run.") : null);
    ran.querySelector("h3").focus();
    announce(`Run of ${job.name}: ${report.status ?? "shown"}.`);
  }

  // handedOver waits for the worker, which works after the run, and counts again.
  async function handedOver(report, columns, count) {
    if (!job.worker || !report.usage.tasks) return;
    const worker = () => ask("jobs").then((o) => o.jobs.find((j) => j.name === job.worker));
    const note = h("p", { class: "box note" }, `${plural(report.usage.tasks, "task")} handed over: ${job.worker} is at work…`);
    ran.querySelector(".hint").after(note);
    let w = await worker();
    for (let round = 0; w.waiting > 0 && round < 600; round++) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      w = await worker();
    }
    note.replaceChildren(`${plural(report.usage.tasks, "task")} handed over to `, h("a", { href: "#" + job.worker }, job.worker),
      w.waiting === undefined ? ": another emulator delivers them."
        : ", which has done them. Its page shows and undoes its runs.");
    columns[1] = ["After", await count()];
    ran.querySelector(".counts")?.closest(".card").replaceWith(counts(columns));
    await reload();
  }

  async function history() {
    const runs = await ask("runs", { job: job.name });
    fill(earlier, h("h3", {}, "Runs"), h("ul", { class: "card runs" }, runs.map(({ runId, report }) => h("li", {},
      report ? badge(report) : h("span", { class: "badge" }, "run"),
      h("span", {}, report ? `${clock(report.startedAt)}, as of ${moment(report.now)}` : runId),
      h("span", { class: "quiet" }, report ? done(report) : ""),
      button("Look", "", () => {
        empty(planned);
        return show(report ?? { runId }, null, null, null).catch((err) => failed(ran, "It cannot be shown.", err));
      })))));
    earlier.hidden = runs.length === 0;
  }

  const runButton = button("Run…", "first", run);
  const start = job.calledBy
    ? h("p", { class: "box note" }, "It cannot be run by hand here: it is a worker. Cloud Tasks calls it with each task " +
      `that ${job.calledBy.join(" or ")} hands over. Run that job instead, and it is called.`)
    : h("div", {}, h("div", { class: "actions" }, button("Preview", "", () => preview()), runButton, time.chooser()),
      h("p", { class: "hint" }, time.hint(about)));

  async function refresh(newer) {
    job = newer;
    fill(head, h("a", { class: "back", href: "#" }, "← All jobs"), h("h2", {}, job.name),
      h("p", { class: "lead" }, job.description),
      job.rule ? h("p", { class: "lead quiet" }, `It ${job.rule}.`) : null, facts(job));
    const release = button("Release", "", async () => {
      await ask("release", { job: job.name });
      announce("Released: the job judges it again.");
      await reload();
    });
    fill(notes, job.problem ? problem("No run can begin.", [job.problem]) : null,
      job.underWay ? h("div", { class: "box warn" }, h("p", {}, `Under way: ${job.underWay}`)) : null,
      job.pinned ? h("div", { class: "box note" },
        h("p", {}, "It keeps what came back when a run was undone. Release it, and the job judges it again."), release) : null);
    await history();
  }

  const element = h("article", {}, head, notes, start, planned, asked, ran, earlier);
  return { element, refresh, preview };
}
