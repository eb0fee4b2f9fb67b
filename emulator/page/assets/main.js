// The address says which job is shown.

import { ask } from "./api.js";
import { h, problem } from "./dom.js";
import { page } from "./job.js";
import { list } from "./list.js";
import { start } from "./start.js";
import * as time from "./time.js";

const main = document.getElementById("main");
const pages = new Map(); // kept, so that each still shows what was done on it
let about;
let first;

const chosen = () => decodeURIComponent(location.hash.slice(1));

async function reload() {
  about = await ask("jobs");
  list(about.jobs, chosen());
  const job = about.jobs.find((j) => j.name === chosen());
  if (job) await pages.get(job.name)?.refresh(job);
}

async function show(moved) {
  const job = about.jobs.find((j) => j.name === chosen());
  list(about.jobs, job?.name);
  document.body.classList.toggle("chosen", Boolean(job));
  document.title = job ? job.name + " · Firesweep" : "Firesweep";
  if (job && !pages.has(job.name)) pages.set(job.name, page(job, about, reload));
  main.replaceChildren(job ? pages.get(job.name).element : (first ??= start(about)));
  const refreshed = job ? pages.get(job.name).refresh(job) : null;
  if (moved) { // before anything is awaited, so that no focus is taken away later
    main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  await refreshed;
}

const guarded = (work) => work().catch((err) => main.replaceChildren(problem("The page cannot continue.", [err.message])));

guarded(async () => {
  about = await ask("jobs");
  time.begin(about.ahead);
  document.getElementById("project").replaceChildren("project ", h("strong", {}, about.project), " on this machine");
  await show(false);
  addEventListener("hashchange", () => guarded(() => show(true)));
});
