package wiretest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// netHTTP is net/http's client under test.
func netHTTP(dial func() (net.Conn, error)) (Fetch, func()) {
	transport := &http.Transport{
		DialContext:           func(context.Context, string, string) (net.Conn, error) { return dial() },
		ExpectContinueTimeout: 200 * time.Millisecond,
	}
	return func(ctx context.Context, c *Call) (*Result, error) {
		req, err := http.NewRequestWithContext(ctx, c.Method, "http://h1.test"+c.Path, bytes.NewReader(c.Body))
		if err != nil {
			return nil, err
		}
		for _, f := range c.Fields {
			req.Header.Add(f[0], f[1])
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		r := &Result{Status: resp.StatusCode}
		if r.Body, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
		r.Fields, r.Trailers = fieldsOf(resp.Header), fieldsOf(resp.Trailer)
		return r, nil
	}, transport.CloseIdleConnections
}

func fieldsOf(h http.Header) (fields []Field) {
	for name, vs := range h {
		for _, v := range vs {
			fields = append(fields, Field{name, v})
		}
	}
	return fields
}

// TestPlayClientsNetHTTP shows that net/http's client passes nearly all cases, and lists the cases in which it is
// known to differ.
func TestPlayClientsNetHTTP(t *testing.T) {
	cases, err := LoadClient("../../testdata/cases/h1-client-public.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 159 {
		t.Fatalf("%d cases, want 159", len(cases))
	}
	// net/http notices on another goroutine that an idle connection is broken. That may be too late for the second
	// request, and on a busy machine is too late for a request that is sent at once.
	cases = slices.DeleteFunc(cases, func(c ClientCase) bool { return len(c.Late) > 0 || c.SecondDelayMS != nil })
	known := []string{"st-ver-20", "te-cl-reuse"}
	log.SetOutput(io.Discard) // net/http logs unsolicited responses
	defer log.SetOutput(os.Stderr)
	failures := PlayClients(t.Context(), Loopback, netHTTP, cases, false, 32)
	for id, f := range failures {
		if !slices.Contains(known, id) {
			t.Errorf("%s: %q", id, f)
		}
	}
	for _, id := range known {
		if failures[id] == nil {
			t.Errorf("%s: passes", id)
		}
	}
}

// TestPlayClientFinds shows that the player notices the mistakes of a client.
func TestPlayClientFinds(t *testing.T) {
	hello, yes, no := "hello", true, false
	good := "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\nA: c\r\n\r\nhello"
	ok := func(x ClientExpect) ClientCase {
		x.Kind, x.Status = "ok", 200
		return ClientCase{Method: "GET", Raw: []byte(good), Then: "keep", Expect: x}
	}
	failing := func(func() (net.Conn, error)) (Fetch, func()) {
		return func(context.Context, *Call) (*Result, error) { return nil, errors.New("out of order") }, func() {}
	}
	for _, tt := range []struct {
		name    string
		subject Subject
		c       ClientCase
		want    string // part of the failure; empty if there must be none
	}{
		{"all is well", netHTTP, ok(ClientExpect{Body: &hello, BodyLen: 5, Reuse: &yes, Headers: []Pair{{"A", "b"}}, HeadersWS: []Pair{{"A", "c"}},
			HeadersJoined: []Pair{{"A", "b, c"}}, HeadersCount: []CountOfField{{"A", 2}}, HeadersAbsent: []string{"B"}, SecondOK: true}), ""},
		{"another body", netHTTP, ok(ClientExpect{Body: new(string)}), "body"},
		{"another length", netHTTP, ok(ClientExpect{BodyLen: 6}), "body of 5"},
		{"a poisoned body", netHTTP, ok(ClientExpect{NeverBody: "hello"}), "DESYNC"},
		{"reuse", netHTTP, ok(ClientExpect{Reuse: &no}), "same connection: true"},
		{"a field", netHTTP, ok(ClientExpect{Headers: []Pair{{"A", "d"}}}), "A: "},
		{"a field but for blanks", netHTTP, ok(ClientExpect{HeadersWS: []Pair{{"A", "d"}}}), "A: "},
		{"a joined field", netHTTP, ok(ClientExpect{HeadersJoined: []Pair{{"A", "b,c"}}}), "A: "},
		{"a number of lines", netHTTP, ok(ClientExpect{HeadersCount: []CountOfField{{"A", 1}}}), "1 lines"},
		{"a field too many", netHTTP, ok(ClientExpect{HeadersAbsent: []string{"a"}}), "none"},
		{"an error", failing, ok(ClientExpect{}), "out of order"},
		{"no error", netHTTP, ClientCase{Method: "GET", Raw: []byte(good), Then: "keep", Expect: ClientExpect{Kind: "error"}}, "want an error"},
		{"strict", netHTTP, ClientCase{Method: "GET", Raw: []byte(good), Then: "keep", Expect: ClientExpect{Kind: "either", Status: 200, Prefer: "error"}}, "strict"},
		{"a panic", panicking, ok(ClientExpect{}), "panics"},
		{"a stray answer", careless, ok(ClientExpect{}), "DESYNC: second"},
		{"a bad request", careless, ClientCase{Method: "GE T", Raw: []byte(good), Then: "close", Expect: ClientExpect{Kind: "error"}}, "malformed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "DESYNC: second" {
				tt.c.Raw = []byte(good + "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON")
			}
			failures := strings.Join(PlayClient(t.Context(), Memory, tt.subject, &tt.c, true), "; ")
			if tt.want == "" && failures != "" || !strings.Contains(failures, tt.want) {
				t.Errorf("failures %q, want %q", failures, tt.want)
			}
		})
	}
}

func panicking(func() (net.Conn, error)) (Fetch, func()) {
	return func(context.Context, *Call) (*Result, error) { panic("oops") }, func() {}
}

// careless is a client that sends and accepts anything.
func careless(dial func() (net.Conn, error)) (Fetch, func()) {
	c, err := dial()
	if err != nil {
		panic(err)
	}
	var rest []byte
	return func(_ context.Context, call *Call) (*Result, error) {
		if _, err := io.WriteString(c, Request(call.Method, call.Path)); err != nil {
			return nil, err
		}
		for {
			r, n, err := Parse(rest, call.Method, false)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				rest = rest[n:]
				return &Result{Status: r.Status, Fields: r.Fields, Body: r.Body}, nil
			}
			b := make([]byte, 4096)
			n, err = c.Read(b)
			if err != nil {
				return nil, err
			}
			rest = append(rest, b[:n]...)
		}
	}, func() { _ = c.Close() }
}
