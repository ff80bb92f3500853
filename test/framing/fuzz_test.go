package framing_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// FuzzServerVersusNetHTTP gives the same bytes to the server and to net/http's reader. net/http must accept every
// message that the server accepts, and read it alike: method, target, fields, body, and the place where the next
// message begins. A message that only net/http accepts is no fault, because the server is meant to be stricter.
func FuzzServerVersusNetHTTP(f *testing.F) {
	for _, c := range wiretest.ServerCases(f, wiretest.IsSmall) {
		f.Add(c.Raw)
	}
	f.Add([]byte("HEAD "))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X, Content-Length\r\n\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ours := readByServer(t, b)
		theirs := readByNetHTTP(b)
		for i, e := range ours {
			if i == len(theirs) {
				t.Fatalf("only the server takes message %d: %+v", i+1, e)
			}
			if theirs[i].err != nil {
				if theirs[i].unjudged {
					return
				}
				t.Fatalf("only the server takes message %d: %+v; net/http: %v", i+1, e, theirs[i].err)
			}
			if d := compareEchoes(e, theirs[i].echo); d != "" {
				t.Fatalf("message %d is read differently: %s", i+1, d)
			}
		}
	})
}

// readByServer returns what the handler saw and was answered with 200, and fails the test if what the server
// wrote is not one good response each, and perhaps one that refuses the rest.
func readByServer(t *testing.T, b []byte) (seen []wiretest.Echo) {
	s := &servertest.EchoServer{}
	s.Logger = &s.Log
	s.Handler = func(ctx *gallop.RequestCtx) {
		e := wiretest.Echo{Method: string(ctx.Method()), URI: string(ctx.RequestURI()), Host: string(ctx.Host()), Body: bytes.Clone(ctx.PostBody())}
		for name, value := range ctx.Request.Header.All() {
			e.Headers = append(e.Headers, wiretest.Pair{string(name), string(value)})
		}
		seen = append(seen, e)
	}
	out, err := wiretest.Converse(servertest.Transports[len(b)%len(servertest.Transports)].Serve(&s.Server), b)
	if err != nil {
		t.Fatal(err)
	}
	s.Log.WantNoPanic(t)
	good := 0 // with Expect the handler is called before the body has come, and what is wrong with it is known
	for i := 0; len(out) > 0; {
		method := "GET"
		if i < len(seen) {
			method = seen[i].Method
		}
		r, n, err := wiretest.Parse(out, method, true)
		if err != nil && i == len(seen) && bytes.Contains(b, []byte("HEAD ")) {
			r, n, err = wiretest.Parse(out, "HEAD", true) // a refusal of it has no body (RFC 9110 §9.3.2)
		}
		if err != nil {
			t.Fatalf("response %d of %d: %v", i+1, len(seen), err)
		}
		out = out[n:]
		if r.Interim() {
			continue
		}
		if i++; i > len(seen)+1 {
			t.Fatalf("%d responses to %d requests", i, len(seen))
		}
		if i <= len(seen) && r.Status == gallop.StatusOK {
			good = i
		}
	}
	return seen[:good]
}

// reading is what net/http makes of one message.
type reading struct {
	echo     wiretest.Echo
	err      error
	unjudged bool // it is no judge of that
}

// blankExtension is a chunk line with blanks before its extension. They are allowed
// (RFC 9112 §7.1.1), but net/http does not take them.
var blankExtension = regexp.MustCompile(`(?m)^[0-9A-Fa-f]+[ \t]+;`)

// judgesHead reports whether net/http is a judge of a head that it refuses with this error. It
// is none of the form of URLs, and refuses a Trailer field with names that may not stand in
// trailers, where leaving out such a trailer is enough (RFC 9110 §6.5.1).
func judgesHead(err error) bool {
	var bad *url.Error
	return !errors.As(err, &bad) && !strings.HasPrefix(err.Error(), "bad trailer key")
}

// judgesBody reports whether net/http is a judge of a chunked body that it refuses. Its
// bounds on chunk lines are near ours and not the same; both begin at 4096 bytes.
func judgesBody(b []byte) bool { return len(b) < 4096 && !blankExtension.Match(b) }

func readByNetHTTP(b []byte) (all []reading) {
	r := bufio.NewReaderSize(bytes.NewReader(b), len(b)+16)
	for {
		for range 8 { // RFC 9112 §2.2 has servers skip them
			if line, _ := r.Peek(2); string(line) == "\r\n" {
				_, _ = r.Discard(2)
			}
		}
		req, err := http.ReadRequest(r)
		if err != nil {
			return append(all, reading{err: err, unjudged: !judgesHead(err)})
		}
		e := wiretest.Echo{Method: req.Method, URI: req.RequestURI, Host: req.Host}
		for name, vs := range req.Header {
			for _, v := range vs {
				e.Headers = append(e.Headers, wiretest.Pair{name, v})
			}
		}
		e.Body, err = io.ReadAll(req.Body)
		all = append(all, reading{echo: e, err: err, unjudged: !judgesBody(b)})
		if err != nil {
			return all
		}
	}
}

// compareEchoes returns how two readings of a message differ, or nothing.
func compareEchoes(a, b wiretest.Echo) string {
	switch {
	case a.Method != b.Method:
		return fmt.Sprintf("method %q, net/http %q", a.Method, b.Method)
	case a.URI != b.URI:
		return fmt.Sprintf("target %q, net/http %q", a.URI, b.URI)
	case a.Method != "CONNECT" && !strings.EqualFold(a.Host, b.Host):
		return fmt.Sprintf("host %q, net/http %q", a.Host, b.Host)
	case !bytes.Equal(a.Body, b.Body):
		return fmt.Sprintf("body %q, net/http %q", a.Body, b.Body)
	}
	ours, theirs := fieldsByName(a), fieldsByName(b)
	if cookies := theirs["cookie"]; len(cookies) > 1 { // which the server joins, as RFC 9113 §8.2.3 says
		cookies = slices.DeleteFunc(cookies, func(value string) bool { return value == "" })
		theirs["cookie"] = []string{strings.Join(cookies, "; ")}
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if !slices.Equal(ours[name], theirs[name]) {
			return fmt.Sprintf("%s: %q, net/http %q", name, ours[name], theirs[name])
		}
		delete(theirs, name)
	}
	if len(theirs) > 0 {
		return fmt.Sprintf("only net/http has %q", theirs)
	}
	return ""
}

// fieldsByName leaves out what net/http takes from its header and, in the case of
// Cache-Control, may add.
func fieldsByName(e wiretest.Echo) map[string][]string {
	m := make(map[string][]string)
	for _, h := range e.Headers {
		name := strings.ToLower(h[0])
		switch name {
		case "host", "connection", "transfer-encoding", "trailer", "cache-control":
		default:
			m[name] = append(m[name], h[1])
		}
	}
	return m
}
