package gallop_test

import "github.com/gallop-http/gallop"

// Event loops run on a system in memory. A new server calls hardly any handler on them, as it
// does not know yet how long they take, and so there is one that does not care.
var allTransports = []transport{
	goroutines,
	{"loop", gallop.ServeOnLoop, func(s *gallop.Server) listener { return gallop.ListenOnLoop(s) }},
	{"inline", gallop.ServeInline, func(s *gallop.Server) listener { return gallop.ListenInline(s) }},
}
