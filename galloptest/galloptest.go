// Package galloptest runs handlers in tests. The package connects a real server and a real client in memory, without a
// network.
//
// The function [Do] sends one request and returns the response. If a test needs a client, several requests or server settings, use
// [Serve] or [Start]. Both functions run a server until the test ends. All functions also work in a testing/synctest bubble.
//
// A RequestCtx that a test makes itself has no server and no connection. Without a server, methods such as
// RequestCtx.StreamResponse, HijackConn and EarlyHints do nothing or fail. With this package, all methods of the
// RequestCtx work.
package galloptest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// baseURL is the URL that Serve and Start return. Every other host reaches the same server.
const baseURL = "http://example.com"

// Serve serves h until t ends. Serve returns a client and the base URL http://example.com. For every http URL, the client connects
// to this server, regardless of the host and port in the URL. You may set the client's fields before its first call. See [Start]
// for what happens when t ends.
func Serve(t testing.TB, h gallop.RequestHandler) (*gallop.Client, string) {
	t.Helper()
	return Start(t, &gallop.Server{Handler: h})
}

// Start runs the server s until t ends. Like [Serve], Start returns a client and a base URL. After t and its subtests have ended,
// Start closes the connections and waits for handlers that still run. If s has neither an ErrorLog nor a Logger, the server logs
// to the log of t.
func Start(t testing.TB, s *gallop.Server) (*gallop.Client, string) {
	t.Helper()
	logger := &testLogger{t: t}
	if s.Logger == nil && s.ErrorLog == nil {
		s.Logger = logger
	}
	c, stop := start(s)
	t.Cleanup(func() {
		t.Helper()
		defer logger.end()
		c.CloseIdleConnections()
		s.Close()
		if err := stop(); err != nil {
			t.Errorf("galloptest: the server has failed: %v", err)
		}
	})
	return c, baseURL
}

// Do calls h once with req, and returns the response when it has arrived completely. A request without a host gets
// the host example.com. If there is no response, for example because h panics with gallop.ErrAbortHandler, the function panics. To
// test the error that a client gets, use [Serve].
//
// The function waits until h has returned. The exception is a response that switches protocols: a 101, or a 2xx to CONNECT. If the
// protocol switches, the response's body stream is the connection, an io.ReadWriteCloser that the caller must close.
//
// The function skips interim responses. To see the interim responses of EarlyHints, for example, set OnInterim on the client that
// [Serve] returns.
func Do(h gallop.RequestHandler, req *gallop.Request) *gallop.Response {
	s := &gallop.Server{Handler: h}
	c, stop := start(s)
	c.MaxIdemponentCallAttempts = 1
	if len(req.URI().Host()) == 0 {
		req.SetHost("example.com")
	}
	c.StreamResponseBody = mayUpgrade(req) // so that the connection is the body
	resp := new(gallop.Response)
	err := c.Do(req, resp)
	if err == nil && resp.IsBodyStream() && !isUpgraded(req, resp) {
		resp.Body() // reads it
		err = resp.BodyErr()
	}
	end := func() {
		c.CloseIdleConnections()
		s.Shutdown()
		stop()
	}
	if err == nil && resp.IsBodyStream() {
		go end()
	} else {
		end()
	}
	if err != nil {
		panic(fmt.Sprintf("galloptest: no response to %s %s: %v", req.Header.Method(), req.URI().FullURI(), err))
	}
	return resp
}

// mayUpgrade reports whether a response to req may switch protocols.
func mayUpgrade(req *gallop.Request) bool {
	return req.Header.ConnectionUpgrade() || req.Header.IsConnect()
}

// isUpgraded reports whether the body of resp is a connection.
func isUpgraded(req *gallop.Request, resp *gallop.Response) bool {
	status := resp.StatusCode()
	return status == gallop.StatusSwitchingProtocols || req.Header.IsConnect() && status >= 200 && status < 300
}

// start serves with s, and returns a client for it. stop returns what Serve has returned, and waits for that.
func start(s *gallop.Server) (c *gallop.Client, stop func() error) {
	ln := memnet.NewListener()
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	c = &gallop.Client{DialContext: ln.DialContext}
	return c, func() error { return <-served }
}

// testLogger is a gallop.Logger that writes to the log of a test until that ends.
type testLogger struct {
	mu    sync.Mutex
	t     testing.TB
	ended bool
}

// Printf implements gallop.Logger.
func (l *testLogger) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.t.Logf("gallop: "+format, args...)
	}
}

func (l *testLogger) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}
