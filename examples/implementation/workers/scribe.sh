#!/bin/sh
# The report-writer. The marker is where okstra fills in the verdict that
# follows from those of the verifiers.
set -eu

choice=$(sed -n 's/^ *"choice": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS")
{
  echo "# slug.sh"
  echo
  sed -n 's/^ *"result": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS" | while read -r result; do
    cat "$result"
    echo
  done
  echo "Decided: $choice."
  echo
  echo '<!-- okstra:verdict -->'
} > "$OKSTRA_RESULT"
echo "Read the results that the inputs index lists, each to its end." > "$OKSTRA_AUDIT"
