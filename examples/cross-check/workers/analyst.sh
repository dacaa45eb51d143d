#!/bin/sh
# analyst.sh WHO: looks for the kind of defect that WHO knows about, and emits
# what it found.
set -eu
cd "$(dirname "$0")/../src"
echo "$1 reads:"
wc -l ./*.sh

# finding ID SEVERITY TITLE CLAIM, with FILE:LINE:TEXT lines on standard input
finding() {
  awk -v id="$1" -v severity="$2" -v title="$3" -v claim="$4" '
    function json(s) { gsub(/\\/, "\\\\", s); gsub(/"/, "\\\"", s); gsub(/\t/, "\\t", s); return "\"" s "\"" }
    {
      n = split($0, part, ":")
      at = part[1] ":" part[2]
      printf "  {\"id\": %s, \"title\": %s, \"severity\": \"%s\", \"location\": %s, \"claim\": %s, \"evidence\": %s}\n",
        json(id NR), json(title), severity, json(at), json(claim), json(substr($0, length(at) + 2))
    }'
}

found=$(
  case $1 in
  ada)
    grep -n 'rm .*[$]' ./*.sh | grep -v '"' |
      finding Q critical "Unquoted variable in rm" "An empty or blank target makes this remove something else."
    ;;
  bert)
    grep -n '`' ./*.sh | finding B major "Loop over the output of ls" "A file name with a blank becomes two names."
    grep -n TODO ./*.sh | finding T info "Something is left to do" "The script is not finished."
    ;;
  cleo)
    # Claims that nobody else will find at that place.
    echo './report.sh:99:eval "$name"' | finding E critical "eval of a file name" "A file name is run as a command."
    ;;
  esac
)

report=$(printf '# Findings of %s\n\n%s\n' "$1" "$(printf '%s\n' "$found" | sed 's/^ *{"id": "\([^"]*\)", "title": "\([^"]*\)".*/- \1: \2/')")
printf '\n%s\n' "$report"
sleep "$PACE"

printf '{"format": "okstra.findings/1", "findings": [\n%s\n]}\n' "$(printf '%s\n' "$found" | sed '$!s/$/,/')" > "$OKSTRA_EMIT"
printf '%s\n' "$report" > "$OKSTRA_RESULT"
