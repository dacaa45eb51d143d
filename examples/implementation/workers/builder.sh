#!/bin/sh
# The executor: changes slug.sh, and delivers the diff as its output "patch".
set -eu
cd "$(dirname "$0")/.."

before=$(mktemp)
trap 'rm -f "$before" "$before.new"' EXIT
cp slug.sh "$before"
sed "s/ | tr '\[:upper:\]' '\[:lower:\]'\$/ | tr '[:upper:] ' '[:lower:]-'/" "$before" > "$before.new"
cat "$before.new" > slug.sh # keeps the file's mode

if cmp -s "$before" slug.sh; then
  echo "nothing was changed" >&2
  exit 1
fi
diff -u "$before" slug.sh | sed '1s/.*/--- before/; 2s/.*/+++ slug.sh/' > "$OKSTRA_OUTPUT_PATCH"
echo "tr now also turns spaces into dashes." > "$OKSTRA_RESULT"
