#!/bin/sh
# The executor: changes slug.sh, and delivers the diff as its output "patch".
set -eu
cd "$(dirname "$0")/.."

before=$(mktemp)
trap 'rm -f "$before" "$before.new"' EXIT
cp slug.sh "$before"
sed "s/ | tr '\[:upper:\]' '\[:lower:\]'\$/ | tr '[:upper:] ' '[:lower:]-'/" "$before" > "$before.new"
cat "$before.new" > slug.sh # keeps the file's mode

# diff says 1 where the files differ, which is what is wanted here.
if diff -u "$before" slug.sh > "$OKSTRA_OUTPUT_PATCH"; then
  echo "nothing was changed" >&2
  exit 1
fi
echo "tr now also turns spaces into dashes." > "$OKSTRA_RESULT"
