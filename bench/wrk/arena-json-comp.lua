-- The arena's larger JSON documents in turn, compressed.
dofile("wrk/percentiles.lua")
local kinds, at = {}, 0
function init(args)
	wrk.headers["Accept-Encoding"] = "gzip, br"
	local documents = {{25, 4}, {40, 8}, {50, 6}}
	for i, d in ipairs(documents) do
		kinds[i] = wrk.format("GET", "/json/" .. d[1] .. "?m=" .. d[2])
	end
end
function request()
	at = at % #kinds + 1
	return kinds[at]
end
