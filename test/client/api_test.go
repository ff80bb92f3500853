package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// roundTripper is a function as a RoundTripper.
type roundTripper func(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error)

func (f roundTripper) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
	return f(hc, req, resp)
}

// doers returns a Doer of each kind that makes its attempts by t.
func doers(t gallop.RoundTripper) map[string]gallop.Doer {
	host := &gallop.HostClient{Addr: "a", Transport: t}
	return map[string]gallop.Doer{
		"Client":     &gallop.Client{Transport: t},
		"HostClient": host,
		"LBClient":   &gallop.LBClient{Clients: []gallop.BalancingClient{host}},
	}
}

type callKey struct{}

// A RoundTripper sees the context of the call: that it ends, why, and its values.
func TestRoundTripperSeesTheContext(t *testing.T) {
	errWhy := errors.New("nobody waits for it")
	slow := roundTripper(func(_ *gallop.HostClient, req *gallop.Request, _ *gallop.Response) (bool, error) {
		ctx := req.Context()
		if ctx.Value(callKey{}) != "tenant" {
			t.Errorf("the context has %v", ctx.Value(callKey{}))
		}
		select {
		case <-time.After(800 * time.Millisecond):
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	})
	for name, c := range doers(slow) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), callKey{}, "tenant"))
				time.AfterFunc(50*time.Millisecond, func() { cancel(errWhy) })
				req := getRequest("/")
				begun := time.Now()
				err := c.DoContext(ctx, req, nil)
				if took := time.Since(begun); took != 50*time.Millisecond || !errors.Is(err, errWhy) {
					t.Errorf("%v after %v", err, took)
				}
				if req.Context() != context.Background() {
					t.Error("the request keeps the context after the call")
				}
			})
		})
	}
}

// Without DoContext there is a context, too, which never ends.
func TestRequestContextIsNeverNil(t *testing.T) {
	var seen context.Context
	c := &gallop.HostClient{Addr: "a", Transport: roundTripper(func(_ *gallop.HostClient, req *gallop.Request, _ *gallop.Response) (bool, error) {
		seen = req.Context()
		return false, nil
	})}
	if err := c.DoTimeout(getRequest("/"), nil, time.Minute); err != nil || seen != context.Background() {
		t.Errorf("%v, %v", seen, err)
	}
	var req gallop.Request
	if req.Context() != context.Background() {
		t.Error("a new request has another context than Background")
	}
}

// A call that is made within another one with the same request, as a proxy does it, leaves the outer context alone.
func TestRequestContextOfCallsWithinCalls(t *testing.T) {
	inner := &gallop.HostClient{Addr: "a", Transport: roundTripper(func(_ *gallop.HostClient, req *gallop.Request, _ *gallop.Response) (bool, error) {
		if got := req.Context().Value(callKey{}); got != "inner" {
			t.Errorf("the inner call has %v", got)
		}
		return false, nil
	})}
	outer := &gallop.HostClient{Addr: "b", Transport: roundTripper(func(_ *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
		err := inner.DoContext(context.WithValue(req.Context(), callKey{}, "inner"), req, resp)
		if got := req.Context().Value(callKey{}); got != "outer" {
			t.Errorf("after the inner call the outer one has %v", got)
		}
		return false, err
	})}
	if err := outer.DoContext(context.WithValue(t.Context(), callKey{}, "outer"), getRequest("/"), nil); err != nil {
		t.Error(err)
	}
}

// Functions that decide about a call see its context.
func TestDecidingFunctionsSeeTheContext(t *testing.T) {
	var seen []any
	look := func(req *gallop.Request) { seen = append(seen, req.Context().Value(callKey{})) }
	host := &gallop.HostClient{
		Addr: "a",
		Dial: func(string) (net.Conn, error) { return nil, io.ErrClosedPipe },
		RetryIfErr: func(req *gallop.Request, attempts int, _ error) (bool, bool) {
			look(req)
			return false, attempts < 2
		},
	}
	lb := &gallop.LBClient{
		Clients:     []gallop.BalancingClient{host},
		HealthCheck: func(req *gallop.Request, _ *gallop.Response, _ error) bool { look(req); return true },
	}
	req := getRequest("/")
	err := lb.DoContext(context.WithValue(t.Context(), callKey{}, 7), req, nil)
	if !errors.Is(err, io.ErrClosedPipe) || !slices.Equal(seen, []any{7, 7, 7}) || req.Context() != context.Background() {
		t.Errorf("they see %v; %v", seen, err)
	}
}

