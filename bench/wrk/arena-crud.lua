-- Of 20 requests, 14 read one of 200 items, three list a page, two replace an item and one changes one.
dofile("wrk/percentiles.lua")
local at = 0
function request()
	at = at + 1
	local id, kind = at * 7 % 200 + 1, at % 20
	if kind < 14 then
		return wrk.format("GET", "/crud/items/" .. id)
	elseif kind < 17 then
		return wrk.format("GET", "/crud/items?category=tools&limit=10&page=" .. at % 10 + 1)
	elseif kind < 19 then
		return wrk.format("POST", "/crud/items", nil, string.format('{"id":%d,"name":"Lamp %d","category":"garden","price":%d,"quantity":2,"active":true,"tags":["new"],"rating":{"score":3,"count":4}}', id, at, at % 400))
	end
	return wrk.format("PUT", "/crud/items/" .. id, nil, string.format('{"name":"Lantern %d","price":%d,"quantity":1}', at, at % 400))
end
