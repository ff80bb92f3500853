package gallop_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// echoServer answers each request with what it saw of it, as testdata/cases expects,
// and counts how often a handler ran.
type echoServer struct {
	gallop.Server
	calls atomic.Int64
	log   testLog
}

// newEchoServer returns a server with the default limits. With stream, the handler
// reads the body; without, the server does before it calls the handler, and what the
// handler was given is overwritten after it.
func newEchoServer(stream bool) *echoServer {
	s := &echoServer{}
	s.StreamRequestBody = stream
	s.PoisonReleased = !stream
	s.Logger = &s.log
	s.Handler = func(ctx *gallop.RequestCtx) {
		s.calls.Add(1)
		echo(ctx, stream)
	}
	return s
}

func echo(ctx *gallop.RequestCtx, stream bool) {
	path := string(ctx.Path())
	switch {
	case strings.HasPrefix(path, "/_/status/"):
		code, _ := strconv.Atoi(strings.TrimPrefix(path, "/_/status/"))
		ctx.SetStatusCode(code)
		ctx.SetBodyString("xbody")
		return
	case path == "/_/stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			_, _ = w.WriteString("part1,")
			_ = w.Flush()
			_, _ = w.WriteString("part2")
		})
		return
	}
	e := wiretest.Echo{
		Method:  wiretest.Latin1(ctx.Method()),
		URI:     wiretest.Latin1(ctx.RequestURI()),
		Path:    wiretest.Latin1(ctx.Path()),
		Host:    wiretest.Latin1(ctx.Host()),
		Headers: []wiretest.Pair{},
		Body:    []byte{},
	}
	for name, value := range ctx.Request.Header.All() {
		e.Headers = append(e.Headers, wiretest.Pair{wiretest.Latin1(name), wiretest.Latin1(value)})
	}
	var err error
	switch {
	case path == "/_/nobody":
	case !stream:
		e.Body = append(e.Body, ctx.PostBody()...)
	case ctx.RequestBodyStream() != nil:
		e.Body, err = io.ReadAll(ctx.RequestBodyStream())
	}
	if err != nil {
		ctx.SetStatusCode(gallop.StatusBadRequest)
		ctx.SetConnectionClose()
		return
	}
	body, err := json.Marshal(&e)
	if err != nil {
		panic(err)
	}
	ctx.SetContentType("application/json")
	ctx.SetBody(body)
}

// testLog keeps what a server logs.
type testLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *testLog) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

// wantNoPanic fails the test if a line speaks of a panic.
func (l *testLog) wantNoPanic(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, "panic") {
			t.Errorf("log: %s", line)
		}
	}
}

// loadCases returns the server cases, or those that keep takes.
func loadCases(t testing.TB, keep func(*wiretest.Case) bool) (cases []wiretest.Case) {
	t.Helper()
	all, err := wiretest.Load("testdata/cases/h1-server-public.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if keep == nil || keep(&c) {
			cases = append(cases, c)
		}
	}
	return cases
}

// small reports whether a case is short and sent at once.
func small(c *wiretest.Case) bool {
	return len(c.RawParts) == 0 && len(c.Raw) < 2<<10 && len(c.Steps) == 0
}
