# Functions for run-fiber.sh, run-fasthttp.sh and the other scripts, which source this file in the directory of the tests. They run
# the tests of other projects and compare the failures with a list of known failures. They write only to scratch.
#
#   module   the path that the tests' packages begin with
#   list     the file with the known failures: package, test, and for tests that must not run a third word with the reason.
#            panics and hangs take their package down with them, network needs other machines, and slow takes too long for
#            every run. A name that ends in /* stands for all tests below it
#   scratch  a directory for files

# copy_module copies a module from the module cache, and downloads it first if necessary.
copy_module() {
  local dir
  mkdir -p "$scratch/get"
  dir=$(cd "$scratch/get" && { [ -f go.mod ] || go mod init get 2>/dev/null; } && go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
  cp -r "$dir" "$2"
  chmod -R u+w "$2"
}

# known prints the tests of the list. With "skipped" it prints only those that do not run.
known() { sed -e 's/^#.*//' -e '/^$/d' "$list" | awk -v only="${1-}" '!only || $3 { print $1, $2 }'; }

# escaped turns the name of a test into a pattern that matches only this test.
escaped() { sed -E 's/[][().*+?{}|^$\\]/\\&/g; s|[^/]+|^&$|g'; }

# run runs the tests of packages and prints the output of go test -json. The code of other projects is not vetted.
run() {
  local skip
  skip=$(known skipped | sed 's/^[^ ]* //' | escaped | paste -sd '|')
  go test -json -count=1 -vet=off -p 4 -timeout 170s ${skip:+-skip "$skip"} "$@" 2>"$scratch/err" || true
}

# failures prints the failed tests in the output of go test -json: package and name. It leaves out tests that failed
# because of a subtest.
failures() {
  grep '"Action":"fail"' "$1" | grep '"Test":' |
    sed -E 's|.*"Package":"'"$module"'/?([^"]*)".*"Test":"([^"]*)".*|\1 \2|; s|^ |. |' | sort -u |
    awk '{ line[NR] = $0 } END { for (i = 1; i <= NR; i++) if (i == NR || index(line[i+1], line[i] "/") != 1) print line[i] }'
}

# broken prints the packages whose tests did not run to the end.
broken() {
  grep -E '"Action":"(build-fail|fail)"' "$1" | grep -v '"Test":' | sed -E 's|.*"(Package\|ImportPath)":"'"$module"'/?([^" ]*).*|\2|' |
    while read -r package; do
      if ! grep -q "\"Package\":\"$module${package:+/$package}\",\"Test\":\"[^\"]*\",\"Elapsed\"" <(grep '"Action":"fail"' "$1") ||
        grep -q "\"Package\":\"$module${package:+/$package}\".*\"Output\":\"panic: .*\[recovered" "$1" ||
        grep -qE "\"Package\":\"$module${package:+/$package}\".*\"Output\":\"(fatal error: |panic: test timed out)" "$1"; then
        echo "${package:-.}"
      fi
    done
}

# again runs one test by itself, up to three times, until it passes. It fails if the test never passes.
again() {
  local pattern
  pattern=$(escaped <<<"$2")
  for _ in 1 2 3; do
    if go test -count=1 -vet=off -timeout 60s -run "$pattern" "./$1" >"$scratch/again" 2>&1; then return 0; fi
  done
  return 1
}

# count prints the number of tests that passed, or failed.
count() { grep "\"Action\":\"$1\"" "$scratch/out" | grep -c '"Test":' || true; }

# run_all runs the tests of all packages and prints how many of TITLE passed. The output is in $scratch/out.
run_all() {
  local begun=$SECONDS package name
  run ./... >"$scratch/out"
  if ! grep -q '"Action":"pass"' "$scratch/out"; then
    cat "$scratch/err" "$scratch/out"
    return 1
  fi
  # A package that did not run to the end runs once more, because a late test may have caused the panic.
  for _ in 1 2; do
    for package in $(broken "$scratch/out"); do
      printf 'runs again: %s\n' "$package"
      name=$module/$package
      grep -vF "\"Package\":\"${name%/.}\"" "$scratch/out" >"$scratch/rest" || true
      run "./$package" | cat "$scratch/rest" - >"$scratch/out"
    done
  done
  printf '%s: %d tests and subtests passed, %d failed, %d s\n' "$1" "$(count pass)" "$(count fail)" $((SECONDS - begun))
}

# tell_broken prints the messages of packages that did not run to the end, and fails if there are any.
tell_broken() {
  local package bad=0
  for package in $(broken "$scratch/out"); do
    printf 'BROKEN %s\n' "$package"
    grep "\"Package\":\"$module" "$scratch/out" | grep '"Output":"\(panic\|fatal\|FAIL\|#\)' | head -n 20
    bad=1
  done
  return "$bad"
}

# judge compares the failures with the list. A failed test that is not in the list runs up to three more times by itself. judge
# fails if such a test never passes. It also prints the tests in the list that have passed.
judge() {
  local bad=0 package test
  tell_broken || bad=1
  failures "$scratch/out" >"$scratch/failed"
  known >"$scratch/known"
  unlisted "$scratch/known" <"$scratch/failed" >"$scratch/new"
  while read -r package test; do
    if again "$package" "$test"; then
      printf 'passed when it ran again: %s %s\n' "$package" "$test"
      continue
    fi
    printf 'FAIL %s %s\n' "$package" "$test"
    cat "$scratch/again"
    bad=1
  done <"$scratch/new"

  known skipped >>"$scratch/failed"
  stale "$scratch/failed" <"$scratch/known" | sed "s|^|passes, and is in ${list##*/}: |"
  return "$bad"
}

# unlisted prints the tests in its input that match no entry of the file.
unlisted() {
  awk 'FILENAME != "-" { if (sub(/\/\*$/, "/")) above[$0]; else exactly[$0]; next }
    { found = $0 in exactly; for (a in above) if (index($0, a) == 1) found = 1; if (!found) print }' "$1" -
}

# stale prints the entries in its input that match no test in the file.
stale() {
  awk 'FILENAME != "-" { failed[$0]; next }
    $0 in failed { next }
    { entry = $0; found = 0; if (sub(/\*$/, "")) for (f in failed) if (index(f, $0) == 1) found = 1; if (!found) print entry }' "$1" -
}
