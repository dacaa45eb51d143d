#!/bin/sh
# The report of the house, from the one result that there is.
set -eu

result=$(sed -n 's/^ *"result": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS")
{
  echo "# What is wrong"
  echo
  sed 1,2d "$result"
  echo
  echo "Next: start the service that refused, then run the step again."
} > "$OKSTRA_RESULT"
echo "Read $result." > "$OKSTRA_AUDIT"
