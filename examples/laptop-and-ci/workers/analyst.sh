#!/bin/sh
# analyst.sh LIMIT: names the lines of the page that are longer.
set -eu
cd "$(dirname "$0")/.."

[ -n "$SHOP_TOKEN" ] || { echo "SHOP_TOKEN is not set" >&2; exit 1; }
awk -v limit="$1" '
  length($0) > limit { print "- " FILENAME ":" FNR " has " length($0) " characters"; n++ }
  END { if (!n) print "No line is longer than " limit " characters." }
' page.html > "$OKSTRA_RESULT"
