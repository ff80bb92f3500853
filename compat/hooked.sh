# Functions for run-nethttp.sh and run-suites.sh, which source this file after judge.sh in their directory. They run tests of
# programs for net/http, with gallop in the place of its server or its transport.
#
#   here      the directory of this file
#   scratch   a directory for files
#   programs  the compiled tests, NAME.test, beside the directories NAME in which they run
programs=()

# The packages of judge.sh are sides here, such as server/httputil. stdtests/run prints the failed tests.
broken() { :; }
failures() { sort -u "$1"; }

run_side() { "$scratch/run" -side "$@"; }

# again runs one test by itself until it passes. It fails if the test never passes.
again() {
  local name=${1#*/} program
  [ "$name" != "$1" ] || name=http
  for program in "${programs[@]}"; do [ "${program##*/}" != "$name.test" ] || break; done
  for _ in 1 2 3; do
    run_side "${1%%/*}" -only "^${2%%/*}\$" -logs "$scratch/again" "$program" >"$scratch/rerun" 2>/dev/null
    if ! grep -qxF "$1 $2" "$scratch/rerun"; then return 0; fi
  done
  return 1
}

# set_up writes the overlay and the tests of the standard library to $scratch/tests, and compiles the runner.
set_up() {
  mkdir "$scratch/tests"
  cp -r "$here/stdtests/." "$scratch/tests"
  cd "$scratch/tests"
  go mod edit -replace="github.com/gallop-http/gallop=$here/.."
  go build -o "$scratch/rewrite" ./rewrite
  go build -o "$scratch/run" ./run
  "$scratch/rewrite" .
}

# test_program compiles the tests of the package in a directory, under the given name.
test_program() {
  mkdir -p "$scratch/programs"
  ln -s "$2" "$scratch/programs/$1"
  (cd "$2" && go test -c -vet=off -tags overlaid -overlay "$scratch/tests/overlay.json" -o "$scratch/programs/$1.test" .)
  programs+=("$scratch/programs/$1.test")
}

# run_sides runs all tests on both sides and judges them.
run_sides() {
  local side
  known skipped >"$scratch/skipped"
  for side in server client; do
    run_side "$side" -skip "$scratch/skipped" -logs "$scratch/$side.log" "${programs[@]}" >>"$scratch/out"
  done
  judge
}
