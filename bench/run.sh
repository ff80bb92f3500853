#!/bin/sh
# Runs the in-memory benchmarks pinned to one core and compares the servers in
# that run.
#
#	./run.sh [-n count] [-t benchtime] [-c core] [-d directory] [-p peers] [-g goal] [-o directory] name [bench pattern]
#
# It writes results/name.txt, the output of go test, and results/name.cmp.txt, a
# table with a column for each server and gallop's ratios to its peers. The default
# peers are fasthttp and nethttp, and the default benchmarks are those of this
# directory. Results are saved only if the tree is clean. -o writes the files to another
# directory, even from a dirty tree.
#
# Some names have their own benchmarks and goals, see below and README.md. With a
# goal, the exit status is 1 if gallop takes more than goal times as long as the first
# peer in any benchmark.
set -eu
cd "$(dirname "$0")"

count=6 time=1s core=0 dir=. peers='fasthttp nethttp' goal='' results=results
while getopts n:t:c:d:p:g:o: o; do
	case $o in
	n) count=$OPTARG ;;
	t) time=$OPTARG ;;
	c) core=$OPTARG ;;
	d) dir=$OPTARG ;;
	p) peers=$OPTARG ;;
	g) goal=$OPTARG ;;
	o) results=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
name=${1:?a name for the result is missing}
pattern=. own=''
case $name in
client-tcp1) pattern='^BenchmarkClientGetEndToEnd1TCP$' own=1.2 ;;
client-10k) pattern='^BenchmarkClientGetEndToEnd10KInmemory$' ;;
client-wait) pattern='^BenchmarkClientGetEndToEndWaitConn[0-9]+Inmemory$' ;;
heads) pattern='^Benchmark(SetAnd)?WriteResponse10Fields$' own=0.4 ;;
server-100) pattern='^BenchmarkServerGet100ReqPerConn10KClients$' ;;
files) pattern='^BenchmarkFile(Empty|1K|8K)$' peers=fasthttp own=1 ;;
middleware) dir=middleware peers='fiber echo' own=0.7 ;;
files-zipf) pattern='^BenchmarkFilesZipf$' peers=gallop-uncached own=1 ;;
esac
pattern=${2:-$pattern}
goal=${goal:-$own}
if [ "$results" = results ]; then commit=$(./commit.sh -clean); else commit=$(./commit.sh); fi

bin=$(mktemp)
trap 'rm -f "$bin"' EXIT
go test -C "$dir" -c -o "$bin" .

{
	echo "date: $(date -u +%Y-%m-%d)"
	echo "commit: $commit"
	echo "go: $(go env GOVERSION)"
	go list -C "$dir" -m -f '{{if not (or .Main .Indirect .Replace)}}peer: {{.Path}} {{.Version}}{{end}}' all | sed '/^$/d'
	# Each round runs all servers once, so a machine that becomes slower
	# affects all of them.
	for _ in $(seq "$count"); do
		GOMAXPROCS=1 taskset -c "$core" "$bin" \
			-test.run='^$' -test.bench="$pattern" -test.benchtime="$time" -test.cpu=1
	done
} | tee "$results/$name.txt"

{
	# Ratios of medians, one benchmark per line.
	awk -v peers="$peers" -v goal="$goal" '
	/^Benchmark/ {
		split($1, part, "/server="); name = substr(part[1], 10); server = part[2]
		if (!(name in seen)) { seen[name] = 1; order[++names] = name }
		runs[name, server] = runs[name, server] " " $3
	}
	function median(list,   v, n, i, j, t) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1]+0 > v[j]+0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
		return n == 0 ? 0 : (v[int((n+1)/2)] + v[int((n+2)/2)]) / 2
	}
	END {
		n = split(peers, peer, " ")
		printf "%-50s %10s", "median ns/op", "gallop"
		for (j = 1; j <= n; j++) printf " %10s", peer[j]
		for (j = 1; j <= n; j++) printf " %12s", "÷ " peer[j]
		print ""
		for (i = 1; i <= names; i++) {
			name = order[i]; g = median(runs[name, "gallop"])
			printf "%-50s %10.1f", name, g
			for (j = 1; j <= n; j++) printf " %10.1f", median(runs[name, peer[j]])
			for (j = 1; j <= n; j++) {
				p = median(runs[name, peer[j]])
				printf " %12.3f", p ? g/p : 0
				if (p) { logs[j] += log(g/p); of[j]++ }
			}
			print ""
		}
		printf "%-50s %10s", "geometric mean", ""
		for (j = 1; j <= n; j++) printf " %10s", ""
		for (j = 1; j <= n; j++) printf " %12.3f", of[j] ? exp(logs[j]/of[j]) : 0
		print ""
		if (goal == "") exit
		print ""
		for (i = 1; i <= names; i++) {
			p = median(runs[order[i], peer[1]])
			if (!p) continue # the peer has no such benchmark
			library = order[i]; sub(/^Middleware/, "Library", library)
			share = library == order[i] ? 0 : median(runs[library, "gallop"])
			ratio = (median(runs[order[i], "gallop"]) - share) / p
			met = ratio > 0 && ratio <= goal
			printf "goal: %s at most %s × %s: %.3f, %s", order[i], goal, peer[1], ratio, met ? "met" : "MISSED"
			print share ? sprintf(" (without %.0f ns of the standard library)", share) : ""
		}
	}' "$results/$name.txt"
	echo
	go tool benchstat -col "/server@(${peers%% *} gallop${peers#"${peers%% *}"})" -row .fullname "$results/$name.txt"
} >"$results/$name.cmp.txt"
cat "$results/$name.cmp.txt"
if [ -n "$goal" ]; then
	grep -q '^goal: ' "$results/$name.cmp.txt" && ! grep -q '^goal: .*MISSED$' "$results/$name.cmp.txt"
fi
