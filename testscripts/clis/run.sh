#!/bin/sh
# Installs the worker CLIs where they are missing, and runs the stories. Where
# npm or network namespaces are not to be had it says so, and ends with 0.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

if ! command -v npm >/dev/null 2>&1; then
	echo "************************************************************" >&2
	echo "THE REAL WORKER CLIS WERE NOT TESTED: npm is not here." >&2
	echo "************************************************************" >&2
	exit 0
fi

"$here/install.sh"
cd "$here"
OKSTRA_TEST_CLIS=1 exec "${GO:-go}" test -count=1 -v -parallel "${PARALLEL:-3}" -timeout 20m .
