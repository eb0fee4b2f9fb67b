# Makes Markdown of `firesweep plan --json` or `firesweep run --json`, with at most $items items of each job, and
# with the $checksum of the plan file, if there is one. $project, the $folder in the repository, the $database and the
# $jobs, each may be empty, tell its comment from others. Names and reasons hold what users wrote, so they stand in <pre> or
# <code>, where nothing is Markdown, a link or a mention, and characters that nobody sees or that turn others around are escaped.

def cut(n): if length > n then .[:n] + "…" else . end;
def numbers(key): [.actions // {} | to_entries[] | select(.value[key] > 0) | "\(.value[key]) \(.key)"] | join(", ");
def hex: if . < 16 then "0123456789abcdef"[.:. + 1] else (. / 16 | floor | hex) + (. % 16 | hex) end;
def harmless: gsub("(?<c>[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}])"; "\\u{" + (.c | explode[0] | hex) + "}");
def shown: harmless | @html;
def pre: "<pre>" + join("\n") + "</pre>";

def job:
  (.report // {}) as $r
  | ($r | if .dryRun == false then numbers("done") else numbers("planned") end) as $did
  | ($r.failures // [] | map("\(.target // ""): \(.error)" | ltrimstr(": "))) as $failures
  | $failures[:([10, $items] | min)] as $bad
  | ($r.plan // [])[:$items] as $some
  | ([$r.actions[]?.planned] | add // 0) as $due
  | "### \(.job // $r.job): \(if .error then "failed" elif $r.status != "completed" then $r.status elif $did == "" then "nothing to do" else "<code>\($did | shown)</code>" end)",
    if .error then [.error | shown] | pre else empty end,
    if ($bad | length) > 0 then $bad | map(shown) | pre else empty end,
    if ($failures | length) > ($bad | length) then "Of \($failures | length) failures, \($bad | length) are named." else empty end,
    if ($some | length) > 0 then
      "<details><summary>\(if $due > ($some | length) then "the first \($some | length) of \($due)" else "all \($due)" end)</summary>\n",
      ($some | map("\(.action | shown)  \(.target | shown)\n    \(.reason | shown)") | pre), "</details>"
    else empty end,
    if ($r.kept // {}) != {} then "Kept:", ([$r.kept | to_entries[] | "\(.value) \(.key | shown)"] | pre) else empty end,
    if $r.approved then "Of \($r.approved) items in the approved plan, \([$r.actions[]?.done] | add // 0) were done." else empty end,
    if $r.dryRun == false and $did != "" then "Undo: `firesweep undo \($r.runId)`" else empty end;

(.runs // .plans) as $all
| ([[" of ", $project], [" in ", $folder], [", database ", $database], [": ", $jobs]] | map(select(.[1] != "") | add) | add // "" | @html) as $of
| [
    "<!-- firesweep\($of | gsub("--"; "")) -->",
    "## Firesweep: \(if .runs then "a run\($of)" else "the plan\($of)" end)",
    if .runs then empty else "What a run would do now. Nothing was changed." end,
    if $checksum == "" then empty else "Checksum of the plan file: <code>\($checksum | @html)</code>" end,
    ($all[] | job)
  ]
| join("\n\n") | cut(60000)
