#!/bin/sh
# The report-writer writes the prose; okstra fills in the settled findings, the
# verdict and the usage where the markers stand.
set -eu

settled=$(sed -n 's/^ *"convergence": "\(.*\)",\{0,1\}$/\1/p' "$OKSTRA_INPUTS")
count() { grep -c "\"outcome\": \"$1\"" "$settled" || true; }

echo "$(count confirmed) confirmed, $(count rejected) rejected, $(count contested) contested"
sleep "$PACE"

cat > "$OKSTRA_RESULT" <<EOT
# Review

Of all findings $(count confirmed) held, $(count rejected) did not, and $(count contested) stayed contested.

<!-- okstra:findings -->

<!-- okstra:usage -->
EOT
echo "Read $settled to its end." > "$OKSTRA_AUDIT"
