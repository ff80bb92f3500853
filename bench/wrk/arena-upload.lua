-- Uploads of 500 KB.
dofile("wrk/percentiles.lua")
local upload
function init(args)
	upload = wrk.format("POST", "/upload", nil, string.rep("u", 500000))
end
function request()
	return upload
end
