#!/bin/sh
# slug.sh TEXT...: prints a name that is fit for a file or an address.
printf '%s\n' "$*" | tr '[:upper:]' '[:lower:]'
