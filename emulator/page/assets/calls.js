// The page's calls, all of which go to this machine.

async function post(path, body, headers = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The emulator does not answer. Is it still running?");
  }
  const answer = await response.json();
  const error = (Array.isArray(answer) ? answer[0] : answer)?.error; // Firestore's, too
  if (error) throw new Error(error.message);
  return answer;
}

export const ask = (name, question = {}) => post("/-/api/" + name, question);

// call calls a function as Cloud Scheduler does.
export const call = (job, order, at) => post("/" + job.name, order, { "X-CloudScheduler-ScheduleTime": at });

// documents reads documents of a job's database as they are now. It returns the fields of each, by its path; undefined if it does
// not exist.
export async function documents(project, job, paths) {
  if (paths.length === 0) return new Map();
  const root = `projects/${project}/databases/${job.database}/documents/`;
  const answer = await post("/-/documents/" + job.database, { documents: paths.map((path) => root + path) });
  return new Map(answer.map(({ found, missing }) =>
    [(found?.name ?? missing).slice(root.length), found && (found.fields ?? {})]));
}

// shown writes a value of Firestore's REST interface like JSON, with Firestore's own types in words.
export function shown(value) {
  const [[kind, v]] = Object.entries(value);
  switch (kind) {
    case "stringValue": return JSON.stringify(v);
    case "arrayValue": return `[${(v.values ?? []).map(shown).join(", ")}]`;
    case "mapValue":
      return `{${Object.entries(v.fields ?? {}).map(([k, one]) => `${JSON.stringify(k)}: ${shown(one)}`).join(", ")}}`;
    case "referenceValue": return "document " + v.split("/documents/")[1];
    case "geoPointValue": return `${v.latitude ?? 0}° N, ${v.longitude ?? 0}° E`;
    case "bytesValue": return `${atob(v).length} bytes`;
    default: return String(v);
  }
}