// A pipeline has connections that belong to no call, and is a Doer nevertheless.
func TestPipelineClientIsADoer(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") })
	var d gallop.Doer = &gallop.PipelineClient{Addr: "a", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	var resp gallop.Response
	if err := d.DoContext(t.Context(), getRequest("/"), &resp); err != nil || string(resp.Body()) != "hello" {
		t.Errorf("%q, %v", resp.Body(), err)
	}
}

// Sets without a protocol for a connection are errors of all calls, and nothing is dialed. Without TLS, HTTP/2 counts only if
// the set lacks HTTP/1, and AcquireConn does not use it.
func TestClientProtocols(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) { ctx.WriteString("hello") })
	for _, tt := range []struct {
		name string
		set  func(p *gallop.Protocols)
		ok   bool
	}{
		{"HTTP/1", func(p *gallop.Protocols) { p.SetHTTP1(true) }, true},
		{"none", func(p *gallop.Protocols) {}, false},
		{"HTTP/2", func(p *gallop.Protocols) { p.SetHTTP2(true) }, false},
		{"both", func(p *gallop.Protocols) { p.SetHTTP1(true); p.SetHTTP2(true) }, true},
		{"HTTP/1 and unencrypted HTTP/2", func(p *gallop.Protocols) { p.SetHTTP1(true); p.SetUnencryptedHTTP2(true) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p gallop.Protocols
			tt.set(&p)
			dials := 0
			dial := func(string) (net.Conn, error) { dials++; return ln.Dial() }
			host := &gallop.HostClient{Addr: "a", Dial: dial, Protocols: &p, HTTP2: &gallop.HTTP2Config{}}
			client := &gallop.Client{Dial: dial, Protocols: &p, HTTP2: &gallop.HTTP2Config{}}
			_, acquire := host.AcquireConn(0, true)
			for range 2 {
				for _, err := range []error{host.Do(getRequest("/"), nil), client.Do(getRequest("/"), nil), acquire} {
					if tt.ok && err != nil || !tt.ok && (!errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, gallop.ErrProtocols)) {
						t.Error(err)
					}
				}
			}
			if !tt.ok && dials > 0 {
				t.Errorf("%d connections", dials)
			}
		})
	}
}

// ConfigureClient may set the protocols of a host.
func TestConfigureClientSetsProtocols(t *testing.T) {
	c := &gallop.Client{ConfigureClient: func(hc *gallop.HostClient) error {
		hc.Protocols = &gallop.Protocols{}
		return nil
	}}
	if err := c.Do(getRequest("/"), nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// The first calls to a host share a HostClient, even if they begin at the same time. If ConfigureClient fails, the call
// returns the error, and the client makes no HostClient.
func TestFirstCallsToAHostShareAHostClient(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {})
	refused := errors.New("refused")
	inside, leave := make(chan struct{}), make(chan struct{})
	var made atomic.Int64
	c := &gallop.Client{
		Dial: func(string) (net.Conn, error) { return ln.Dial() },
		ConfigureClient: func(hc *gallop.HostClient) error {
			if hc.Addr == "refused.test:80" {
				close(inside)
				<-leave
				return refused
			}
			made.Add(1)
			return nil
		},
	}
	defer c.CloseIdleConnections()
	var calls sync.WaitGroup
	call := func(host string, want error) {
		calls.Go(func() {
			req := new(gallop.Request)
			req.SetRequestURI("http://" + host + "/")
			if err := c.Do(req, nil); !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", host, err, want)
			}
		})
	}
	call("refused.test", refused)
	<-inside
	for range 8 {
		call("host.test", nil)
	}
	time.Sleep(20 * time.Millisecond) // until the calls wait for ConfigureClient to return
	close(leave)
	calls.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d HostClients", n)
	}
}

