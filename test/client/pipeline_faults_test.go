package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Each read and write of the first connection fails once, in every way. Whatever happens,
// calls end, with their own answer or an error, and no POST is sent twice.
func TestPipelineTorture(t *testing.T) {
	for _, kind := range wiretest.Faults {
		for at := 1; at <= 16; at++ {
			s := &pipelineServer{answer: namedAll}
			c := gallop.PipelineClient{MaxConns: 2, WriteBufferSize: 1, PipelineNonIdempotent: at%2 == 0}
			synctest.Test(t, func(t *testing.T) {
				var first sync.Once
				c.Addr = "a.test:80"
				c.Dial = func(addr string) (nc net.Conn, err error) {
					nc, err = s.dial(addr)
					first.Do(func() { nc = wiretest.NewFault(nc, at, kind) })
					return nc, err
				}
				var calls []*pipelined
				for i, method := range []string{"GET", "GET", "POST", "PUT", "GET", "POST", "DELETE"} {
					calls = append(calls, callPipeline(&c, method, fmt.Sprint("/", i), time.Minute))
				}
				for i, p := range calls {
					if <-p.done; p.err != nil {
						if kind == wiretest.FaultOctet {
							t.Errorf("%v at %d: call %d: %v", kind, at, i, p.err)
						}
					} else if !strings.HasSuffix(p.body, fmt.Sprint("/", i)) {
						t.Errorf("%v at %d: call %d has %q", kind, at, i, p.body)
					}
				}
				for _, post := range []string{"POST/2", "POST/5"} {
					if n := strings.Count(s.log(), post); n > 1 {
						t.Errorf("%v at %d: %s was sent %d times: %s", kind, at, post, n, s.log())
					}
				}
				time.Sleep(time.Hour)
				if left := servertest.PipelineState(&c); left.Conns > 0 || left.Slots > 0 || s.live.Load() > 0 {
					t.Errorf("%v at %d: left are %d connections, %d slots", kind, at, left.Conns, left.Slots)
				}
			})
		}
	}
}

