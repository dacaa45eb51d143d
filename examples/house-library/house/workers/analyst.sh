#!/bin/sh
# analyst.sh LOG: finds the first error and its step.
set -eu

awk '
  /^step/ { step = $0 }
  /error:/ && !found {
    found = 1
    sub(/^ */, "")
    print "# Cause\n\n- step: " step "\n- error: " $0
  }
  END { if (!found) print "# Cause\n\nThe log holds no error." }
' "$1" > "$OKSTRA_RESULT"
