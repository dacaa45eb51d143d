#!/bin/sh
# A whole worker: it reads its prompt, looks around, and writes the one file
# that is asked of it. Its exit code is 0 only if that worked.
set -eu

echo "asked: $(tail -n 1 "$OKSTRA_PROMPT")"
{
  echo "# What is here"
  echo
  find . -type f ! -path '*/.*' | sort | head -n 8 | while read -r file; do
    echo "- $file, $(wc -l < "$file" | tr -d ' ') lines"
  done
} > "$OKSTRA_RESULT"
echo "written: $OKSTRA_RESULT"
