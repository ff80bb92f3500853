-- Prints p95, which wrk itself does not print. The other scripts load this file.
function done(summary, latency, requests)
	io.write(string.format("     95%%    %.2fus\n", latency:percentile(95)))
end
