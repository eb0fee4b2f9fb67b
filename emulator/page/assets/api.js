// The page's calls, all of which go to this machine.

export class Refusal extends Error {}

async function post(path, body, headers = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body),
    });
  } catch {
    throw new Refusal("The emulator does not answer. Is it still running? Start it again with: go run ./emulator --sample");
  }
  const answer = await response.json();
  if (answer?.error) throw new Refusal(answer.error.message);
  return answer;
}

export const ask = (name, question = {}) => post("/-/api/" + name, question);

// call calls a function as Cloud Scheduler does, with a now that may be ahead of the clock.
export const call = (job, order, at) => post("/" + job, order, { "X-CloudScheduler-ScheduleTime": at });

// advise returns what to do about a report, or about an error.
export function advise(job, report, errors) {
  const failures = errors ?? (report?.failures ?? []).map((f) => f.error);
  const { status = "", stopped = false, force = false, lift = [] } = report ?? {};
  return ask("advice", { job, status, stopped, force, lift, failures });
}
