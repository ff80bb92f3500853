-- Requests one of 100,000 files each time. The file of rank k is requested in proportion to 1/k (Zipf). compare/files.go makes the files.
dofile("wrk/percentiles.lua")
local files, draws = 100000, 262144
local requests, at = {}, 0

function init()
	local sums, sum, ready = {}, 0, {}
	for k = 1, files do
		sum = sum + 1 / k
		sums[k] = sum
	end
	math.randomseed(os.time()) -- the warm-up and each round request other files
	for i = 1, draws do
		local drawn, low, high = math.random() * sum, 1, files
		while low < high do
			local middle = math.floor((low + high) / 2)
			if sums[middle] < drawn then low = middle + 1 else high = middle end
		end
		ready[low] = ready[low] or wrk.format("GET", string.format("/d%02d/f%05d.txt", (low - 1) % 100, low - 1))
		requests[i] = ready[low]
	end
end

function request()
	at = at % draws + 1
	return requests[at]
end
