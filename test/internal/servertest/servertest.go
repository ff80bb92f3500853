// Package servertest helps the tests of package gallop that use only what the package exports. It has the transports on
// which a server runs in memory, servers to test with, and what tests ask them. Helpers that do not need package gallop
// are in internal/wiretest.
package servertest

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// Start serves a listener in memory until the test ends.
func Start(t *testing.T, s *gallop.Server) *memnet.Listener {
	t.Helper()
	ln := memnet.NewListener()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln
}

// Ask sends the request and returns everything that arrives until the server closes the connection.
func Ask(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("%v after %q", err, b)
	}
	return string(b)
}

// PostTo returns a POST request with a body and its Content-Length.
func PostTo(path, body string, lines ...string) string {
	return wiretest.Request("POST", path, append(lines, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// Say is a handler that responds with one line: the method, the path and the quoted body of the request.
func Say(ctx *gallop.RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %q", ctx.Method(), ctx.Path(), ctx.PostBody())
}

// Quiet is a Logger that drops everything.
var Quiet gallop.Logger = log.New(io.Discard, "", 0)

// Log is a Logger that keeps what is logged. The zero value is ready, and calls may run at the same time.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Printf adds a line.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.b, format+"\n", args...)
}

// String returns all lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// WantNoPanic fails the test if a line mentions a panic.
func (l *Log) WantNoPanic(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "panic") {
			t.Errorf("log: %s", line)
		}
	}
}
