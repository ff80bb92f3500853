#!/usr/bin/env bash
# Runs the test suite of fiber on gallop: on the module in fasthttp/, in the place of fasthttp. Needs Go and
# the network or a module cache; writes nothing into the work tree.
#
#   compat/run-fiber.sh          all packages; fails if a test fails that is not in fiber-failures.txt, and
#                                tells which of those passed
#   compat/run-fiber.sh -base    the same tests on fasthttp itself; prints what fails there, for comparison
#
# Many of these tests measure time. One that fails is run again by itself, up to three times, and fails if it never
# passes.
set -euo pipefail
cd "$(dirname "$0")"

fiber=github.com/gofiber/fiber/v3
version=v3.1.0
fasthttp=v1.74.0
here=$PWD
list=$here/fiber-failures.txt
base=
[ "${1-}" != -base ] || base=yes
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; [ -n "${KEEP-}" ] || rm -rf "$scratch"' EXIT

# A copy of fiber, since its tests write into their directories.
(
  mkdir "$scratch/get" && cd "$scratch/get"
  go mod init get 2>/dev/null
  dir=$(go mod download -json "$fiber@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  cp -r "$dir" "$scratch/fiber"
  chmod -R u+w "$scratch/fiber"
)
cd "$scratch/fiber"
if [ -n "$base" ]; then
  go mod edit -require="github.com/valyala/fasthttp@$fasthttp"
else
  go mod edit -replace="github.com/valyala/fasthttp=$here/fasthttp" \
    -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$here/.."
fi
export GOFLAGS=-mod=mod

# known prints the tests of the list, or those of them that stop all others of their package.
known() { sed -e 's/^#.*//' -e '/^$/d' "$list" | awk -v only="${1-}" '!only || $3 == only { print $1, $2 }'; }

# failures prints the tests that failed according to the output of go test -json: package and name. A test
# that failed because one below it did is left out.
failures() {
  grep '"Action":"fail"' "$1" | grep '"Test":' |
    sed -E 's|.*"Package":"'"$fiber"'/?([^"]*)".*"Test":"([^"]*)".*|\1 \2|; s|^ |. |' | sort -u |
    awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++) if (i == NR || index(line[i+1], line[i] "/") != 1) print line[i] }'
}

# broken prints the packages that did not get to their end.
broken() {
  grep -E '"Action":"(build-fail|fail)"' "$1" | grep -v '"Test":' | sed -E 's|.*"(Package\|ImportPath)":"'"$fiber"'/?([^" ]*).*|\2|' |
    while read -r package; do
      if ! grep -q "\"Package\":\"$fiber${package:+/$package}\",\"Test\":\"[^\"]*\",\"Elapsed\"" <(grep '"Action":"fail"' "$1") ||
        grep -q "\"Package\":\"$fiber${package:+/$package}\".*\"Output\":\"panic: .*\[recovered" "$1" ||
        grep -qE "\"Package\":\"$fiber${package:+/$package}\".*\"Output\":\"(fatal error: |panic: test timed out)" "$1"; then
        echo "${package:-.}"
      fi
    done
}

# again runs one test by itself until it passes, and fails if it does not.
again() {
  local pattern
  pattern=$(sed -E 's/[][().*+?{}|^$\\]/\\&/g; s|[^/]+|^&$|g' <<<"$2")
  for _ in 1 2 3; do
    if go test -count=1 -timeout 60s -run "$pattern" "./$1" >"$scratch/again" 2>&1; then return 0; fi
  done
  return 1
}

# run runs the tests of packages.
skip=$(known panics | awk '{ print "^" $2 "$" }' | paste -sd '|')
run() { go test -json -count=1 -p 4 -timeout 170s ${skip:+-skip "$skip"} "$@" 2>"$scratch/err" || true; }

begun=$SECONDS
run ./... >"$scratch/out"
if ! grep -q '"Action":"pass"' "$scratch/out"; then cat "$scratch/err" "$scratch/out"; exit 1; fi
# A package that did not get to its end has another chance: what panics in it may be a test that came too late.
for _ in 1 2; do
  for package in $(broken "$scratch/out"); do
    printf 'runs again: %s\n' "$package"
    name=$fiber/$package
    grep -vF "\"Package\":\"${name%/.}\"" "$scratch/out" >"$scratch/rest" || true
    run "./$package" | cat "$scratch/rest" - >"$scratch/out"
  done
done

count() { grep "\"Action\":\"$1\"" "$scratch/out" | grep -c '"Test":' || true; }
printf 'fiber %s: %d tests and subtests passed, %d failed, %d s\n' "$version" "$(count pass)" "$(count fail)" $((SECONDS - begun))

bad=0
for package in $(broken "$scratch/out"); do
  printf 'BROKEN %s\n' "$package"
  grep "\"Package\":\"$fiber" "$scratch/out" | grep '"Output":"\(panic\|fatal\|FAIL\|#\)' | head -n 20
  bad=1
done
failures "$scratch/out" >"$scratch/failed"
if [ -n "$base" ]; then cat "$scratch/failed"; exit "$bad"; fi

known | sort >"$scratch/known"
while read -r package test; do
  if grep -qxF "$package $test" "$scratch/known"; then continue; fi
  if again "$package" "$test"; then
    printf 'passed when it ran again: %s %s\n' "$package" "$test"
    continue
  fi
  printf 'FAIL %s %s\n' "$package" "$test"
  cat "$scratch/again"
  bad=1
done <"$scratch/failed"

known panics | sort >"$scratch/skipped"
comm -23 "$scratch/known" <(sort "$scratch/failed" "$scratch/skipped") >"$scratch/stale"
while read -r package test; do
  printf 'passes, and is in fiber-failures.txt: %s %s\n' "$package" "$test"
done <"$scratch/stale"
exit "$bad"
