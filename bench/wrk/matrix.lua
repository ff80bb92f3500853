-- Prints what cmd/matrix reads: counts, and latencies in microseconds.
function done(summary, latency, requests)
	local e = summary.errors
	io.write(string.format("matrix %d %d %d %d", summary.requests, summary.bytes, summary.duration,
		e.connect + e.read + e.write + e.status + e.timeout))
	for _, p in ipairs({50, 75, 90, 99}) do
		io.write(string.format(" %d", latency:percentile(p)))
	end
	io.write(string.format(" %d\n", latency.max))
end
