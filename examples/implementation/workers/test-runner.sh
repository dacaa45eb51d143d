#!/bin/sh
# A verifier: runs the tests. It changes nothing.
set -eu
cd "$(dirname "$0")/.."

if out=$(sh ./test.sh 2>&1); then
  echo '{"format": "okstra.verdict/1", "verdict": "accepted", "blockers": []}' > "$OKSTRA_EMIT"
else
  cat > "$OKSTRA_EMIT" <<EOT
{"format": "okstra.verdict/1", "verdict": "blocked",
 "blockers": [{"title": "The tests fail.", "detail": "$(printf '%s' "$out" | tr '\n"\\' "  /")"}],
 "routing": "implementation"}
EOT
fi
printf 'sh ./test.sh said:\n\n    %s\n' "$out" | tee "$OKSTRA_RESULT"
