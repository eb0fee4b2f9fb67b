// A job: its plan, its run, and the undo.

import { ask, call, documents } from "./calls.js";
import { announce, button, confirmed, dated, fill, h, plural, problem } from "./dom.js";
import { fields, group, item, now } from "./items.js";

const mood = { completed: "good", partial: "warn", skipped: "warn", aborted: "bad", failed: "bad", killed: "bad" };
const badge = (status) => h("span", { class: "badge " + mood[status] }, status);
const moment = (time) => new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
const hint = (...texts) => h("p", { class: "hint" }, texts);
const note = (...texts) => h("div", { class: "box note" }, texts.map((text) => h("p", null, text)));

// total returns how many actions a report planned.
export const total = (report) => Object.values(report.actions).reduce((n, c) => n + c.planned, 0);

// kinds says how many actions of each kind there are.
const kinds = (report, key) => Object.entries(report.actions).filter(([, c]) => c[key] > 0)
  .map(([kind, c]) => `${c[key]} × ${kind}`);

// show fills an article with a job, and plans it.
export async function show(article, job, about) {
  const [last, planned, ran] = [h("p", { class: "facts" }), h("section"), h("section")];
  const again = button("Plan again", "", () => plan());
  fill(article, h("a", { class: "back", href: "#" }, "← All jobs"), h("h2", null, job.name),
    h("p", { class: "lead" }, job.description), h("p", { class: "facts" }, "Runs " + job.schedule), last, planned, ran);

  async function failed(place, title, err) {
    fill(place, problem(title, [err.message]), h("p", { class: "actions" }, again));
    announce(title + " " + err.message);
  }

  async function plan(force = false) {
    ran.replaceChildren();
    planned.setAttribute("aria-busy", "true");
    if (!planned.firstChild) fill(planned, hint("Reading…"));
    await showLast().catch((err) => fill(last, problem("The last run is not known.", [err.message])));
    try {
      showPlan(await call(job, { dryRun: true, force }, about.now()));
    } catch (err) {
      await failed(planned, "There is no plan.", err);
    } finally {
      planned.removeAttribute("aria-busy");
    }
  }

  function showPlan(report) {
    const [n, actions] = [total(report), report.plan ?? []];
    const stopped = report.status !== "completed";
    const facts = [`as of ${moment(report.now)}`, report.scanned > 0 ? `${report.scanned} looked at` : "", "nothing is written"];
    const kept = Object.entries(report.kept).sort((a, b) => b[1] - a[1]);
    kept.push(...(report.warnings ?? []).map((text) => [text, "!"]));
    const files = !about.softDelete && actions.some((a) => a.target.startsWith("gs://") || a.with?.["delete file"] ||
      a.with?.["delete folder of files"]);
    const title = "Plan: " + (n > 0 ? `${n} due` : stopped ? report.status : "nothing is due");
    fill(planned, h("h3", null, title), hint(facts.filter(Boolean).join(" · ")),
      report.failures.length > 0 ? problem(report.status === "aborted" ? "A safety limit trips: what it guards is not deleted."
        : "Something failed.", report.failures.map((f) => f.error)) : null,
      h("p", { class: "actions" },
        n > 0 && !stopped ? button("Run it…", "danger", () => run(report, files)) : null,
        report.status === "aborted" && !report.force
          ? button("Plan without limits on number and share", "", () => plan(true)) : null,
        again),
      [...Map.groupBy(actions, (a) => a.action)].map(([kind, some]) =>
        group(kind, some, (a) => item(a, (inside) => now(inside, a, (paths) => documents(about.project, job, paths))))),
      report.truncated ? hint(`The first ${actions.length} of ${n} are listed.`) : null,
      kept.length > 0 ? h("div", { class: "card kept" }, h("h4", null, "Kept"), h("ul", null, kept.map(([text, many]) =>
        h("li", null, h("span", { class: "n" }, String(many)), h("span", null, dated(text)))))) : null);
    announce(`${job.name}. ${title}.`);
  }

  async function run(plan, files) {
    let lasts = `It can be taken back for ${plural(job.undoDays, "day")}.`;
    if (job.undoDays === 0) lasts = "It cannot be taken back: UNDO_DAYS is 0.";
    if (files) lasts = "Files are gone for good: the Storage of the Firebase Emulator Suite has no soft delete.";
    const what = h("ul", null, kinds(plan, "planned").map((text) => h("li", null, text)));
    if (!await confirmed(`Run ${job.name} now?`, [what, hint(lasts)], "danger", "Run it now")) return;
    try {
      const report = await call(job, plan.force ? { force: true } : {}, plan.now);
      await showRun(report);
    } catch (err) {
      await failed(planned, "The run has no report.", err);
    }
  }

  // record reads a document of the functions' own.
  const record = (path) => documents(about.project, job, [path]).then((all) => all.get(path));

  // showRun shows what a run did. Of an earlier one, only its id, its status and its time are known.
  async function showRun(report) {
    const did = await ask("did", { run: report.runId });
    const back = (await record("cleanupRuns/" + report.runId))?.undone?.mapValue?.fields;
    const undone = h("div");
    const take = button("Undo…", "", async () => await undo(report.runId, undone) && take.remove());
    last.replaceChildren();
    planned.replaceChildren();
    const facts = [report.runId, ...(report.actions ? kinds(report, "done") : [moment(report.startedAt)])];
    const tasks = report.usage?.tasks ?? 0;
    fill(ran, h("h3", { tabindex: "-1" }, "Run ", badge(report.status)), hint(facts.join(" · ")),
      report.failures?.length > 0 ? problem("Something was not done.",
        report.failures.map((f) => `${f.action} ${f.target}: ${f.error}`)) : null,
      report.status === "partial" ? note("It had no time for the rest. The next run goes on from there.") : null,
      report.status === "skipped" ? note("It did nothing: the job is held, or a run or an undo of it is under way.") : null,
      report.dryRun ? note("It only planned, because DRY_RUN is true in its environment.") : null,
      back ? note(`It was taken back: ${moment(back.at.timestampValue)}.`) : null,
      tasks > 0 ? note(`It handed ${plural(tasks, "task")} to ${job.worker}. Cloud Tasks calls that with each.`) : null,
      h("p", { class: "actions" }, did.saved ? take : null, again), undone,
      [["deleted", "Deleted"], ["changed", "Changed"], ["created", "Created"]].map(([what, title]) =>
        group(title, did.things.filter((t) => t.what === what), (t) => item(t,
          t.fields?.length > 0 ? (inside) => fill(inside, fields(t.fields, what)) : null))),
      did.total > did.things.length ? hint(`The first ${did.things.length} of ${did.total} are listed.`) : null,
      did.saved || report.dryRun ? null : hint("Nothing is saved of this run: it changed nothing, or UNDO_DAYS is 0."));
    ran.querySelector("h3").focus();
    announce(`Run of ${job.name}: ${report.status}.`);
  }

  const steps = {
    recreate: "Bring back", revert: "Change back", replace: "Change back", remove: "Remove again", conflict: "Leave as it is",
    lost: "Lost", stays: "Leave: it was sent",
  };

  const outcomes = (answer) => [answer.problem ? problem("It ended early.", [answer.problem]) : null,
    [...Map.groupBy(answer.outcomes.filter((o) => o.step), (o) => steps[o.step])].map(([title, some]) =>
      group(title, some, (o) => item({ target: o.target, reason: o.why ?? o.note })))];

  const count = ({ outcomes }) => outcomes.filter((o) => ["recreate", "revert", "replace", "remove"].includes(o.step)).length;

  // undo takes a run back, if somebody confirms it, and returns whether it did.
  async function undo(run, place) {
    try {
      const would = await ask("undo", { run });
      const n = count(would);
      const title = n > 0 ? `Take back ${plural(n, "change")}?` : "There is nothing to take back";
      if (!await confirmed(title, outcomes(would), "first", n > 0 ? "Take it back" : "")) return false;
      const answer = await ask("undo", { run, apply: true });
      fill(place, h("h3", { tabindex: "-1" }, `Undone: ${plural(count(answer), "change is", "changes are")} taken back`),
        h("div", { class: "box note" }, h("p", null, "The jobs that could delete it again are held. To let them run again, in a " +
          "shell with the lines that the emulator printed:"),
        h("code", null, "go run ./scripts/firesweep resume --all")), outcomes(answer));
      place.querySelector("h3").focus();
      announce(place.querySelector("h3").textContent);
      return true;
    } catch (err) {
      fill(place, problem("It is not taken back.", [err.message]));
      return false;
    }
  }

  // showLast tells of the last run, as the job's record does.
  async function showLast() {
    const known = (await record("cleanupJobs/" + job.name))?.lastReport?.mapValue?.fields;
    if (!known?.runId) return;
    const [runId, status, startedAt] = [known.runId.stringValue, known.status.stringValue, known.startedAt.timestampValue];
    fill(last, "Last run: ", badge(status), ` ${moment(startedAt)} `, button("Show it", "small", () =>
      showRun({ runId, status, startedAt }).catch((err) => failed(planned, "The run cannot be shown.", err))));
  }

  if (job.problem) return fill(planned, problem("Its settings are wrong.", [job.problem]));
  await plan();
}
