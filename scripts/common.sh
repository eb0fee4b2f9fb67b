# shellcheck shell=bash
# What the operator's commands have in common; sourced, not run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  exit "${2:-1}"
}

# mapfile, ${name,,} and empty arrays under set -u.
((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))) ||
  die "bash 4.4 or later is needed, this is $BASH_VERSION. On macOS: brew install bash"

# need COMMAND...: fails with what to install.
need() {
  local command missing=()
  for command; do
    command -v "$command" >/dev/null || missing+=("$command")
  done
  [ ${#missing[@]} -eq 0 ] || die "not installed: ${missing[*]}. On Debian: apt-get install curl jq; gcloud: https://cloud.google.com/sdk/docs/install"
}

# all_jobs: the scheduled jobs of the bundle, one a line.
all_jobs() { jq -r '.functions[] | select(.trigger == "schedule") | .name' "$root/functions/schedule.json"; }

# check_jobs NAME...: fails if one is no scheduled job.
check_jobs() {
  local job known
  known=$(all_jobs)
  for job; do
    grep -qxF -- "$job" <<<"$known" || die "no job is called $job; there are: $(tr '\n' ' ' <<<"$known")" 2
  done
}

# default_project: the project of gcloud's configuration.
default_project() {
  local project
  project=$(gcloud config get-value project 2>/dev/null) || true
  [ -n "$project" ] || die "no project: say --project, or run: gcloud config set project PROJECT" 2
  printf '%s\n' "$project"
}

# jq functions for tables. Names and reasons hold what users wrote: nothing of it may reach the terminal as a command.
# shellcheck disable=SC2016,SC2034 # $ is jq's; used by those who source this
table='
  def plain: if . == null then "" else tostring end | gsub("[[:cntrl:]]"; " ");
  def pad($width): . + (" " * ([$width - length, 0] | max) // "");
  def table: map(map(plain)) | (transpose | map(map(length) | max)) as $widths
    | .[] | to_entries | map(.key as $i | .value | pad($widths[$i])) | join("  ") | sub(" +$"; "");
'
