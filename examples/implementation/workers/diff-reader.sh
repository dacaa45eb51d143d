#!/bin/sh
# A verifier: reads the executor's diff, which the inputs index names, and wants
# one changed line and no more.
set -eu

patch=$(sed -n 's/^ *"patch": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS")
added=$(grep -c '^+[^+]' "$patch") || true

if [ "$added" = 1 ]; then
  echo '{"format": "okstra.verdict/1", "verdict": "accepted", "blockers": []}' > "$OKSTRA_EMIT"
else
  cat > "$OKSTRA_EMIT" <<EOT
{"format": "okstra.verdict/1", "verdict": "blocked",
 "blockers": [{"title": "More was changed than was asked.", "detail": "$added added lines where one is enough"}],
 "routing": "implementation"}
EOT
fi
{
  echo "The diff adds $added line:"
  echo
  sed 's/^/    /' "$patch"
} > "$OKSTRA_RESULT"