// A Proxy function is asked once for a connection, about the server, with the values of the call's context.
func TestProxyFunctions(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {})
	var asked []string
	proxy := func(ctx context.Context, target *url.URL) (*url.URL, error) {
		value, _ := ctx.Value(callKey{}).(string)
		asked = append(asked, value+" "+target.String())
		return nil, nil
	}
	dial := func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }
	ctx := context.WithValue(t.Context(), callKey{}, "of the call")
	client := &gallop.Client{Proxy: proxy, DialContext: dial}
	host := &gallop.HostClient{Addr: "one.test:8080", Proxy: proxy, DialContext: dial}
	for range 3 {
		if err := errors.Join(client.DoContext(ctx, getRequest("/path?query"), nil), host.DoContext(ctx, getRequest("/"), nil)); err != nil {
			t.Fatal(err)
		}
	}
	dialer := &gallop.ProxyDialer{Proxy: proxy, Connect: dial, Scheme: "https"}
	nc, err := dialer.DialContext(ctx, "tcp", "two.test:443")
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	secured := &gallop.HostClient{Addr: "three.test", IsTLS: true, Proxy: proxy, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, io.ErrClosedPipe
	}}
	req := getRequest("/")
	req.URI().SetScheme("https")
	_ = secured.Do(req, nil)
	want := []string{"of the call http://example.com:80", "of the call http://one.test:8080", "of the call https://two.test:443", " https://three.test:443"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// A Proxy function that looks something up ends with the call.
func TestProxyFunctionEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		c := &gallop.HostClient{Addr: "a", Proxy: func(ctx context.Context, _ *url.URL) (*url.URL, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}}
		begun := time.Now()
		req := getRequest("/")
		req.SetTimeout(time.Second)
		if err := c.Do(req, nil); !errors.Is(err, gallop.ErrTimeout) || time.Since(begun) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if err := <-ended; err == nil {
			t.Error("the context of the function has not ended")
		}
	})
}

// The rules of the environment fit into the field Proxy of everything that has one.
func TestProxyRulesFitEverywhere(t *testing.T) {
	rules := &gallop.ProxyRules{HTTPProxy: "proxy.test", NoProxy: "direct.test"}
	_ = &gallop.Client{Proxy: rules.Proxy}
	_ = &gallop.HostClient{Proxy: rules.Proxy}
	_ = &gallop.ProxyDialer{Proxy: rules.Proxy}
	for target, want := range map[string]string{
		"http://one.test/path":   "http://proxy.test",
		"http://direct.test":     "",
		"http://one.test:8080":   "http://proxy.test",
		"https://one.test":       "",
		"http://direct.test:123": "",
	} {
		u, _ := url.Parse(target)
		proxy, err := rules.Proxy(t.Context(), u)
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", target, got, err, want)
		}
	}
}

