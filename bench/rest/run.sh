#!/bin/sh
# Runs the benchmarks of JSON clients pinned to one core, in rounds, and compares the clients of that run.
# Then it measures the peak memory of each client on all cores.
#
#	./run.sh [-n count] [-t benchtime] [-c core] name
#
# It writes ../results/name.txt, the output of go test, ../results/name.cmp.txt, the same results as
# tables, and ../results/name-memory.txt. Results are saved only if the tree is clean.
set -eu
cd "$(dirname "$0")"

count=6 time=200ms core=1
while getopts n:t:c: o; do
	case $o in
	n) count=$OPTARG ;;
	t) time=$OPTARG ;;
	c) core=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
name=${1:?a name for the result is missing}
results=$(cd ../results && pwd)
commit=$(../commit.sh -clean)

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go test -c -o "$dir/bench" .
go build -o "$dir/memory" ./memory

about() {
	echo "date: $(date -u +%Y-%m-%d)"
	echo "commit: $commit"
	echo "go: $(go env GOVERSION)"
	go list -m -f 'peer: {{.Path}} {{.Version}}' github.com/google/go-github/v92 resty.dev/v3 github.com/gofiber/fiber/v3 \
		github.com/go-json-experiment/json github.com/goccy/go-json github.com/bytedance/sonic github.com/segmentio/encoding
}

{
	about
	for _ in $(seq "$count"); do
		GOMAXPROCS=1 taskset -c "$core" "$dir/bench" -test.run='^$' -test.bench=. -test.benchtime="$time" -test.cpu=1
	done
} | tee "$results/$name.txt"
{
	about
	"$dir/memory" -rounds 2
} | tee "$results/$name-memory.txt"

cd ..
{
	go tool benchstat -filter /client:/./ -col '/client@(go-github resty fiber gallop)' -row .fullname "$results/$name.txt"
	go tool benchstat -filter /codec:/./ -col '/codec@(std rest experiment-v1 experiment-v2 segmentio sonic goccy)' -row .fullname "$results/$name.txt"
} >"$results/$name.cmp.txt"
