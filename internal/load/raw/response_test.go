package raw

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
	"github.com/gallop-http/gallop/internal/message"
)

// readAll reads one response from bytes that arrive in two parts, and returns what was read. The connection ends after them.
func readAll(wire string, cut int, method string) string {
	var r reader
	var to response
	req := request{Request: script.Request{Method: method, KeepBody: -1, KeepHead: true}, method: message.MethodOf(method)}
	var in []byte
	for _, part := range []string{wire[:cut], wire[cut:]} {
		in = append(in, part...)
		n, done, err := r.feed(in, &req, &to, 1<<20)
		in = append([]byte(nil), in[n:]...) // moved, as by a connection
		if err != nil {
			return "error " + classify(err).kind
		}
		if done {
			rest := string(in)
			if len(part) < len(wire)-cut {
				rest += wire[cut:]
			}
			return fmt.Sprintf("%d %q lasts=%v rest=%q fields=%d", to.status, to.body, r.lasts, rest, len(to.fields))
		}
	}
	if r.end() {
		return fmt.Sprintf("%d %q to the end", to.status, to.body)
	}
	return "incomplete"
}

func TestReader(t *testing.T) {
	for _, test := range []struct{ name, method, wire, want string }{
		{"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", `200 "abc" lasts=true rest="" fields=1`},
		{"no body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", `200 "" lasts=true rest="" fields=1`},
		{"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", `200 "" lasts=true rest="" fields=1`},
		{"204", "GET", "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n", `204 "" lasts=true rest="" fields=1`},
		{"304 with a length", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", `304 "" lasts=true rest="" fields=1`},
		{"close", "GET", "HTTP/1.1 400 Bad\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", `400 "x" lasts=false rest="" fields=2`},
		{"HTTP/1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", `200 "x" lasts=false rest="" fields=1`},
		{"interim", "GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", `200 "x" lasts=true rest="" fields=1`},
		{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n", `200 "abcde" lasts=true rest="" fields=1`},
		{"to the end", "GET", "HTTP/1.1 200 OK\r\nA: b\r\n\r\nabc", `200 "abc" to the end`},
		{"cut body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "incomplete"},
		{"cut chunks", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "incomplete"},
		{"not HTTP", "GET", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "error protocol"},
		{"status", "GET", "HTTP/1.1 2x0 OK\r\n\r\n", "error protocol"},
		{"two lengths", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "error protocol"},
		{"length and chunks", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "error protocol"},
		{"length of letters", "GET", "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n", "error protocol"},
		{"unknown coding", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "error protocol"},
		{"chunk size", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "error protocol"},
		{"upgrade", "GET", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "error protocol"},
		{"too many interims", "GET", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", mostInterims+1), "error protocol"},
		{"large head", "GET", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 300<<10) + "\r\n\r\n", "error protocol"},
	} {
		step := max(1, len(test.wire)/500)
		for cut := 0; cut <= len(test.wire); cut += step {
			if got := readAll(test.wire, cut, test.method); got != test.want {
				t.Errorf("%s, cut at %d: %s, not %s", test.name, cut, got, test.want)
				break
			}
		}
	}
}

// TestReaderReadsOneAfterTheOther reads responses that arrive together.
func TestReaderReadsOneAfterTheOther(t *testing.T) {
	wire := []byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\n\r\nHTTP/1.1 204 No\r\n\r\n")
	var r reader
	var got string
	for range 3 {
		var to response
		n, done, err := r.feed(wire, &request{Request: script.Request{KeepBody: 1}}, &to, 9)
		if !done || err != nil {
			t.Fatalf("after %q: %v, %v", got, done, err)
		}
		got += fmt.Sprint(to.status, string(to.body), " ")
		wire = wire[n:]
		r.next()
	}
	if got != "200a 200b 204 " || len(wire) > 0 {
		t.Errorf("read %q, left %q", got, wire)
	}
}

func TestKeepBody(t *testing.T) {
	for _, test := range []struct {
		keep, limit int
		want        string
	}{{0, 10, ""}, {3, 10, "abc"}, {-1, 10, "abcdef"}, {-1, 4, "abcd"}, {5, 4, "abcd"}} {
		var to response
		for _, p := range []string{"ab", "cd", "ef"} {
			to.takeBody(&request{Request: script.Request{KeepBody: test.keep}}, []byte(p), test.limit)
		}
		if string(to.body) != test.want || to.size != 6 {
			t.Errorf("%+v: %q, %d", test, to.body, to.size)
		}
	}
}

func TestAppendWire(t *testing.T) {
	header := []script.Field{{Name: "A", Value: "b"}}
	for _, test := range []struct {
		name string
		req  script.Request
		want string
	}{
		{"get", script.Request{Method: "GET", Path: "/x?y", Header: header}, "GET /x?y HTTP/1.1\r\nHost: host:1\r\nA: b\r\n\r\n"},
		{"default method", script.Request{Path: "/"}, "GET / HTTP/1.1\r\nHost: host:1\r\n\r\n"},
		{"authority", script.Request{Method: "GET", Path: "/", Authority: "other"}, "GET / HTTP/1.1\r\nHost: other\r\n\r\n"},
		{"own host", script.Request{Method: "GET", Path: "/", Header: []script.Field{{Name: "host", Value: "own"}}}, "GET / HTTP/1.1\r\nhost: own\r\n\r\n"},
		{"body", script.Request{Method: "POST", Path: "/", Body: []byte("text")}, "POST / HTTP/1.1\r\nHost: host:1\r\nContent-Length: 4\r\n\r\ntext"},
		{"empty body", script.Request{Method: "PUT", Path: "/"}, "PUT / HTTP/1.1\r\nHost: host:1\r\nContent-Length: 0\r\n\r\n"},
		{"own length", script.Request{Method: "PUT", Path: "/", Header: []script.Field{{Name: "Content-Length", Value: "0"}}}, "PUT / HTTP/1.1\r\nHost: host:1\r\nContent-Length: 0\r\n\r\n"},
		{"bytes", script.Request{Wire: []byte("HEAD / HTTP/1.1\r\n\r\n")}, "HEAD / HTTP/1.1\r\n\r\n"},
	} {
		var r request
		r.hold(&test.req, true)
		if got := string(r.appendWire(nil, "host:1")); got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
	var r request
	if r.hold(&script.Request{Wire: []byte("HEAD / HTTP/1.1\r\n\r\n")}, false); r.method != message.HeadMethod {
		t.Error("the method is not taken from the bytes")
	}
}

// mixed returns a different time for each i below 1009.
func mixed(i int) time.Duration { return time.Duration(i * 7919 % 1009) }

func TestQueueAndAlarms(t *testing.T) {
	var q queue[int]
	var a alarms
	var users []*user
	next, want := 0, 0
	for range 3000 {
		q.push(next)
		q.push(next + 1)
		next += 2
		if got := q.pop(); got != want {
			t.Fatalf("popped %d, not %d", got, want)
		}
		want++
	}
	if q.len() != 3000 || q.first() != want {
		t.Errorf("%d left", q.len())
	}
	if got := q.popLast(); got != next-1 || q.len() != 2999 {
		t.Errorf("popped %d from the end", got)
	}
	for i := range 1000 {
		users = append(users, &user{index: i})
		a.add(mixed(i), users[i])
	}
	last := time.Duration(0)
	for range 1000 {
		got := a.take()
		if got.at < last || got.at != mixed(got.user.index) {
			t.Fatalf("alarm of user %d at %v after %v", got.user.index, got.at, last)
		}
		last = got.at
	}
}
