-- GET, POST with a length and chunked POST in turn: the arena's baseline.
dofile("wrk/percentiles.lua")
local kinds, at = {}, 0
function init(args)
	local path = "/baseline11?a=13&b=42"
	kinds[1] = wrk.format("GET", path)
	kinds[2] = wrk.format("POST", path, nil, "20")
	kinds[3] = "POST " .. path .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] ..
		"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n20\r\n0\r\n\r\n"
end
function request()
	at = at % 3 + 1
	return kinds[at]
end
