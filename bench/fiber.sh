#!/bin/bash
# Puts fiber v3.1.0, on fasthttp and on gallop in its place, under wrk over loopback TCP, as tcp.sh does with servers:
# one at a time, interleaved round by round, server on core 0 with GOMAXPROCS=1, wrk -t1 on core 1.
#
#	./fiber.sh [-c connections] [-n rounds] [-d seconds] name
#
# Prints each round and then medians and the ratio to fasthttp; all of it goes to results/fiber-name.txt too. CPU time is
# user and system time of the server's process by /proc/PID/stat, divided by the requests that wrk saw answered.
set -euo pipefail
cd "$(dirname "$0")"

conns=64 rounds=5 secs=5 port=18090
while getopts c:n:d: o; do
	case $o in
	c) conns=$OPTARG ;;
	n) rounds=$OPTARG ;;
	d) secs=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
name=${1:?a name for the result is missing}

root=$(cd .. && pwd)
work=$(mktemp -d)
pid=
stop() {
	if [ -n "$pid" ]; then kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; pid=; fi
}
trap 'stop; rm -rf "$work"' EXIT

# The same program twice, in modules that differ in what fasthttp is.
for server in fasthttp gallop; do
	mkdir "$work/$server"
	(
		cd "$work/$server"
		cat >main.go <<-'END'
			package main

			import (
				"log"
				"os"

				"github.com/gofiber/fiber/v3"
			)

			func main() {
				app := fiber.New()
				app.Get("/", func(c fiber.Ctx) error { return c.SendString("Hello, World!") })
				log.Fatal(app.Listen(os.Args[1], fiber.ListenConfig{DisableStartupMessage: true}))
			}
		END
		go mod init hello 2>/dev/null
		go mod edit -require=github.com/gofiber/fiber/v3@v3.1.0 -require=github.com/valyala/fasthttp@v1.74.0
		if [ "$server" = gallop ]; then
			go mod edit -replace="github.com/valyala/fasthttp=$root/compat/fasthttp" \
				-require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$root"
		fi
		GOFLAGS=-mod=mod go build -o hello .
	)
done
tick=$(getconf CLK_TCK)

# ticks prints user and system time of the server in clock ticks.
ticks() { sed 's/.*) //' "/proc/$pid/stat" | awk '{print $12, $13}'; }

# round runs one server once and prints: requests/s, user µs, system µs, RSS KiB.
round() {
	GOMAXPROCS=1 taskset -c 0 "$work/$1/hello" "127.0.0.1:$port" >/dev/null &
	pid=$!
	for _ in $(seq 100); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		sleep 0.05
	done
	url="http://127.0.0.1:$port/"
	taskset -c 1 wrk -t1 -c"$conns" -d1s "$url" >/dev/null # warm
	read -r u0 s0 < <(ticks)
	taskset -c 1 wrk -t1 -c"$conns" -d"${secs}s" "$url" >"$work/wrk"
	read -r u1 s1 < <(ticks)
	rss=$(awk '/^VmRSS/ {print $2}' "/proc/$pid/status")
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
	echo "date: $(date -u +%Y-%m-%d)  commit: $(git describe --always --dirty)  $(go env GOVERSION)  fiber v3.1.0, fasthttp v1.74.0"
	echo "cpu:$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2)  kernel: $(uname -r)"
	echo "hello, $conns connections, $rounds rounds of $secs s"
	printf '%-10s %12s %10s %10s %10s\n' "fiber on" requests/s "user µs" "sys µs" "RSS KiB"
	for _ in $(seq "$rounds"); do
		for server in fasthttp gallop; do
			r=$(round "$server")
			echo "$server $r" >>"$work/rounds"
			# shellcheck disable=SC2086
			printf '%-10s %12s %10s %10s %10s\n' "$server" $r
		done
	done
	echo
	awk '
	function median(list,   v, n, i, j, t) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1]+0 > v[j]+0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
		return (v[int((n+1)/2)] + v[int((n+2)/2)]) / 2
	}
	{ rate[$1] = rate[$1] " " $2; user[$1] = user[$1] " " $3; cpu[$1] = cpu[$1] " " ($3 + $4); rss[$1] = rss[$1] " " $5 }
	END {
		split("fasthttp gallop", order, " ")
		printf "%-10s %12s %10s %10s %10s %12s %12s\n", "median", "requests/s", "CPU µs", "user µs", "RSS KiB", "rate ratio", "CPU ratio"
		for (i = 1; i <= 2; i++) {
			s = order[i]
			printf "%-10s %12.0f %10.2f %10.2f %10d %12.3f %12.3f\n", s, median(rate[s]), median(cpu[s]), median(user[s]), median(rss[s]), \
				median(rate[s])/median(rate["fasthttp"]), median(cpu[s])/median(cpu["fasthttp"])
		}
	}' "$work/rounds"
} | tee "results/fiber-$name.txt"
