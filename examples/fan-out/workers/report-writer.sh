#!/bin/sh
# One table of all results.
set -eu

{
  echo "# All pages"
  echo
  echo "| page | words | repeated |"
  echo "|---|---|---|"
  sed -n 's/^ *"result": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS" | while read -r result; do
    awk '
      /^# / { page = substr($0, 3) }
      /^words: / { words = $2 }
      /^repeated: / { repeated = repeated " " $2 }
      END { print "| " page " | " words " |" repeated " |" }
    ' "$result"
  done
} > "$OKSTRA_RESULT"
echo "Read every result that the inputs index lists." > "$OKSTRA_AUDIT"
