-- The arena's JSON documents in turn.
dofile("wrk/percentiles.lua")
local kinds, at = {}, 0
function init(args)
	local documents = {{1, 3}, {5, 7}, {10, 2}, {15, 5}, {25, 4}, {40, 8}, {50, 6}}
	for i, d in ipairs(documents) do
		kinds[i] = wrk.format("GET", "/json/" .. d[1] .. "?m=" .. d[2])
	end
end
function request()
	at = at % #kinds + 1
	return kinds[at]
end
