package wiretest

// Injections are strings that would end a field line, a head or a message, or would turn one element into two. Code that
// writes messages has to refuse or replace them.
var Injections = []string{
	"a\r\nInjected: 1",
	"a\nInjected: 1",
	"a\rInjected: 1",
	"a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\nInjected: 1\r\n\r\n",
	"\r\n\r\n",
	"a\r\n b",
	"\r",
	"\n",
	"a\x00b",
	"a\x7fb\x01",
	"a: b",
	"a b",
	"",
}
