-- Range queries.
dofile("wrk/percentiles.lua")
local kinds, at = {}, 0
function init(args)
	for i = 1, 10 do
		kinds[i] = wrk.format("GET", "/async-db?min=" .. 10 * i .. "&max=" .. 10 * i + 40 .. "&limit=20")
	end
end
function request()
	at = at % #kinds + 1
	return kinds[at]
end
