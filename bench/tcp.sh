#!/bin/bash
# Puts servers under wrk over loopback TCP, one at a time, peers interleaved
# round by round: server on core 0 with GOMAXPROCS=1, wrk -t1 on core 1.
#
#	./tcp.sh [-m mode] [-c connections] [-n rounds] [-d seconds] [-s "servers"] name
#
# mode is hello, pipelined (hello, 16 requests a write), baseline (the arena's
# three requests in turn) or post (1 KiB there and back). Prints each round
# and then, for each server, medians and the ratio to the first server;
# all of it goes to results/tcp-name.txt too.
#
# CPU time is user and system time of the server's process by /proc/PID/stat,
# divided by the requests that wrk saw answered; wrk limits requests/s, so the
# CPU time is the figure to compare. Memory is VmRSS at the end of the load.
set -euo pipefail
cd "$(dirname "$0")"

mode=hello conns=64 rounds=5 secs=5 servers="fasthttp gallop nethttp" port=18080
while getopts m:c:n:d:s:p: o; do
	case $o in
	m) mode=$OPTARG ;;
	c) conns=$OPTARG ;;
	n) rounds=$OPTARG ;;
	d) secs=$OPTARG ;;
	s) servers=$OPTARG ;;
	p) port=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
name=${1:?a name for the result is missing}

case $mode in
hello) serve=hello script=() path=/ ;;
pipelined) serve=hello script=(-s wrk/pipeline.lua) path=/ ;;
baseline) serve=baseline script=(-s wrk/baseline.lua) path=/baseline11 ;;
post) serve=post script=(-s wrk/post.lua) path=/echo ;;
*) echo "no mode $mode" >&2; exit 2 ;;
esac

work=$(mktemp -d)
pid=
stop() {
	if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; pid=; fi
}
trap 'stop; rm -rf "$work"' EXIT
go build -o "$work/peer" ./cmd/peer
tick=$(getconf CLK_TCK)
ulimit -n "$(ulimit -Hn)"

# ticks prints user and system time of the server in clock ticks.
ticks() { sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12, $13}'; }

# round runs one server once and prints: requests/s, user µs, system µs, RSS KiB.
round() {
	GOMAXPROCS=1 taskset -c 0 "$work/peer" -server "$1" -address "127.0.0.1:$port" -app "$serve" &
	pid=$!
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		sleep 0.05
	done
	url="http://127.0.0.1:$port$path"
	taskset -c 1 wrk -t1 -c"$conns" -d1s "${script[@]}" "$url" >/dev/null # warm
	read -r u0 s0 < <(ticks)
	taskset -c 1 wrk -t1 -c"$conns" -d"${secs}s" "${script[@]}" "$url" >"$work/wrk" &
	load=$!
	sleep "$(awk -v s="$secs" 'BEGIN { print s - 0.5 }')"
	rss=$(awk '/^VmRSS/ {print $2}' "/proc/$pid/status")
	wait $load
	read -r u1 s1 < <(ticks)
	stop
	awk -v u=$((u1 - u0)) -v s=$((s1 - s0)) -v tick="$tick" -v rss="$rss" '
		/requests in/ { n = $1 } /Requests\/sec/ { rate = $2 }
		/Non-2xx/ { bad = $NF } /Socket errors/ { print "wrk: " $0 > "/dev/stderr" }
		END {
			if (n == 0 || bad) { print "wrk: " n " answers, " bad+0 " not 2xx" > "/dev/stderr"; exit 1 }
			printf "%.0f %.3f %.3f %d\n", rate, u/tick/n*1e6, s/tick/n*1e6, rss
		}' "$work/wrk"
}

{
	echo "date: $(date -u +%Y-%m-%d)  commit: $(git describe --always --dirty)  $(go env GOVERSION)  $(wrk -v 2>/dev/null | head -1 | cut -d' ' -f1,2 || true)"
	echo "cpu:$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2)  kernel: $(uname -r)"
	echo "mode $mode, $conns connections, $rounds rounds of $secs s"
	printf '%-10s %12s %10s %10s %10s\n' server requests/s "user µs" "sys µs" "RSS KiB"
	for _ in $(seq "$rounds"); do
		for server in $servers; do
			r=$(round "$server")
			echo "$server $r" >>"$work/rounds"
			# shellcheck disable=SC2086
			printf '%-10s %12s %10s %10s %10s\n' "$server" $r
		done
	done
	echo
	awk -v servers="$servers" '
	function median(list,   v, n, i, j, t) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1]+0 > v[j]+0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
		return (v[int((n+1)/2)] + v[int((n+2)/2)]) / 2
	}
	{ rate[$1] = rate[$1] " " $2; user[$1] = user[$1] " " $3; cpu[$1] = cpu[$1] " " ($3 + $4); rss[$1] = rss[$1] " " $5 }
	END {
		k = split(servers, order, " "); base = order[1]
		printf "%-10s %12s %10s %10s %10s %12s %12s %12s\n", "median", "requests/s", "CPU µs", "user µs", "RSS KiB", "rate ratio", "CPU ratio", "RSS ratio"
		for (i = 1; i <= k; i++) {
			s = order[i]
			printf "%-10s %12.0f %10.2f %10.2f %10d %12.3f %12.3f %12.3f\n", s, median(rate[s]), median(cpu[s]), median(user[s]), median(rss[s]), \
				median(rate[s])/median(rate[base]), median(cpu[s])/median(cpu[base]), median(rss[s])/median(rss[base])
		}
	}' "$work/rounds"
} | tee "results/tcp-$name.txt"