func TestClientWithProxyAndProtocolsAllocatesNothing(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {})
	var p gallop.Protocols
	p.SetHTTP1(true)
	c := &gallop.Client{
		Proxy:       func(context.Context, *url.URL) (*url.URL, error) { return nil, nil },
		DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() },
		Protocols:   &p,
	}
	ctx, req, resp := context.Background(), getRequest("/"), &gallop.Response{}
	if allocs := testing.AllocsPerRun(200, func() {
		if err := c.DoContext(ctx, req, resp); err != nil {
			t.Fatal(err)
		}
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A trace says which connection a call has, and over which protocol it goes.
func TestGotConnInfoNamesTheConnection(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {})
	c := &gallop.HostClient{Addr: "a", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	var ids []uint64
	ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{GotConn: func(info gallop.GotConnInfo) {
		if ids = append(ids, info.ConnID); info.Protocol != "HTTP/1.1" || info.ConnID == 0 {
			t.Errorf("got %+v", info)
		}
	}})
	for range 2 {
		if err := c.DoContext(ctx, getRequest("/"), nil); err != nil {
			t.Fatal(err)
		}
	}
	c.CloseIdleConnections()
	if err := c.DoContext(ctx, getRequest("/"), nil); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 3 || ids[0] != ids[1] || ids[1] == ids[2] {
		t.Errorf("the IDs are %v", ids)
	}
}

// A trace reports events only until its call ends: a connection that a RoundTripper takes later and returns does not
// appear in the trace.
func TestClientTraceEndsWithItsCall(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {})
	c := &gallop.HostClient{Addr: "a", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	put := 0
	ctx := gallop.WithClientTrace(t.Context(), &gallop.ClientTrace{PutIdleConn: func(string) { put++ }})
	if err := c.DoContext(ctx, getRequest("/"), nil); err != nil {
		t.Fatal(err)
	}
	cc, err := c.AcquireConn(0, false)
	if err != nil {
		t.Fatal(err)
	}
	c.ReleaseConn(cc)
	if put != 1 {
		t.Errorf("told %d times", put)
	}
}

// Programs can name the types of what the client exports.
func TestExportedTypesHaveNames(t *testing.T) {
	ln := memnet.NewListener()
	defer ln.Close()
	go gallop.Serve(ln, func(ctx *gallop.RequestCtx) {})
	var held struct {
		conn *gallop.ClientConn
		err  net.Error
	}
	c := &gallop.HostClient{Addr: "a", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	var err error
	if held.conn, err = c.AcquireConn(0, false); err != nil || held.conn.Conn() == nil {
		t.Fatal(err)
	}
	c.CloseConn(held.conn)
	if held.err = gallop.ErrTimeout; !held.err.Timeout() || !errors.Is(held.err, context.DeadlineExceeded) {
		t.Error(held.err)
	}
}

// refused is an error of a RoundTripper that knows that the server has refused a request that was written.
type refused struct{ error }

func (refused) NotProcessed() bool { return true }

func TestSafeToRetry(t *testing.T) {
	get, post, keyed := getRequest("/"), getRequest("/"), getRequest("/")
	post.Header.SetMethod("POST")
	keyed.Header.SetMethod("POST")
	keyed.Header.Set("Idempotency-Key", "1")
	for _, tt := range []struct {
		name string
		req  *gallop.Request
		err  error
		want bool
	}{
		{"no error", get, nil, false},
		{"GET, whatever happened", get, io.ErrUnexpectedEOF, true},
		{"a key, whatever happened", keyed, gallop.ErrTimeout, true},
		{"POST, and nobody knows", post, gallop.ErrConnectionClosed, false},
		{"POST, and time is up", post, gallop.ErrTimeout, false},
		{"POST, written", post, &gallop.ClosedError{Reused: true, Written: 1, Err: io.EOF}, false},
		{"POST, not written", post, &gallop.ClosedError{Reused: true, Err: io.EOF}, true},
		{"POST, not written, wrapped", post, &url.Error{Err: &gallop.ClosedError{Err: io.EOF}}, true},
		{"POST, refused", post, refused{io.EOF}, true},
		{"POST, no connection", post, gallop.ErrNoFreeConns, true},
		{"POST, too many calls", post, gallop.ErrPipelineOverflow, true},
		{"POST, no client", post, gallop.ErrNoAvailableClients, true},
		{"POST, dial", post, &net.OpError{Op: "dial", Err: io.EOF}, true},
		{"POST, read", post, &net.OpError{Op: "read", Err: io.EOF}, false},
		{"POST, handshake", post, gallop.ErrTLSHandshakeTimeout, true},
	} {
		if got := gallop.SafeToRetry(tt.req, tt.err); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// After a call, SafeToRetry knows whether there still is a body to be sent.
func TestSafeToRetryAfterACall(t *testing.T) {
	closing := func() (net.Conn, error) { // reads the head and hangs up
		nc, peer := memnet.Pipe()
		go func() {
			peer.Read(make([]byte, 1))
			time.Sleep(10 * time.Millisecond)
			peer.Close()
		}()
		return nc, nil
	}
	for _, tt := range []struct {
		name string
		dial func() (net.Conn, error)
		body func(req *gallop.Request)
		want bool
	}{
		{"bytes", closing, func(req *gallop.Request) { req.SetBodyString("body") }, true},
		{"a stream", closing, func(req *gallop.Request) { req.SetBodyStream(strings.NewReader("body"), -1) }, false},
		{"an empty stream", closing, func(req *gallop.Request) { req.SetBodyStream(strings.NewReader(""), 0) }, true},
		{"a stream that was written", closing, func(req *gallop.Request) {
			req.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("body") })
		}, false},
		{"a stream that nobody has read", func() (net.Conn, error) { return nil, io.ErrClosedPipe }, func(req *gallop.Request) {
			req.SetBodyStream(strings.NewReader("body"), -1)
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &gallop.HostClient{Addr: "a", DetailedErrors: true, Dial: func(string) (net.Conn, error) { return tt.dial() }}
				req := getRequest("/")
				req.Header.SetMethod("PUT")
				tt.body(req)
				err := c.Do(req, nil)
				if got := gallop.SafeToRetry(req, err); err == nil || got != tt.want {
					t.Errorf("%v, %v", got, err)
				}
				if req.SetBodyString("another"); !gallop.SafeToRetry(req, err) {
					t.Error("not even with another body")
				}
			})
		})
	}
}
