#!/bin/sh
# Compares the results that the inputs index lists. The index is JSON with one
# key a line, so that sed is enough to read it.
set -eu

results=$(sed -n 's/^ *"result": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS")

{
  echo "# Improvements, from two models"
  echo "$results" | while read -r result; do
    echo
    sed 's/^#/##/' "$result"
  done
  echo
  echo "## Named by both"
  echo
  echo "$results" | while read -r result; do
    sed -n 's/^- `\([^:]*\):.*/\1/p' "$result" | sort -u
  done | sort | uniq -d | sed 's/^/- /'
} > "$OKSTRA_RESULT"

# What was read and how, for those who ask how the report came to be.
{
  echo "Read to the end:"
  echo "$results" | sed 's/^/- /'
} > "$OKSTRA_AUDIT"
