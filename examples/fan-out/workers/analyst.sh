#!/bin/sh
# analyst.sh PAGE: counts the words of a page and finds repeated ones.
set -eu

page=$(dirname "$0")/../pages/$1
echo "reading $1"
{
  echo "# $1"
  echo
  echo "words: $(wc -w < "$page" | tr -d ' ')"
  awk '{
    for (i = 2; i <= NF; i++)
      if (tolower($i) == tolower($(i - 1))) print "repeated: " $i " in line " NR
  }' "$page"
} > "$OKSTRA_RESULT"
