-- Sends POST requests of 1 KiB.
dofile("wrk/percentiles.lua")
local one
function init(args) one = wrk.format("POST", "/echo", nil, string.rep("0123456789abcdef", 64)) end
function request() return one end
