-- Requests 20 files in turn, compressed with gzip where the server has a .gz file. compare/static.go makes the files.
dofile("wrk/percentiles.lua")
local names = {
	"f0.css", "f1.js", "f2.js", "f3.js", "f4.html", "f5.html", "f6.json", "f7.js", "f8.svg", "f9.svg",
	"f10.css", "f11.js", "f12.js", "f13.json", "f14.css", "f15.png", "f16.woff2", "f17.webp", "f18.jpg", "f19.ico",
}
local at, requests = 0, {}

function init()
	for i, name in ipairs(names) do
		requests[i] = wrk.format("GET", "/" .. name, {["Host"] = wrk.headers["Host"], ["Accept-Encoding"] = "gzip"})
	end
end

function request()
	at = at % #names + 1
	return requests[at]
end
