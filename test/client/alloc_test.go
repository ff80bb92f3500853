package client_test

import (
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// memoryServer serves handler in memory and returns how to dial it.
func memoryServer(t testing.TB, handler gallop.RequestHandler) gallop.DialFunc {
	ln := memnet.NewListener()
	s := &gallop.Server{Handler: handler}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.Serve(ln)
	}()
	t.Cleanup(func() {
		ln.Close()
		s.Close()
		<-served
	})
	return func(string) (net.Conn, error) { return ln.Dial() }
}

func BenchmarkHostClientInMemory(b *testing.B) {
	answer := []byte("Hello, world!")
	c := &gallop.HostClient{Addr: "a", Dial: memoryServer(b, func(ctx *gallop.RequestCtx) { ctx.Success("text/plain", answer) })}
	var req gallop.Request
	var resp gallop.Response
	req.SetRequestURI("http://example.com/path")
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Do(&req, &resp); err != nil || len(resp.Body()) != len(answer) {
			b.Fatal(err, resp.String())
		}
	}
}

func TestClientAllocatesNothing(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	dial := memoryServer(t, func(ctx *gallop.RequestCtx) { ctx.SetBody(ctx.PostBody()) })
	host, client := &gallop.HostClient{Addr: "a", Dial: dial}, &gallop.Client{Dial: dial}
	for _, tt := range []struct {
		name string
		do   func(req *gallop.Request, resp *gallop.Response) error
	}{
		{"HostClient", host.Do},
		{"Client", client.Do},
	} {
		for _, body := range []string{"", "hello"} {
			t.Run(tt.name+" "+body, func(t *testing.T) {
				var req gallop.Request
				var resp gallop.Response
				req.SetRequestURI("http://user:password@example.com/path?a=b")
				if body != "" {
					req.Header.SetMethod(gallop.MethodPost)
				}
				allocs := testing.AllocsPerRun(200, func() {
					req.SetBodyString(body)
					if err := tt.do(&req, &resp); err != nil || string(resp.Body()) != body {
						t.Fatalf("%v, %q", err, resp.Body())
					}
				})
				if allocs > 0 {
					t.Errorf("%v allocations", allocs)
				}
			})
		}
	}
}

// Calls that wait for each other's connections allocate no more than others.
func TestClientWaitsWithoutAllocating(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	const callers, calls = 8, 2000
	c := &gallop.HostClient{Addr: "a", MaxConns: 1, MaxConnWaitTimeout: -1, Dial: memoryServer(t, func(ctx *gallop.RequestCtx) { ctx.SetBodyString("hello") })}
	round := func() {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				var req gallop.Request
				var resp gallop.Response
				req.SetRequestURI("http://example.com/")
				for range calls {
					if err := c.Do(&req, &resp); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	round()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	round()
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > callers*calls/20 {
		t.Errorf("%d allocations in %d calls", n, callers*calls)
	}
}
