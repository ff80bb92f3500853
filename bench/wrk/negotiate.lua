-- Requests a route that responds in four forms, with five values of Accept in turn. The argument "check" checks the
-- Content-Type of each response. It needs one connection per thread, so that responses can be matched with requests:
-- wrk -t25 -c25 -s wrk/negotiate.lua URL -- check
dofile("wrk/percentiles.lua")
local kinds = {
	{"application/json", "application/json"},
	{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "text/html"},
	{"application/xml", "application/xml"},
	{"text/plain;q=0.5, application/json;q=0.4", "text/plain"},
	{"image/png, */*;q=0.1", "application/json"},
}
local at, requests = 0, {}
wrong, right = 0, 0

local threads = {}
function setup(thread) table.insert(threads, thread) end

function init(args)
	for i, kind in ipairs(kinds) do requests[i] = wrk.format("GET", nil, {["Host"] = wrk.headers["Host"], ["Accept"] = kind[1]}) end
	if args[1] == "check" then response = check end
end

function request()
	at = at % #kinds + 1
	return requests[at]
end

function check(status, headers, body)
	if status == 200 and headers["Content-Type"] == kinds[at][2] then right = right + 1 else wrong = wrong + 1 end
end

local percentiles = done
function done(summary, latency, requests)
	local sum = {right = 0, wrong = 0}
	for _, thread in ipairs(threads) do
		for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
	end
	if sum.right + sum.wrong > 0 then io.write(string.format("checked: %d right, %d wrong\n", sum.right, sum.wrong)) end
	percentiles(summary, latency, requests)
end