// There are a thousand callers, some of which give up, and a server that closes connections. Each response belongs to
// its request, and nothing is left.
func TestPipelineManyCallers(t *testing.T) {
	wiretest.CheckLeaks(t)
	ln := memnet.NewListener()
	srv := &gallop.Server{MaxRequestsPerConn: 500, Handler: func(ctx *gallop.RequestCtx) {
		if ctx.QueryArgs().Has("slow") {
			time.Sleep(5 * time.Millisecond)
		}
		ctx.WriteString(string(ctx.Path()))
	}}
	go srv.Serve(ln)
	defer srv.Shutdown()
	c := gallop.PipelineClient{Addr: "a.test:80", MaxConns: 4, MaxIdleConnDuration: 10 * time.Millisecond, DetailedErrors: true,
		Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	var wg sync.WaitGroup
	var good, late, broken atomic.Int64
	for g := range 1000 {
		wg.Go(func() {
			req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
			defer gallop.ReleaseRequest(req)
			defer gallop.ReleaseResponse(resp)
			for i := range 10 {
				path := fmt.Sprintf("/%d/%d", g, i)
				timeout := time.Minute
				req.SetRequestURI("http://a.test" + path)
				if g%100 == 0 {
					req.SetRequestURI("http://a.test" + path + "?slow")
					timeout = 2 * time.Millisecond
				}
				switch err := c.DoTimeout(req, resp, timeout); {
				case err == nil && string(resp.Body()) == path:
					good.Add(1)
				case err == nil:
					t.Errorf("%s was answered with %q", path, resp.Body())
				case errors.Is(err, gallop.ErrTimeout) && g%100 == 0:
					late.Add(1)
				case errors.Is(err, gallop.ErrConnectionClosed):
					broken.Add(1)
				default:
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	wg.Wait()
	if good.Load() < 9800 || good.Load()+late.Load()+broken.Load() != 10000 {
		t.Errorf("%d answers, %d timeouts, %d broken", good.Load(), late.Load(), broken.Load())
	}
	if c.PendingRequests() != 0 {
		t.Errorf("%d calls are pending", c.PendingRequests())
	}
}

// Each server says the same on every connection. Whatever that is, each call ends, and responses keep their order.
func TestPipelineHostileServers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"
	for _, tc := range []struct {
		name string
		says []string // one after the other; then the connection ends
		want string   // what the calls get, "!" for an error
	}{
		{name: "two responses at once", says: []string{ok + "a" + ok + "x"}, want: "ax!"},
		{name: "closes in a head", says: []string{ok + "a", "HTTP/1.1 200 O"}, want: "a!a"}, // the third is sent again,
		{name: "closes in a body", says: []string{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}, want: "!!!"},
		{name: "closes in a chunk", says: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nx"}, want: "!!!"},
		{name: "two lengths", says: []string{"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"}, want: "!!!"},
		{name: "no HTTP", says: []string{"220 smtp.test ESMTP\r\n"}, want: "!!!"},
		{name: "interim responses without an end", says: []string{strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 10_000)}, want: "!!!"},
		{name: "large interim responses", says: []string{strings.Repeat("HTTP/1.1 100 Continue\r\nA: "+strings.Repeat("a", 1000)+"\r\n\r\n", 1000)}, want: "!!!"},
		{name: "a large head", says: []string{"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 4<<20)}, want: "!!!"},
		{name: "many fields", says: []string{"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: a\r\n", 1<<20)}, want: "!!!"},
		{name: "a large body", says: []string{"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"}, want: "!!!"},
		{name: "a switch of protocols", says: []string{"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" + ok + "x"}, want: "!!!"},
		{name: "never answers", says: []string{"", "", ""}, want: "!!!"},
	} {
		for _, secured := range []*tls.Config{nil, servertest.NewTLSPeer(t, "a.test").Config} {
			t.Run(tc.name+map[bool]string{true: ", over TLS"}[secured != nil], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &gallop.PipelineClient{
						Addr: "a.test:80", ReadTimeout: time.Second, MaxResponseBodySize: 1 << 20,
						IsTLS: secured != nil, TLSConfig: &tls.Config{InsecureSkipVerify: true},
						Dial: func(string) (net.Conn, error) { return sayAll(tc.says, secured), nil },
					}
					var calls []*pipelined
					for i := range tc.want {
						calls = append(calls, callPipeline(c, "GET", fmt.Sprint("/", i), 0))
					}
					got := ""
					for _, p := range calls {
						if <-p.done; p.err != nil {
							p.body = "!"
						}
						got += p.body
					}
					if got != tc.want {
						t.Errorf("got %q, want %q", got, tc.want)
					}
					if synctest.Wait(); c.PendingRequests() != 0 || servertest.PipelineState(c).Slots != 0 {
						t.Errorf("left are %d calls, %d slots", c.PendingRequests(), servertest.PipelineState(c).Slots)
					}
					time.Sleep(time.Hour)
				})
			})
		}
	}
}

// sayAll returns a connection to a server that says these texts, whatever it is asked. With a
// configuration the server speaks TLS.
func sayAll(says []string, secured *tls.Config) net.Conn {
	client, below := wiretest.Pipe()
	var server net.Conn = below
	if secured != nil {
		server = tls.Server(below, secured)
	}
	go func() {
		defer server.Close()
		go io.Copy(io.Discard, server)
		for _, text := range says {
			time.Sleep(10 * time.Millisecond)
			_, _ = io.WriteString(server, text)
		}
		time.Sleep(5 * time.Second)
	}()
	return client
}

// All calls that wait for a dial that panics fail, and the next ones do not.
func TestPipelinePanics(t *testing.T) {
	for _, exits := range []bool{false, true} {
		for _, in := range []string{"Dial", "DialContext", "VerifyConnection", "GotConn"} {
			t.Run(fmt.Sprint(in, " Goexit ", exits), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := &bomb{exits: exits}
					peer := servertest.NewTLSPeer(t, "one.test")
					dial := wiretest.Dialer(servePanicking(nil))
					c := &gallop.PipelineClient{Addr: "one.test", Dial: func(string) (net.Conn, error) { return dial() }}
					tick := func() { time.Sleep(time.Second); b.tick() }
					switch in {
					case "Dial":
						c.Dial = func(string) (net.Conn, error) { tick(); return dial() }
					case "DialContext":
						c.DialContext = func(context.Context, string, string) (net.Conn, error) { tick(); return dial() }
					case "VerifyConnection":
						c.IsTLS, c.TLSConfig = true, &tls.Config{RootCAs: peer.Pool}
						c.TLSConfig.VerifyConnection = func(tls.ConnectionState) error { tick(); return nil }
						dial = wiretest.Dialer(servePanicking(peer.Config))
					case "GotConn":
						c.Trace = &gallop.ClientTrace{GotConn: func(gallop.GotConnInfo) { tick() }}
					}
					testPipelinePanic(t, c, exits)
				})
			})
		}
	}
}

func testPipelinePanic(t *testing.T, c *gallop.PipelineClient, exits bool) {
	defer time.Sleep(time.Hour)
	call := func() error {
		var req gallop.Request
		req.SetRequestURI("http://one.test/")
		if c.IsTLS {
			req.URI().SetScheme("https")
		}
		return c.Do(&req, nil)
	}
	endings := make(chan ending)
	for range 3 {
		go func() { endings <- endOf(call) }()
	}
	for range 3 {
		checkEnding(t, <-endings, asError, exits)
	}
	if err := call(); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if n := c.PendingRequests(); n != 0 {
		t.Errorf("%d calls", n)
	}
}
