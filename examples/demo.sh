#!/bin/sh
# The main job, on examples/cross-check: three reviewers look for defects, judge
# each other's findings, and one writes it up. Works in a temporary copy, needs
# no terminal and no account, and leaves nothing behind.
# OKSTRA names another okstra than bin/okstra.
set -eu
cd "$(dirname "$0")"
okstra=${OKSTRA:-$(cd .. && pwd)/bin/okstra}
[ -x "$okstra" ] || { echo "$okstra is not there; make build" >&2; exit 1; }

work=$(mktemp -d)
# Whatever happens, nothing stays: no worker, no pane, no file.
leave() {
  "$okstra" --project-root "$work/cross-check" teardown --force review > /dev/null 2>&1 < /dev/null || true
  rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cp -R cross-check "$work/cross-check"
cd "$work/cross-check"

# On a terminal workers take a second, so that there is something to watch; in
# tmux their panes stand beside this one. Elsewhere they are quick, and their
# panes are in a server of okstra's own, or they are plain processes.
if [ -t 1 ]; then
  pace=1
else
  pace=0
  unset TMUX TMUX_PANE
fi

step() {
  echo
  echo "# $1"
}

# run COMMAND...: shows a command and runs it.
run() {
  echo "\$ okstra $*"
  "$okstra" --project-root "$work/cross-check" "$@" < /dev/null
}

step "The definition, without its comments"
sed -e '/^ *#/d' -e 's/ *# .*//' -e '/^$/d' okstra.hcl

step "What would happen. Nothing is started and nothing written"
run plan review --var "pace=$pace"

step "It happens. Each line is one change of state"
run apply review --var "pace=$pace" 2>&1

step "The report: what held, what did not, and why"
cat .okstra/tasks/cross-check/default/review/runs/final-verification/reports/final-report-final-verification-001.md

step "Why a worker counts as finished"
run why analysis.find-defects.ada

step "A second apply has nothing to do"
run plan review --detailed-exitcode --var "pace=$pace"

step "Every status is derived again from the files, and agrees"
run verify review

step "The panes, if there were any, are closed"
run teardown review
