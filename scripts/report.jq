# Prints the report of a dry run: what would be done, and what is kept. Needs the functions of common.sh before it.
("\(.job): \(.status)\(if .force then " (forced: no safety limit holds it)" else "" end), database \(.database)\(if .bucket then ", bucket \(.bucket)" else "" end), now \(.now), \(.scanned) scanned, \(.usage.firestoreReads) Firestore reads, \(.durationMs) ms" | plain),
(if (.plan // []) == [] then "  nothing to do"
 else [["  ACTION", "TARGET", "REASON"]] + [.plan[] | ["  " + .action, .target, .reason]] | table end),
(if .truncated then "  … and more: \([.actions[].planned] | add) planned in all" else empty end),
(if .kept == {} then empty else [.kept | to_entries[] | ["  kept", .value, .key]] | table end),
(.notCounted // [] | .[] | "  not counted: \(.); what is kept there is incomplete" | plain),
(.failures[] | "  \(.action) \(.target): \(.error)" | plain),
""
