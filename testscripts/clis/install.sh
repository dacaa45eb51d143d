#!/bin/sh
# Installs the worker CLIs of package.json into a cache folder, about 760 MB:
# $OKSTRA_CLIS, else okstra-clis in the user's cache folder. Does nothing where
# they are there already.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${OKSTRA_CLIS:-${XDG_CACHE_HOME:-$HOME/.cache}/okstra-clis}

if ! command -v npm >/dev/null 2>&1; then
	echo "install.sh: npm is not here, so the worker CLIs cannot be installed; install Node.js 20 or later" >&2
	exit 1
fi

mkdir -p "$cache"
if cmp -s "$here/package.json" "$cache/installed.json"; then
	echo "The worker CLIs are in $cache."
	exit 0
fi

cp "$here/package.json" "$cache/package.json"
npm install --prefix "$cache" --no-audit --no-fund --no-package-lock
# npm may be set to run no install scripts; claude's puts its program in place.
(cd "$cache/node_modules/@anthropic-ai/claude-code" && node install.cjs)

for cli in claude codex gemini; do
	printf '%s ' "$cli"
	"$cache/node_modules/.bin/$cli" --version
done
# Last, so that an interrupted installation is begun anew.
cp "$here/package.json" "$cache/installed.json"
