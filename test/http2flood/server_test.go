// Package http2flood tests an HTTP/2 server against hostile clients on real sockets, on event loops and on goroutines. Good
// clients that use as much as they may are served beside them.
package http2flood

import (
	"io"
	"net"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// streams and handlers are the limits on concurrent streams and handlers of the servers here.
const (
	streams  = 100
	handlers = 250
)

// floodTime returns how long a flood lasts.
func floodTime() time.Duration {
	switch {
	case wiretest.Long():
		return time.Minute
	case servertest.RaceEnabled: // CI sends the same frames for longer, without the race detector
		return time.Second
	case !wiretest.Full():
		return 400 * time.Millisecond
	}
	return 3 * time.Second
}

// site is a server with the handler of the tests.
type site struct {
	gallop.Server
	addr    string
	log     servertest.Log
	running atomic.Int64
	most    atomic.Int64 // the most handlers at a time
	served  atomic.Int64
	quiet   latency // of a good client before an attack
	loud    latency // of a good client during an attack
}

// String returns the name of the engine.
func (s *site) String() string {
	if s.Engine == gallop.EngineLoop {
		return "loop"
	}
	return "goroutine"
}

// start starts a server on a socket until the test ends. change changes its settings before; it may be nil.
func start(t *testing.T, over gallop.EngineType, change func(*gallop.Server)) *site {
	t.Helper()
	s := &site{}
	s.init(over)
	if change != nil {
		change(&s.Server)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, ln)
	return s
}

// serve serves the connections of a listener until the test ends.
func (s *site) serve(t *testing.T, ln net.Listener) {
	s.addr = ln.Addr().String()
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.log.WantNoPanic(t)
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
}

// init sets the fields of the server, which does not serve yet.
func (s *site) init(over gallop.EngineType) {
	s.Handler, s.Engine, s.Logger = s.handle, over, &s.log
	s.Protocols = &gallop.Protocols{}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2 = &gallop.HTTP2Config{MaxConcurrentStreams: streams}
	s.MaxConcurrentHandlers = handlers
}

// handle counts the handlers that run. Path "/slow" waits a while, "/big" has a body of ?n bytes, "/read" reads the request
// body as a stream, "/late" reads it after a while, "/body" reads it whole, and "/hang" reads nothing.
func (s *site) handle(ctx *gallop.RequestCtx) {
	n := s.running.Add(1)
	defer s.running.Add(-1)
	for was := s.most.Load(); n > was && !s.most.CompareAndSwap(was, n); was = s.most.Load() {
	}
	s.served.Add(1)
	switch string(ctx.Path()) {
	case "/slow":
		time.Sleep(20 * time.Millisecond)
	case "/hang":
		time.Sleep(200 * time.Millisecond)
	case "/big":
		size, _ := strconv.Atoi(string(ctx.QueryArgs().Peek("n")))
		ctx.SetBody(zeros[:min(size, len(zeros))])
		return
	case "/read":
		if body := ctx.RequestBodyStream(); body != nil {
			_, _ = io.Copy(io.Discard, body)
		}
	case "/late":
		time.Sleep(time.Millisecond)
		_, _ = io.Copy(io.Discard, ctx.RequestBodyStream())
	case "/body":
		_ = ctx.PostBody()
	case "/has":
		if ctx.RequestBodyStream() == nil {
			ctx.SetStatusCode(gallop.StatusTeapot)
		}
	case "/echo":
		stream, err := ctx.StreamResponse()
		if err != nil {
			return
		}
		_, _ = io.Copy(stream, ctx.RequestBodyStream())
		return
	}
	ctx.SetBodyString("ok")
}

var zeros [1 << 20]byte

// liveHeap collects garbage and returns how many bytes are left.
func liveHeap() int64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
