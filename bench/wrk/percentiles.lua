-- What wrk does not print of its own: p95. Other scripts load this one.
function done(summary, latency, requests)
	io.write(string.format("     95%%    %.2fus\n", latency:percentile(95)))
end
