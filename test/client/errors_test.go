package client_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// failure is a call that fails, and what its error has to say.
type failure struct {
	name    string
	url     string    // http://h.test/a?b=c unless set
	serve   string    // what the server sends after the request; then the connection is closed
	stalls  bool      // the server keeps the connection open
	deaf    bool      // the server reads nothing
	dial    error     // of Dial
	dialer  bool      // the default dialer is used
	body    io.Reader // of the request
	set     func(*gallop.Client)
	phase   string
	says    string // besides method, URL and phase
	is      error  // what errors.Is finds
	bare    error  // what a call returns without DetailedErrors, or nil
	timeout bool
}

var failures = []failure{
	{name: "dial refused", url: "http://127.0.0.1:1/a", dialer: true, phase: "dialing", says: "127.0.0.1:1", is: syscall.ECONNREFUSED},
	{name: "Dial fails", dial: errBoomDial, phase: "dialing", says: "boom", is: errBoomDial},
	{name: "no such name", url: "http://" + strings.Repeat("a", 64) + ".test/a", dialer: true, phase: "dialing", says: "lookup"},
	{name: "TLS", url: "https://h.test/a", serve: "HTTP/1.1 400 no\r\n\r\n", phase: "TLS handshake", says: `"h.test:443"`},
	{name: "timeout while writing", deaf: true, body: endless{}, phase: "writing the request", is: gallop.ErrTimeout, bare: gallop.ErrTimeout, timeout: true},
	{name: "body of the request", body: io.MultiReader(strings.NewReader("x"), broken{}), stalls: true, phase: "reading the request body", is: errBoomDial},
	{name: "timeout before the response", stalls: true, phase: "waiting for the response", is: gallop.ErrTimeout, bare: gallop.ErrTimeout, timeout: true},
	{name: "timeout in the head", serve: "HTTP/1.1 200", stalls: true, phase: "reading the response head", is: context.DeadlineExceeded, bare: gallop.ErrTimeout, timeout: true},
	{name: "timeout in the body", serve: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", stalls: true, phase: "reading the response body", is: gallop.ErrTimeout, bare: gallop.ErrTimeout, timeout: true},
	{name: "connection closed", phase: "before the first byte of the response", is: gallop.ErrConnectionClosed, bare: gallop.ErrConnectionClosed},
	{name: "head cut off", serve: "HTTP/1.1 200", phase: "reading the response head", is: gallop.ErrReadingResponseHeaders},
	{name: "malformed head", serve: "SSH-2.0-x\r\n\r\n", phase: "reading the response head", says: "status line"},
	{name: "head too large", serve: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 5000), phase: "reading the response head", says: "MaxResponseHeaderBytes", is: gallop.ErrSmallReadBuffer},
	{name: "body cut off", serve: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", phase: "reading the response body", is: io.ErrUnexpectedEOF, bare: io.ErrUnexpectedEOF},
	{name: "chunk", serve: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", phase: "reading the response body", says: "chunk"},
	{name: "body too large", serve: "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", set: func(c *gallop.Client) { c.MaxResponseBodySize = 9 },
		phase: "reading the response body", is: gallop.ErrBodyTooLarge, bare: gallop.ErrBodyTooLarge},
	{name: "no scheme", url: "example.com/x", phase: "preparing the request", says: `no scheme; use "http://example.com/x"`},
	{name: "no scheme, a port", url: "localhost:8080/x?y", phase: "preparing the request", says: `no scheme; use "http://localhost:8080/x?y"`},
	{name: "no scheme, an address", url: "127.0.0.1:8080/x", phase: "preparing the request", says: `no scheme; use "http://127.0.0.1:8080/x"`},
	{name: "no scheme, a password", url: "me:hush@example.com/x", phase: "preparing the request", says: `use "http://example.com/x"`},
	{name: "no host", url: "/x", phase: "preparing the request", says: "no host"},
	{name: "another scheme", url: "ftp://example.com/x", phase: "preparing the request", says: `unsupported scheme "ftp"; use http or https`},
	{name: "malformed URL", url: "http://me:hush@a b/", phase: "preparing the request", is: gallop.ErrInvalidURI},
	{name: "user information", url: "http://me:hush@h.test/a", serve: "x\r\n\r\n", phase: "reading the response head"},
	{name: "redirect to nonsense", serve: "HTTP/1.1 302 x\r\nContent-Length: 0\r\nLocation: ftp://h.test/\r\n\r\n",
		set: func(c *gallop.Client) { c.MaxRedirects = 3 }, phase: "following a redirect", says: "Location", is: gallop.ErrInvalidLocation},
	{name: "redirect without Location", serve: "HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n",
		set: func(c *gallop.Client) { c.MaxRedirects = 3 }, phase: "following a redirect", is: gallop.ErrMissingLocation, bare: gallop.ErrMissingLocation},
}

var errBoomDial = errors.New("boom")

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// broken is a body that cannot be read.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBoomDial }

// client returns a client that fails as f says.
func (f *failure) client(t *testing.T) *gallop.Client {
	c := &gallop.Client{}
	if !f.dialer {
		c.Dial = func(string) (net.Conn, error) {
			if f.dial != nil {
				return nil, f.dial
			}
			client, server := memnet.Pipe()
			t.Cleanup(func() { server.Close() })
			if !f.deaf {
				go f.respond(server)
			}
			return client, nil
		}
	}
	if f.set != nil {
		f.set(c)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func (f *failure) respond(c net.Conn) {
	c.Read(make([]byte, 4<<10))
	io.WriteString(c, f.serve)
	if !f.stalls {
		c.Close()
	}
}

func (f *failure) request() *gallop.Request {
	req := &gallop.Request{}
	req.SetRequestURI(f.url)
	if f.url == "" {
		req.SetRequestURI("http://h.test/a?b=c")
	}
	if f.body != nil {
		req.Header.SetMethod("PUT")
		req.SetBodyStream(f.body, -1)
	}
	if f.timeout {
		req.SetTimeout(50 * time.Millisecond)
	}
	return req
}

// check reports what is missing in err.
func (f *failure) check(t *testing.T, err error) {
	t.Helper()
	method, url := "GET", strings.Replace(f.url, "me:hush@", "", 1)
	if url == "" {
		url = "http://h.test/a?b=c"
	}
	if f.body != nil {
		method = "PUT"
	}
	text := err.Error()
	for _, part := range []string{"gallop: " + method + " " + strings.Replace(url, " ", "%20", 1) + ": ", f.phase, f.says} {
		if !strings.Contains(text, part) && !(part == "dialing" && strings.Contains(text, ": dial ")) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
	if strings.Contains(text, "hush") || strings.Count(text, "gallop: ") > 1 || strings.Count(text, url) > 2 {
		t.Errorf("a password or a repetition in %q", text)
	}
	if f.is != nil && !errors.Is(err, f.is) {
		t.Errorf("%q is not %v", text, f.is)
	}
	var n net.Error
	if errors.As(err, &n); f.timeout && (n == nil || !n.Timeout()) {
		t.Errorf("%q is no timeout", text)
	}
}

// Every error of a call has the method, the URL and the phase, except for errors that programs for fasthttp compare,
// which have them with DetailedErrors only. A trace always has them.
func TestClientErrorsNameTheCall(t *testing.T) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			if f.timeout { // in virtual time, the limit ends only when nothing else is left to do
				synctest.Test(t, f.wantErrors)
			} else {
				f.wantErrors(t)
			}
		})
	}
}

// wantErrors makes calls that fail, and checks their errors.
func (f *failure) wantErrors(t *testing.T) {
	for _, detailed := range []bool{false, true} {
		c := f.client(t)
		c.DetailedErrors = detailed
		var traced *gallop.CallError
		ctx := gallop.WithClientTrace(context.Background(), &gallop.ClientTrace{CallFailed: func(err *gallop.CallError) { traced = err }})
		err := c.DoContext(ctx, f.request(), nil)
		switch {
		case err == nil:
			t.Fatal("no error")
		case f.bare != nil && !detailed:
			if err != f.bare {
				t.Errorf("%T %v instead of %v itself", err, err, f.bare)
			}
		default:
			f.check(t, err)
		}
		if traced == nil {
			t.Fatal("the trace has no error")
		}
		if f.check(t, traced); traced.Method == "" || traced.URL == "" || traced.Phase == "" {
			t.Errorf("%+v", traced)
		}
	}
}

// Other clients name the call, too.
func TestClientErrorsOfEachClient(t *testing.T) {
	f := failure{serve: "SSH-2.0-x\r\n\r\n", phase: "reading the response head", says: "status line"}
	dial := f.client(t).Dial
	hc := &gallop.HostClient{Addr: "h.test", Dial: dial}
	for name, c := range map[string]gallop.Doer{
		"HostClient":     hc,
		"PipelineClient": &gallop.PipelineClient{Addr: "h.test", Dial: dial},
		"LBClient":       &gallop.LBClient{Clients: []gallop.BalancingClient{hc}},
	} {
		t.Run(name, func(t *testing.T) {
			f.check(t, c.DoContext(t.Context(), f.request(), nil))
		})
	}
	var traced *gallop.CallError
	pc := &gallop.PipelineClient{Addr: "h.test", Dial: dial, Trace: &gallop.ClientTrace{CallFailed: func(err *gallop.CallError) { traced = err }}}
	if err := pc.Do(f.request(), nil); err == nil || traced == nil {
		t.Errorf("PipelineClient: %v, and the trace has %v", err, traced)
	} else {
		f.check(t, traced)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]gallop.Doer{"HostClient": hc, "PipelineClient": &gallop.PipelineClient{Addr: "h.test", Dial: dial},
		"LBClient": &gallop.LBClient{Clients: []gallop.BalancingClient{hc}}} {
		t.Run(name+", cancelled", func(t *testing.T) {
			f := failure{phase: "waiting for a connection", is: context.Canceled}
			f.check(t, c.DoContext(ctx, f.request(), nil))
		})
	}
}

// A body that is a stream is read when the request may be gone. Its errors name the call nevertheless.
func TestClientErrorsOfBodyStreams(t *testing.T) {
	for _, f := range []failure{
		{name: "cut off", serve: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", phase: "reading the response body", is: io.ErrUnexpectedEOF, bare: io.ErrUnexpectedEOF},
		{name: "chunk", serve: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", phase: "reading the response body", says: "chunk"},
	} {
		t.Run(f.name, func(t *testing.T) {
			for _, detailed := range []bool{false, true} {
				c := f.client(t)
				c.StreamResponseBody, c.DetailedErrors = true, detailed
				req, resp := f.request(), &gallop.Response{}
				if err := c.Do(req, resp); err != nil {
					t.Fatal(err)
				}
				req.Reset()
				_, err := io.Copy(&bytes.Buffer{}, resp.BodyStream())
				if f.bare != nil && !detailed {
					if err != f.bare {
						t.Errorf("%T %v", err, err)
					}
					continue
				}
				f.check(t, err)
			}
		})
	}
}

// The address stands in an error if it is not in the URL.
func TestClientErrorsNameTheAddress(t *testing.T) {
	f := failure{serve: "x\r\n\r\n"}
	hc := &gallop.HostClient{Addr: "other.test:81", Dial: f.client(t).Dial}
	if err := hc.Do(f.request(), nil); !strings.Contains(err.Error(), "http://h.test/a?b=c: reading the response head (other.test:81): ") {
		t.Error(err)
	}
	var call *gallop.CallError
	hc = &gallop.HostClient{Addr: "other.test:81", IsTLS: true, Dial: f.client(t).Dial, TLSConfig: &tls.Config{}}
	req := f.request()
	req.URI().SetScheme("https")
	if err := hc.Do(req, nil); !errors.As(err, &call) || call.Addr != "other.test:81" || call.Phase != "TLS handshake" {
		t.Errorf("%+v", err)
	}
}
