package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp"
)

// target is the target of every request, and the body of every response.
const target = "/foo/bar?baz=123"

var targetBytes = []byte(target)

// caller is a client under comparison. newCall returns a function with which one goroutine makes calls. Each call is
// a GET of target whose response is checked.
type caller interface {
	newCall() (call func() error)
	close()
}

// clientPeer is a client under comparison, with the server and the in-memory network of its own project.
type clientPeer struct {
	name      string // value of the "server" key in the benchmark's name
	serve     func(net.Listener) error
	newCaller func(dial func() (net.Conn, error), conns int) caller
	listen    network
}

var clientPeers = []clientPeer{
	{"fasthttp", serveTargetFasthttp, newFasthttpCaller, listenFasthttpMemory},
	{"gallop", serveTargetGallop, newGallopCaller, listenMemory},
	{"nethttp", serveTargetNetHTTP, newNetHTTPCaller, listenFasthttpMemory},
}

// goroutinesPeer is gallop without event loops.
var goroutinesPeer = clientPeer{"gallop-goroutines", serveTargetGoroutines, newGallopCaller, listenMemory}

// floorPeer does not use HTTP.
var floorPeer = clientPeer{"floor", serveFloor, newFloorCaller, listenMemory}

// eachClient runs f as one sub-benchmark for each client.
func eachClient(b *testing.B, f func(*testing.B, clientPeer)) {
	for _, p := range clientPeers {
		b.Run("server="+p.name, func(b *testing.B) { f(b, p) })
	}
}

func wrongAnswer(status int, body []byte) error {
	if status == http.StatusOK && bytes.Equal(body, targetBytes) {
		return nil
	}
	return fmt.Errorf("response with status %d and body %.40q", status, body)
}

func serveTargetFasthttp(ln net.Listener) error {
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { _, _ = ctx.Write(ctx.RequestURI()) }}
	return s.Serve(ln)
}

func serveTargetGallop(ln net.Listener) error { return serveTarget(ln, gallop.EngineAuto) }

func serveTargetGoroutines(ln net.Listener) error { return serveTarget(ln, gallop.EngineGoroutine) }

func serveTarget(ln net.Listener, engine gallop.EngineType) error {
	s := &gallop.Server{
		Handler: func(ctx *gallop.RequestCtx) { _, _ = ctx.Write(ctx.RequestURI()) },
		Engine:  engine,
	}
	return s.Serve(ln)
}

func serveTargetNetHTTP(ln net.Listener) error {
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.RequestURI)
	})}
	return s.Serve(ln)
}

type gallopCaller struct{ *gallop.HostClient }

func newGallopCaller(dial func() (net.Conn, error), conns int) caller {
	return gallopCaller{&gallop.HostClient{
		Addr:               "bench.test:80",
		Dial:               func(string) (net.Conn, error) { return dial() },
		MaxConns:           conns,
		MaxConnWaitTimeout: time.Minute,
	}}
}

func (c gallopCaller) close() { c.CloseIdleConnections() }

func (c gallopCaller) newCall() func() error {
	req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
	req.SetRequestURI("http://bench.test" + target)
	return func() error {
		if err := c.Do(req, resp); err != nil {
			return err
		}
		return wrongAnswer(resp.StatusCode(), resp.Body())
	}
}

type fasthttpCaller struct{ *fasthttp.HostClient }

func newFasthttpCaller(dial func() (net.Conn, error), conns int) caller {
	return fasthttpCaller{&fasthttp.HostClient{
		Addr:               "bench.test:80",
		Dial:               func(string) (net.Conn, error) { return dial() },
		MaxConns:           conns,
		MaxConnWaitTimeout: time.Minute,
	}}
}

func (c fasthttpCaller) close() { c.CloseIdleConnections() }

func (c fasthttpCaller) newCall() func() error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	req.SetRequestURI("http://bench.test" + target)
	return func() error {
		if err := c.Do(req, resp); err != nil {
			return err
		}
		return wrongAnswer(resp.StatusCode(), resp.Body())
	}
}

type netHTTPCaller struct{ *http.Transport }

func newNetHTTPCaller(dial func() (net.Conn, error), conns int) caller {
	return netHTTPCaller{&http.Transport{
		DialContext:         func(context.Context, string, string) (net.Conn, error) { return dial() },
		MaxConnsPerHost:     conns,
		MaxIdleConns:        conns,
		MaxIdleConnsPerHost: conns,
		DisableCompression:  true,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{},
	}}
}

func (c netHTTPCaller) close() { c.CloseIdleConnections() }

func (c netHTTPCaller) newCall() func() error {
	req, err := http.NewRequest(http.MethodGet, "http://bench.test"+target, nil)
	if err != nil {
		panic(err)
	}
	var body bytes.Buffer
	return func() error {
		resp, err := c.RoundTrip(req)
		if err != nil {
			return err
		}
		body.Reset()
		_, err = body.ReadFrom(resp.Body)
		return errors.Join(err, resp.Body.Close(), wrongAnswer(resp.StatusCode, body.Bytes()))
	}
}

// floorCaller writes a request and reads a response of fixed sizes. If there are fewer connections than callers, it
// takes them from a channel. No client can be faster over such connections.
type floorCaller struct {
	dial func() (net.Conn, error)
	idle chan net.Conn
	all  chan net.Conn
}

const (
	floorRequest = "GET " + target + " HTTP/1.1\r\nHost: bench.test\r\nUser-Agent: gallop\r\n\r\n"
	floorAnswer  = "HTTP/1.1 200 OK\r\nServer: gallop\r\nDate: Sat, 01 Jan 2000 00:00:00 GMT\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 16\r\n\r\n" + target
)

func serveFloor(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 4096)
			answer := []byte(floorAnswer)
			for {
				if n, err := c.Read(buf); err != nil || !bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
					return
				}
				if _, err := c.Write(answer); err != nil {
					return
				}
			}
		}()
	}
}

func newFloorCaller(dial func() (net.Conn, error), conns int) caller {
	f := &floorCaller{dial: dial, idle: make(chan net.Conn, conns), all: make(chan net.Conn, conns)}
	for range conns {
		f.idle <- nil
	}
	return f
}

func (f *floorCaller) close() {
	for range len(f.all) {
		_ = (<-f.all).Close()
	}
}

func (f *floorCaller) newCall() func() error {
	request, buf := []byte(floorRequest), make([]byte, len(floorAnswer))
	return func() (err error) {
		c := <-f.idle
		if c == nil {
			if c, err = f.dial(); err != nil {
				return err
			}
			f.all <- c
		}
		defer func() { f.idle <- c }()
		if _, err := c.Write(request); err != nil {
			return err
		}
		if _, err = io.ReadFull(c, buf); err != nil {
			return err
		}
		return wrongAnswer(http.StatusOK, buf[len(buf)-len(target):])
	}
}
