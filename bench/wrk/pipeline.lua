-- Sends sixteen requests in one write.
dofile("wrk/percentiles.lua")
local batch
function init(args)
	local one = {}
	for i = 1, 16 do one[i] = wrk.format() end
	batch = table.concat(one)
end
function request() return batch end
