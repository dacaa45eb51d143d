#!/bin/sh
# Plans, applies and verifies every example that needs no account, each in a
# temporary copy. Prints a line for each; ends with 1 where one failed.
# OKSTRA names another okstra than bin/okstra.
set -eu
cd "$(dirname "$0")"
okstra=${OKSTRA:-$(cd .. && pwd)/bin/okstra}
[ -x "$okstra" ] || { echo "$okstra is not there; make build" >&2; exit 1; }

# The examples are run as plain processes, in the same way everywhere.
unset TMUX TMUX_PANE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# try NAME WHAT WANT COMMAND...: runs a command in the example's copy, wants
# this exit code, and shows what was printed where it is another.
try() {
  name=$1 what=$2 want=$3
  shift 3
  code=0
  (cd "$work/$name" && "$@") > "$work/out" 2>&1 < /dev/null || code=$?
  [ "$code" = "$want" ] && return
  echo "FAILED  $name: $what ended with $code, not $want"
  sed 's/^/        /' "$work/out"
  return 1
}

# example NAME: the verbs in the order in which a person uses them.
example() {
  cp -R "$1" "$work/$1"
  try "$1" fmt 0 "$okstra" fmt --check . || return
  case $1 in
  real-clis)
    # Its programs need accounts; without them it is still a definition.
    try "$1" validate 0 "$okstra" validate || return
    echo "ok      $1 (checked, not run: it needs accounts)"
    return
    ;;
  implementation)
    try "$1" plan 2 "$okstra" plan --backend process --detailed-exitcode || return
    try "$1" apply 4 "$okstra" apply --backend process || return
    try "$1" approve 0 "$okstra" approve fix-slug report --choice merge || return
    try "$1" "second apply" 0 "$okstra" apply || return
    ;;
  *)
    try "$1" plan 2 "$okstra" plan --backend process --detailed-exitcode || return
    try "$1" apply 0 "$okstra" apply --backend process || return
    ;;
  esac
  try "$1" verify 0 "$okstra" verify || return
  try "$1" "plan of what is done" 0 "$okstra" plan --detailed-exitcode --backend process || return
  echo "ok      $1"
}

failed=0
for dir in */; do
  [ -f "${dir}okstra.hcl" ] || continue
  example "${dir%/}" || failed=1
done
exit "$failed"
