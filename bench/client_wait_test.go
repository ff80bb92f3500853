package bench

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp"
)

// In these benchmarks all callers share one connection to a server that takes slowAnswer for each response.
// A call that has waited for maxConnWait fails, and counts as an operation.

func BenchmarkClientGetEndToEndWaitConn1Inmemory(b *testing.B)    { benchWaitConn(b, 1) }
func BenchmarkClientGetEndToEndWaitConn10Inmemory(b *testing.B)   { benchWaitConn(b, 10) }
func BenchmarkClientGetEndToEndWaitConn100Inmemory(b *testing.B)  { benchWaitConn(b, 100) }
func BenchmarkClientGetEndToEndWaitConn1000Inmemory(b *testing.B) { benchWaitConn(b, 1000) }

const (
	slowAnswer  = 50 * time.Millisecond
	maxConnWait = time.Second
)

func benchWaitConn(b *testing.B, callers int) {
	for _, p := range []clientPeer{
		{name: "fasthttp", serve: serveSlowFasthttp, newCaller: newWaitingFasthttp},
		{name: "gallop", serve: serveSlowGallop, newCaller: newWaitingGallop},
		{name: "nethttp", serve: serveSlowNetHTTP, newCaller: newWaitingNetHTTP},
	} {
		b.Run("server="+p.name, func(b *testing.B) { benchCallsOver(b, p, listenMemory, callers, 1) })
	}
}

// patientCaller accepts that no connection becomes free.
type patientCaller struct {
	caller
	full func(error) bool
}

func (c patientCaller) newCall() func() error {
	call := c.caller.newCall()
	return func() error {
		if err := call(); err != nil && !c.full(err) {
			return err
		}
		return nil
	}
}

func newWaitingGallop(dial func() (net.Conn, error), conns int) caller {
	c := newGallopCaller(dial, conns).(gallopCaller)
	c.MaxConnWaitTimeout = maxConnWait
	return patientCaller{c, func(err error) bool { return errors.Is(err, gallop.ErrNoFreeConns) }}
}

func newWaitingFasthttp(dial func() (net.Conn, error), conns int) caller {
	c := newFasthttpCaller(dial, conns).(fasthttpCaller)
	c.MaxConnWaitTimeout = maxConnWait
	return patientCaller{c, func(err error) bool { return errors.Is(err, fasthttp.ErrNoFreeConns) }}
}

// timedTransport ends a call after maxConnWait, because http.Transport has no limit for the wait alone.
type timedTransport struct{ *http.Client }

func newWaitingNetHTTP(dial func() (net.Conn, error), conns int) caller {
	transport := newNetHTTPCaller(dial, conns).(netHTTPCaller).Transport
	return patientCaller{timedTransport{&http.Client{Transport: transport, Timeout: maxConnWait}}, os.IsTimeout}
}

func (c timedTransport) close() { c.CloseIdleConnections() }

func (c timedTransport) newCall() func() error {
	return func() error {
		resp, err := c.Get("http://bench.test" + target)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		return errors.Join(err, resp.Body.Close(), wrongAnswer(resp.StatusCode, body))
	}
}

func serveSlowGallop(ln net.Listener) error {
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		time.Sleep(slowAnswer)
		_, _ = ctx.Write(ctx.RequestURI())
	}}
	return s.Serve(ln)
}

func serveSlowFasthttp(ln net.Listener) error {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		time.Sleep(slowAnswer)
		_, _ = ctx.Write(ctx.RequestURI())
	}}
	return s.Serve(ln)
}

func serveSlowNetHTTP(ln net.Listener) error {
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(slowAnswer)
		_, _ = io.WriteString(w, r.RequestURI)
	})}
	return s.Serve(ln)
}
