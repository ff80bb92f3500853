#!/usr/bin/env bash
# Runs the tests of fasthttp on gallop, with the module in fasthttp/. Only tests that use exported names run. Needs Go and the
# network or a module cache. Writes nothing to the work tree.
#
#   compat/run-fasthttp.sh          runs all packages. Fails if a test fails that is not in fasthttp-failures.txt, and
#                                   prints the tests in that list that passed
#   compat/run-fasthttp.sh -base    runs the same tests on fasthttp itself, and prints the failures for comparison
#   compat/run-fasthttp.sh -pruned  prints the tests that need unexported names, and the names
set -euo pipefail
cd "$(dirname "$0")"

module=github.com/valyala/fasthttp
version=v1.74.0
here=$PWD
list=$here/fasthttp-failures.txt
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; [ -n "${KEEP-}" ] || rm -rf "$scratch"' EXIT
. ./judge.sh

# The files of fasthttp stay, because some tests serve them, but only gallop's files beside them are compiled.
copy_module "$module@$version" "$scratch/base"
find "$scratch/base/examples" -name '*_test.go' -delete
cp -r "$scratch/base" "$scratch/gallop"
cd "$scratch/gallop"
find . -name '*.go' ! -name '*_test.go' -exec sed -i -e '1i //go:build ignore\n' -e '/^\/\/go:build /d' {} +
(cd "$here/fasthttp" && find . -name '*.go' ! -name '*_test.go' ! -path './internal/*') | while read -r file; do
  cp "$here/fasthttp/$file" "${file%/*}/gallop_${file##*/}"
done
cp "$here/fasthttp-names.go.txt" gallop_names_test.go
go mod edit -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$here/.."
export GOFLAGS=-mod=mod

(cd "$here/fasthttp" && go build -o "$scratch/prune" ./internal/prune)
"$scratch/prune" >"$scratch/pruned"
grep -E '^[^ ]+ (Test|Example|Fuzz)' "$scratch/pruned" >"$scratch/pruned-tests"
if [ "${1-}" = -pruned ]; then
  cat "$scratch/pruned-tests"
  exit
fi
printf 'fasthttp %s: %d tests need what it does not export, and do not run\n' "$version" "$(wc -l <"$scratch/pruned-tests")"

if [ "${1-}" = -base ]; then
  rm gallop_names_test.go
  find . -name '*_test.go' -exec cp {} "$scratch/base/"{} \;
  cd "$scratch/base"
  list=/dev/null
  run_all "fasthttp $version on itself"
  failures "$scratch/out"
  tell_broken
else
  run_all "fasthttp $version"
  judge
fi
