#!/bin/sh
# analyst.sh MODEL: looks at the sources beside this folder in one of two ways.
set -eu
cd "$(dirname "$0")/../src"

case $1 in
loose-ends)
  echo "reading every line of src"
  {
    echo "# Loose ends"
    echo
    grep -n -e TODO -e FIXME ./*.sh | sed 's/^\([^:]*:[0-9]*\):[ #]*/- `\1` /'
  } > "$OKSTRA_RESULT"
  ;;
sizes)
  echo "measuring src"
  {
    echo "# Files that do too much"
    echo
    wc -l ./*.sh | sort -rn | grep -v total | head -n 2 | while read -r lines file; do
      echo "- \`$file:1\` has $lines lines"
    done
  } > "$OKSTRA_RESULT"
  ;;
*)
  echo "no model $1" >&2
  exit 64
  ;;
esac
