#!/bin/sh
# The tests of slug.sh.
set -eu
cd "$(dirname "$0")"

check() {
  got=$(sh ./slug.sh "$1")
  [ "$got" = "$2" ] || { echo "slug of '$1' is '$got', not '$2'"; exit 1; }
}

check "Hello" "hello"
check "Hello World" "hello-world"
check "one two three" "one-two-three"
echo "3 tests passed"
