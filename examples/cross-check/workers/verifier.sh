#!/bin/sh
# verifier.sh WHO: judges the findings that stand in its prompt. Each begins with
# "### `FULL-ID`"; its location and evidence follow as quotations. What stands in
# the named line is what counts: agree where the evidence is there, disagree
# where it is not. A remark about unfinished work is no defect to cleo, who says
# what it lacks instead.
set -eu
cd "$(dirname "$0")/../src"

verdicts=$(awk -v who="$1" '
  function json(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); gsub(/\t/, "\\t", s); return "\"" s "\"" }
  function at(place,   part, line, i) {
    split(place, part, ":")
    line = ""
    for (i = 1; i <= part[2]; i++) if ((getline line < part[1]) <= 0) line = ""
    close(part[1])
    return line
  }
  function judge(   line, verdict, basis) {
    if (id == "") return
    line = at(location)
    verdict = line == evidence && line != "" ? "agree" : "disagree"
    basis = verdict == "agree" ? "The line stands at " location "." : location " does not hold that line."
    note = ""
    if (verdict == "agree" && severity == "info" && who == "cleo") {
      verdict = "supplement"
      note = ", \"note\": \"Says nothing about what goes wrong.\""
    }
    printf "%s  {\"finding\": %s, \"verdict\": \"%s\", \"basis\": %s%s}", (n++ ? ",\n" : ""), json(id), verdict, json(basis), note
    id = ""
  }
  BEGIN { print "{\"format\": \"okstra.verdicts/1\", \"verdicts\": [" }
  /^### `/ { judge(); id = $0; gsub(/^### `|`$/, "", id); next }
  /^### / { judge() }
  /^(Title|Severity|Location|Claim|Evidence):$/ { field = $0; next }
  /^> / {
    if (field == "Severity:") severity = substr($0, 3)
    if (field == "Location:") location = substr($0, 3)
    if (field == "Evidence:") evidence = substr($0, 3)
    field = ""
  }
  END { judge(); print "\n]}" }
' "$OKSTRA_PROMPT")

report=$(printf '# Verdicts of %s\n\n%s\n' "$1" "$(printf '%s\n' "$verdicts" | sed -n 's/^ *{"finding": "\([^"]*\)", "verdict": "\([^"]*\)".*/- \1: \2/p')")
printf '%s\n' "$report"
sleep "$PACE"

printf '%s\n' "$verdicts" > "$OKSTRA_EMIT"
printf '%s\n' "$report" > "$OKSTRA_RESULT"
