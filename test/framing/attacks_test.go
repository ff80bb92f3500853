package framing_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// attack holds bytes that some server once misread, and the correct response.
type attack struct {
	name   string
	wire   string
	status int    // of the first response
	closes bool   // the connection ends after the responses
	calls  int    // how often the handler runs
	sees   string // what the first echo must contain, as JSON
	stream int    // status where the handler reads the body, if that is another
}

// get is a GET of / with these field lines behind Host.
func get(lines string) string { return "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n\r\n" }

const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

// framingAttacks are about where a message ends: RFC 9112 §6.
var framingAttacks = []attack{
	{name: "two lengths", wire: wiretest.Post("Content-Length: 0\r\nContent-Length: 1", "Z"), status: 400, closes: true},
	{name: "two lengths in a list", wire: wiretest.Post("Content-Length: 0, 1", "Z"), status: 400, closes: true},
	{name: "unknown coding", wire: wiretest.Post("Transfer-Encoding: blegh", "1\r\nZ\r\n0\r\n\r\n"), status: 501, closes: true},
	{name: "chunked twice", wire: wiretest.Post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), status: 400, closes: true},
	{name: "chunked twice in a list", wire: wiretest.Post("Transfer-Encoding: chunked, chunked", "0\r\n\r\n"), status: 400, closes: true},
	{name: "bad length beside a coding", wire: wiretest.Post("Content-Length: abc\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), status: 400, closes: true},
	{name: "length and coding", wire: wiretest.Post("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG"), status: 400, closes: true},
	{name: "coding and length", wire: wiretest.Post("Transfer-Encoding: chunked\r\nContent-Length: 6", "0\r\n\r\nG"), status: 400, closes: true},
	{name: "coding in HTTP/1.0", wire: "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 400, closes: true},
	{name: "identity", wire: wiretest.Post("Transfer-Encoding: identity", ""), status: 501, closes: true},
	{name: "identity beside a length", wire: wiretest.Post("Transfer-Encoding: identity\r\nContent-Length: 3", "abc"), status: 400, closes: true},
	{name: "gzip, chunked", wire: wiretest.Post("Transfer-Encoding: gzip, chunked", "0\r\n\r\n"), status: 501, closes: true},
	{name: "chunked, gzip", wire: wiretest.Post("Transfer-Encoding: chunked, gzip", "0\r\n\r\n"), status: 400, closes: true},
	{name: "coding of one high octet", wire: wiretest.Post("Transfer-Encoding: \xff", "0\r\n\r\n"), status: 400, closes: true},
	{name: "length of 2^64+5", wire: wiretest.Post("Content-Length: 18446744073709551621", "hello"), status: 400, closes: true},
	{name: "length of 2^63", wire: wiretest.Post("Content-Length: 9223372036854775808", ""), status: 400, closes: true},
	{name: "length of 2^63-1", wire: wiretest.Post("Content-Length: 9223372036854775807", ""), status: 413, closes: true, stream: 400},
	{name: "signed length", wire: wiretest.Post("Content-Length: +5", "hello"), status: 400, closes: true},
	{name: "negative length", wire: wiretest.Post("Content-Length: -1", ""), status: 400, closes: true},
	{name: "space before the colon of Content-Length", wire: wiretest.Post("Content-Length : 4", "abcd"), status: 400, closes: true},
	{name: "space before the colon of Transfer-Encoding", wire: wiretest.Post("Transfer-Encoding : chunked", "0\r\n\r\n"), status: 400, closes: true},
	{name: "space before the colon of Host", wire: "GET / HTTP/1.1\r\nHost : a\r\n\r\n", status: 400, closes: true},
	{name: "space before the colon of any field", wire: get("Foo : bar"), status: 400, closes: true},
	{name: "space inside a name", wire: get("Content Length: 5"), status: 400, closes: true},
}

// requestLineAttacks are about RFC 9112 §3.
var requestLineAttacks = []attack{
	{name: "CR in the version", wire: "GET / HTTP/\r\r1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "junk behind the version", wire: "GET / HTTP/1.1x\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "no minor version", wire: "GET / HTTP/1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "two digits", wire: "GET / HTTP/1.10\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "lower case", wire: "GET / http/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "HTTP/2.0", wire: "GET / HTTP/2.0\r\nHost: a\r\n\r\n", status: 505, closes: true},
	{name: "HTTP/9.9", wire: "GET / HTTP/9.9\r\nHost: a\r\n\r\n", status: 505, closes: true},
	{name: "HTTP/1.2 is served as 1.1", wire: "GET / HTTP/1.2\r\nHost: a\r\n\r\n", status: 200, calls: 1},
	{name: "two spaces before the target", wire: "GET  /foo HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "two spaces behind the target", wire: "GET /foo  HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "spaces in the target", wire: "GET /foo/ bar baz HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "NUL before the method", wire: "\x00GET / HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "quote in the method", wire: "GE\"T / HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "high octet in the method", wire: "GE\xffT / HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "target without a slash", wire: "GET foo HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "control character in the target", wire: "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "NUL in the target", wire: "GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "DEL in the target", wire: "GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "bad scheme", wire: "GET 1http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "asterisk for GET", wire: "GET * HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "asterisk for OPTIONS", wire: "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", status: 200, calls: 1, sees: `"uri":"*"`},
	{name: "fragment", wire: "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "one empty line first", wire: "\r\n" + get("A: b"), status: 200, calls: 1},
	{name: "eight empty lines first", wire: strings.Repeat("\r\n", 8) + get("A: b"), status: 200, calls: 1},
	{name: "nine empty lines first", wire: strings.Repeat("\r\n", 9) + get("A: b"), status: 400, closes: true},
	{name: "empty lines behind a body", wire: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n\r\n" + get("A: b"), status: 200, calls: 2},
	{name: "a bare LF first", wire: "\n" + get("A: b"), status: 400, closes: true},
	{name: "empty lines without end", wire: strings.Repeat("\r\n", 1000) + get("A: b"), status: 400, closes: true},
}

// chunkAttacks are about RFC 9112 §7.1.
var chunkAttacks = []attack{
	{name: "bare LF in an extension", wire: wiretest.Post("Transfer-Encoding: chunked", "5;a\nx\r\nhello\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "bare CR in an extension", wire: wiretest.Post("Transfer-Encoding: chunked", "5;a\rx\r\nhello\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "bare LF behind the size", wire: wiretest.Post("Transfer-Encoding: chunked", "5\nhello\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "bare LF behind the data", wire: wiretest.Post("Transfer-Encoding: chunked", "5\r\nhello\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "junk behind the size", wire: wiretest.Post("Transfer-Encoding: chunked", "5 a\r\nhello\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "prefix of the size", wire: wiretest.Post("Transfer-Encoding: chunked", "0x5\r\nhello\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "size of 2^64+5", wire: wiretest.Post("Transfer-Encoding: chunked", "10000000000000005\r\nhello\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "size of 2^60", wire: wiretest.Post("Transfer-Encoding: chunked", "fffffffffffffff\r\nhello"), status: 413, closes: true, stream: 400},
	{name: "data too long", wire: wiretest.Post("Transfer-Encoding: chunked", "5\r\nhelloX\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "extension without end", wire: wiretest.Post("Transfer-Encoding: chunked", "1;"+strings.Repeat("a", 8<<10)+"\r\nx\r\n0\r\n\r\n"), status: 413, closes: true, stream: 400},
	{name: "extensions in sum", wire: wiretest.Post("Transfer-Encoding: chunked", strings.Repeat("1;"+strings.Repeat("a", 1000)+"\r\nx\r\n", 40)+"0\r\n\r\n"), status: 413, closes: true, stream: 400},
	{name: "chunks of 5 MiB in sum", wire: wiretest.Post("Transfer-Encoding: chunked", strings.Repeat("10000\r\n"+strings.Repeat("x", 0x10000)+"\r\n", 80)+"0\r\n\r\n"), status: 413, closes: true, stream: 200},
	{name: "bad chunk behind an expectation", wire: wiretest.Post("Expect: 100-continue\r\nTransfer-Encoding: chunked", "5\r\nhelloX\r\n0\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "good extensions", wire: wiretest.Post("Transfer-Encoding: chunked", "5;a=b;c=\"d\"\r\nhello\r\n0\r\n\r\n"), status: 200, calls: 1, sees: `"body_b64":"aGVsbG8="`},
	{name: "trailers are not fields", wire: wiretest.Post("Transfer-Encoding: chunked", "0\r\nX-Auth-User: root\r\n\r\n"), status: 200, calls: 1},
	{name: "Content-Length in trailers", wire: wiretest.Post("Transfer-Encoding: chunked", "0\r\nContent-Length: 5\r\n\r\n") + get("A: b"), status: 200, calls: 2},
	{name: "bare LF in trailers", wire: wiretest.Post("Transfer-Encoding: chunked", "0\r\nA: b\nC: d\r\n\r\n"), status: 400, closes: true, stream: 400},
	{name: "trailers without end", wire: wiretest.Post("Transfer-Encoding: chunked", "0\r\n"+strings.Repeat("A: b\r\n", 4<<10)+"\r\n"), status: 431, closes: true, stream: 400},
}

// fieldAttacks are about RFC 9110 §5 and RFC 9112 §5.
var fieldAttacks = []attack{
	{name: "CR in a name", wire: get("\rtest: test"), status: 400, closes: true},
	{name: "CR and NUL in a value", wire: get("test: te\r\x00st"), status: 400, closes: true},
	{name: "NUL in a value", wire: get("test: te\x00st"), status: 400, closes: true},
	{name: "control character in a value", wire: get("test: te\x01st"), status: 400, closes: true},
	{name: "DEL in a value", wire: get("test: te\x7fst"), status: 400, closes: true},
	{name: "no colon", wire: get("test"), status: 400, closes: true},
	{name: "empty name", wire: get(": test"), status: 400, closes: true},
	{name: "first line begins with a space", wire: "GET / HTTP/1.1\r\n Host: a\r\n\r\n", status: 400, closes: true},
	{name: "first line begins with a tab", wire: "GET / HTTP/1.1\r\n\tX: y\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "folded line", wire: get("A: b\r\n c"), status: 400, closes: true},
	{name: "folded Transfer-Encoding", wire: wiretest.Post("Transfer-Encoding:\r\n chunked", "0\r\n\r\n"), status: 400, closes: true},
	{name: "space in a name", wire: get("Foo Bar: x"), status: 400, closes: true},
	{name: "bare LF ends a line", wire: "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", status: 400, closes: true},
	{name: "bare LF ends every line", wire: "GET / HTTP/1.1\nHost: a\n\n", status: 400, closes: true},
	{name: "bare LF, and a later message ends in CRLF", wire: "GET / HTTP/1.1\nHost: a\n\n" + get("A: b"), status: 400, closes: true},
	{name: "bare CR ends a line", wire: "GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", status: 400, closes: true},
	{name: "bare LF ends the head", wire: "GET / HTTP/1.1\r\nHost: a\r\n\n", status: 400, closes: true},
}

// hostAttacks are about RFC 9112 §3.2 and RFC 3986 §3.2.
var hostAttacks = []attack{
	{name: "no Host", wire: "GET / HTTP/1.1\r\n\r\n", status: 400, closes: true},
	{name: "two Hosts", wire: get("Host: a"), status: 400, closes: true},
	{name: "userinfo in Host", wire: "GET / HTTP/1.1\r\nHost: user@good.com\r\n\r\n", status: 400, closes: true},
	{name: "quotes in Host", wire: "GET / HTTP/1.1\r\nHost: a\"b<c>\r\n\r\n", status: 400, closes: true},
	{name: "path in Host", wire: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", status: 400, closes: true},
	{name: "list in Host", wire: "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", status: 400, closes: true},
	{name: "two ports", wire: "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n", status: 400, closes: true},
	{name: "open bracket", wire: "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", status: 400, closes: true},
	{name: "bad IPv6", wire: "GET / HTTP/1.1\r\nHost: [::zz]\r\n\r\n", status: 400, closes: true},
	{name: "backslash in an authority", wire: "GET http://host\\@evil/ HTTP/1.1\r\nHost: host\r\n\r\n", status: 400, closes: true},
	{name: "two ports in an authority", wire: "GET http://a:1:2/ HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "open bracket in an authority", wire: "GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "empty authority", wire: "GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n", status: 400, closes: true},
	{name: "the authority beats Host", wire: "GET http://b/p HTTP/1.1\r\nHost: a\r\n\r\n", status: 200, calls: 1, sees: `"host":"b"`},
}

// connectionAttacks are about what RFC 9110 §7.6.1 and §10.1.1 say of a connection.
var connectionAttacks = []attack{
	{name: "Close", wire: get("Connection: Close"), status: 200, calls: 1, closes: true},
	{name: "close, foo", wire: get("Connection: close, foo"), status: 200, calls: 1, closes: true},
	{name: "keep-alive, close", wire: get("Connection: keep-alive, close"), status: 200, calls: 1, closes: true},
	{name: "close in the first of two lines", wire: get("Connection: close\r\nConnection: x"), status: 200, calls: 1, closes: true},
	{name: "close inside a longer token", wire: get("Connection: close-not"), status: 200, calls: 1},
	{name: "expectation in capitals", wire: wiretest.Post("Expect: 100-Continue\r\nContent-Length: 2", "hi"), status: 200, calls: 1, sees: `"body_b64":"aGk="`},
	{name: "unknown expectation", wire: wiretest.Post("Expect: tea\r\nContent-Length: 2", "hi"), status: 417, closes: true},
	{name: "expectation of HTTP/1.0 is ignored", wire: "POST / HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi", status: 200, calls: 1, closes: true},
	{name: "target too long", wire: "GET /" + strings.Repeat("a", 20<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", status: 414, closes: true},
	{name: "head too long", wire: get("A: " + strings.Repeat("a", 80<<10)), status: 431, closes: true},
	{name: "too many fields", wire: get(strings.Repeat("A: b\r\n", 300) + "A: b"), status: 431, closes: true},
	{name: "body too long", wire: wiretest.Post("Content-Length: 5000000", "hi"), status: 413, closes: true, stream: 400},
	{name: "multipart and a smuggled request", wire: multipartSmuggle(), status: 200, calls: 1},
	{name: "more than the prefetched body, unread", wire: unreadSmuggle(fmt.Sprintf("Content-Length: %d", 8192+len(smuggled)), strings.Repeat("x", 8192)+smuggled), status: 200, calls: 1},
	{name: "a chunked body, unread", wire: unreadSmuggle("Transfer-Encoding: chunked", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled)), status: 200, calls: 1},
}

// multipartSmuggle hides a request behind the end of a form, inside the body.
func multipartSmuggle() string {
	form := "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--X--\r\n"
	body := form + strings.Repeat("x", 4096) + smuggled
	return wiretest.Post(fmt.Sprintf("Content-Type: multipart/form-data; boundary=X\r\nContent-Length: %d", len(body)), body)
}

// unreadSmuggle is a request whose handler does not read its body.
func unreadSmuggle(line, body string) string {
	return "POST /_/nobody HTTP/1.1\r\nHost: a\r\n" + line + "\r\n\r\n" + body
}

// TestServerAttacks sends what has broken other servers and wants the right answer,
// with the body read by the server and by the handler.
func TestServerAttacks(t *testing.T) {
	t.Parallel()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		for name, attacks := range map[string][]attack{
			"framing": framingAttacks, "request line": requestLineAttacks, "chunks": chunkAttacks,
			"fields": fieldAttacks, "host": hostAttacks, "connection": connectionAttacks,
		} {
			for _, a := range attacks {
				t.Run(name+"/"+a.name, func(t *testing.T) { a.run(t, on, false) })
				t.Run(name+"/"+a.name+", streamed", func(t *testing.T) { a.run(t, on, true) })
			}
		}
	})
}

func (a attack) run(t *testing.T, on servertest.Transport, stream bool) {
	synctest.Test(t, func(t *testing.T) {
		s := servertest.NewEchoServer(stream)
		c := wiretest.Start(t, on.Serve(&s.Server))
		c.Patience = time.Minute
		c.Send(a.wire)
		if stream && a.stream != 0 {
			// the handler runs, and it is what finds the body broken, if it is
			a.status, a.closes, a.calls = a.stream, a.stream != 200, 1
		}
		r := next(c)
		if r.Status != a.status {
			t.Fatalf("status %d, want %d; %.100q", r.Status, a.status, r.Body)
		}
		if !strings.Contains(string(r.Body), a.sees) {
			t.Errorf("saw %.200q, want %q", r.Body, a.sees)
		}
		if a.status == 200 && strings.Contains(string(r.Body), "X-Auth-User") {
			t.Errorf("a trailer among the fields: %.200q", r.Body)
		}
		for range a.calls - 1 {
			c.Want(200)
		}
		if a.closes {
			c.WantEOF()
		} else {
			// a server that ended the message elsewhere sends another response
			c.Send("GET /after HTTP/1.1\r\nHost: a\r\n\r\n").Want(200)
			c.WantBody(`{"method":"GET","uri":"/after","path":"/after","host":"a","headers":[["Host","a"]],"body_b64":""}`)
			c.WantSilence(time.Second)
			a.calls++
		}
		if n := int(s.Calls.Load()); n != a.calls {
			t.Errorf("%d handler calls, want %d", n, a.calls)
		}
		s.Log.WantNoPanic(t)
	})
}

// next reads responses up to the first that is final.
func next(c *wiretest.Conversation) *wiretest.Response {
	for {
		if r := c.Next("GET"); !r.Interim() {
			return r
		}
	}
}
