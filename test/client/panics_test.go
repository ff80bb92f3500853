package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/callback"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// These tests show what happens to calls when functions of the program panic or end their goroutine.

var errBoom = errors.New("boom")

// bomb is a function of the program that goes wrong once.
type bomb struct {
	exits bool // by Goexit
	gone  bool
}

func (b *bomb) tick() {
	if b.gone {
		return
	}
	b.gone = true
	if b.exits {
		runtime.Goexit()
	}
	panic(errBoom)
}

// How a call has ended.
type ending struct {
	value  any  // of a panic
	exited bool // by Goexit
	err    error
}

// endOf makes a call on a goroutine of its own.
func endOf(call func() error) (e ending) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.exited = true
		defer func() {
			if v := recover(); v != nil {
				e = ending{value: v}
			}
		}()
		e = ending{err: call()}
	}()
	<-done
	return e
}

// How what a callback does reaches the caller.
type reach int

const (
	onCaller reach = iota // it runs on the caller's goroutine
	onOther               // a panic is raised again, and Goexit is an error
	beside                // the same, but Goexit has no effect if the response has arrived before
	asError               // both are errors
	inStream              // a panic is an error, and Goexit the caller's end
)

// panicking are all callbacks of calls. setup arms one of them.
var panicking = []struct {
	name  string
	reach reach
	setup func(c *armedClient, req *gallop.Request, tick func())
}{
	{"OnInterim", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.OnInterim = func(*gallop.Response) { tick() }
	}},
	{"OnInterim beside an upload", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.send(req, &endlessBody{}, -1)
		c.OnInterim = func(*gallop.Response) { tick() }
	}},
	{"GetConn", onCaller, func(c *armedClient, req *gallop.Request, tick func()) { c.trace.GetConn = func(string) { tick() } }},
	{"GotConn, new", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.trace.GotConn = func(gallop.GotConnInfo) { tick() }
	}},
	{"GotConn_reused", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.trace.GotConn = func(info gallop.GotConnInfo) {
			if info.Reused {
				tick()
			}
		}
	}},
	{"PutIdleConn", onCaller, func(c *armedClient, req *gallop.Request, tick func()) { c.trace.PutIdleConn = func(string) { tick() } }},
	{"DNSStart", onCaller, func(c *armedClient, req *gallop.Request, tick func()) { c.trace.DNSStart = func(string) { tick() } }},
	{"DNSDone", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.trace.DNSDone = func(string, []netip.Addr, error) { tick() }
	}},
	{"ConnectStart", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.trace.ConnectStart = func(string, string) { tick() }
	}},
	{"ConnectDone", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.trace.ConnectDone = func(string, string, error) { tick() }
	}},
	{"ConnectStart, two addresses", onOther, func(c *armedClient, req *gallop.Request, tick func()) {
		c.Addr = "two.test:80"
		c.trace.ConnectStart = func(string, string) { tick() }
	}},
	{"ConnectDone, two addresses", onOther, func(c *armedClient, req *gallop.Request, tick func()) {
		c.Addr = "two.test:80"
		c.trace.ConnectDone = func(string, string, error) { tick() }
	}},
	{"TLSHandshakeStart", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.IsTLS = true
		c.trace.TLSHandshakeStart = tick
	}},
	{"TLSHandshakeDone", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.IsTLS = true
		c.trace.TLSHandshakeDone = func(tls.ConnectionState, error) { tick() }
	}},
	{"VerifyConnection", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.IsTLS = true
		c.TLSConfig.VerifyConnection = func(tls.ConnectionState) error { tick(); return nil }
	}},
	{"WroteHeaders", onCaller, func(c *armedClient, req *gallop.Request, tick func()) { c.trace.WroteHeaders = tick }},
	{"WroteRequest behind a stream", beside, func(c *armedClient, req *gallop.Request, tick func()) {
		req.SetBodyStream(strings.NewReader("body"), 4)
		c.trace.WroteRequest = func(error) { tick() }
	}},
	{"WroteRequest behind Expect", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		req.SetBodyString("body")
		req.Header.Set("Expect", "100-continue")
		c.trace.WroteRequest = func(error) { tick() }
	}},
	{"GotFirstByte", onCaller, func(c *armedClient, req *gallop.Request, tick func()) { c.trace.GotFirstByte = tick }},
	{"GotInterim", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.trace.GotInterim = func(*gallop.Response) { tick() }
	}},
	{"RetryIf", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		req.SetRequestURI("http://one.test/end")
		c.RetryIf = func(*gallop.Request) bool { tick(); return false }
	}},
	{"RetryIfErr", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		req.SetRequestURI("http://one.test/end")
		c.RetryIfErr = func(*gallop.Request, int, error) (bool, bool) { tick(); return false, false }
	}},
	{"RetryIfErrUpstream", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		req.SetRequestURI("http://one.test/end")
		c.RetryIfErrUpstream = func(*gallop.Request, int, error, string) (bool, bool) { tick(); return false, false }
	}},
	{"DialContext", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		dial := c.DialContext
		c.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			tick()
			return dial(ctx, network, addr)
		}
	}},
	{"Dial", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		dial := c.DialContext
		c.DialContext = nil
		c.Dial = func(addr string) (net.Conn, error) { tick(); return dial(context.Background(), "tcp", addr) }
	}},
	{"Dial with a deadline", onOther, func(c *armedClient, req *gallop.Request, tick func()) {
		dial := c.DialContext
		c.DialContext = nil
		req.SetTimeout(time.Hour)
		c.Dial = func(addr string) (net.Conn, error) { tick(); return dial(context.Background(), "tcp", addr) }
	}},
	{"DialTimeout with a deadline", onOther, func(c *armedClient, req *gallop.Request, tick func()) {
		dial := c.DialContext
		c.DialContext = nil
		req.SetTimeout(time.Hour)
		c.DialTimeout = func(addr string, _ time.Duration) (net.Conn, error) {
			tick()
			return dial(context.Background(), "tcp", addr)
		}
	}},
	{"Proxy", onCaller, func(c *armedClient, req *gallop.Request, tick func()) {
		c.Proxy = func(context.Context, *url.URL) (*url.URL, error) { tick(); return nil, nil }
	}},
	{"Resolver", asError, func(c *armedClient, req *gallop.Request, tick func()) { lookingUp(c, tick) }},
	{"Transport", onCaller, func(c *armedClient, req *gallop.Request, tick func()) { c.Transport = tickingTransport(tick) }},
	{"a body's Read", asError, func(c *armedClient, req *gallop.Request, tick func()) { c.send(req, &endlessBody{onRead: tick}, -1) }},
	{"a body's Read of known size", asError, func(c *armedClient, req *gallop.Request, tick func()) {
		c.send(req, &endlessBody{onRead: tick}, 1<<20)
	}},
	{"a body's Close", asError, func(c *armedClient, req *gallop.Request, tick func()) {
		c.send(req, &endlessBody{size: 10, onClose: tick}, -1)
	}},
	{"a StreamWriter", asError, func(c *armedClient, req *gallop.Request, tick func()) {
		req.SetBodyStreamWriter(func(w *bufio.Writer) {
			_, _ = w.WriteString("body")
			_ = w.Flush()
			tick()
		})
	}},
	{"a StreamWriter of HTTP/1.0", inStream, func(c *armedClient, req *gallop.Request, tick func()) {
		req.Header.SetProtocol("HTTP/1.0")
		req.SetBodyStreamWriter(func(w *bufio.Writer) { tick() })
	}},
}

// armedClient is a HostClient whose calls have a trace.
type armedClient struct {
	gallop.HostClient
	trace *gallop.ClientTrace
	body  *endlessBody // of the first call
}

// send makes body the body of req.
func (c *armedClient) send(req *gallop.Request, body *endlessBody, size int) {
	c.body = body
	req.SetBodyStream(body, size)
}

func (c *armedClient) call(req *gallop.Request, resp *gallop.Response) error {
	return c.DoContext(gallop.WithClientTrace(context.Background(), c.trace), req, resp)
}

// endlessBody is a body that goes on, or ends after size bytes if that is positive.
type endlessBody struct {
	size            int
	closed          int
	onRead, onClose func()
}

func (e *endlessBody) Read(p []byte) (int, error) {
	if e.onRead != nil {
		e.onRead()
	}
	if e.size > 0 {
		if e.size = -e.size; len(p) > -e.size {
			p = p[:-e.size]
		}
		return len(p), nil
	}
	if e.size < 0 {
		return 0, io.EOF
	}
	time.Sleep(time.Second)
	return min(100, len(p)), nil
}

func (e *endlessBody) Close() error {
	e.closed++
	if e.onClose != nil {
		e.onClose()
	}
	return nil
}

type tickingTransport func()

func (tick tickingTransport) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
	tick()
	return gallop.DefaultTransport.RoundTrip(hc, req, resp)
}

type tickingResolver struct {
	gallop.Resolver
	tick func()
}

func (r tickingResolver) LookupIPAddr(ctx context.Context, name string) ([]net.IPAddr, error) {
	r.tick()
	return r.Resolver.LookupIPAddr(ctx, name)
}

// namesOfTest is a resolver of one.test and two.test.
type namesOfTest struct{}

func (namesOfTest) LookupIPAddr(_ context.Context, name string) ([]net.IPAddr, error) {
	time.Sleep(time.Millisecond) // what is known at once is not traced
	addrs := []net.IPAddr{{IP: net.IPv4(192, 0, 2, 1)}, {IP: net.IPv4(192, 0, 2, 2)}}
	if name == "one.test" {
		addrs = addrs[:1]
	}
	return addrs, nil
}

// lookingUp makes c find its host by a resolver, and nothing cached.
func lookingUp(c *armedClient, tick func()) {
	connect := c.DialContext
	d := &gallop.TCPDialer{Resolver: tickingResolver{namesOfTest{}, tick}, DNSCacheDuration: -1}
	c.DialContext = servertest.ConnectBy(d, connect).DialContext
}

// servePanicking answers each request, also before it is whole, with an interim answer
// first.
func servePanicking(secured *tls.Config) func(net.Conn) error {
	return func(nc net.Conn) error {
		defer nc.Close()
		if secured != nil {
			nc = tls.Server(nc, secured)
		}
		r := bufio.NewReader(nc)
		for {
			var req gallop.Request
			if err := req.Header.Read(r); err != nil {
				return err
			}
			if string(req.Header.RequestURI()) == "/end" {
				return nil
			}
			_, _ = io.WriteString(nc, "HTTP/1.1 103 Early Hints\r\n\r\n")
			if req.MayContinue() {
				_, _ = io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n")
			}
			if err := req.ContinueReadBody(r, 1<<30); err != nil {
				return err
			}
			if _, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"); err != nil {
				return err
			}
		}
	}
}

func TestClientPanics(t *testing.T) {
	t.Parallel()
	for _, tt := range panicking {
		for _, exits := range []bool{false, true} {
			for _, waiting := range []bool{false, true} {
				name := tt.name + map[bool]string{false: "/panic", true: "/Goexit"}[exits] +
					map[bool]string{false: "", true: "/others wait"}[waiting]
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { testPanicking(t, tt.setup, tt.reach, &bomb{exits: exits}, waiting) })
				})
			}
		}
	}
}

func testPanicking(t *testing.T, setup func(*armedClient, *gallop.Request, func()), where reach, b *bomb, waiting bool) {
	defer time.Sleep(time.Hour) // for what is idle to end
	peer := servertest.NewTLSPeer(t, "one.test")
	var secured *tls.Config
	dial := wiretest.Dialer(func(nc net.Conn) error { return servePanicking(secured)(nc) })
	c := &armedClient{
		HostClient: gallop.HostClient{Addr: "one.test:80", MaxConns: 1, MaxConnWaitTimeout: -1, TLSConfig: &tls.Config{RootCAs: peer.Pool}},
		trace:      &gallop.ClientTrace{},
	}
	c.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial() }
	lookingUp(c, func() {})
	var req gallop.Request
	req.SetRequestURI("http://one.test/")
	req.Header.SetMethod("PUT")
	setup(c, &req, b.tick)
	if c.IsTLS {
		req.URI().SetScheme("https")
		secured = peer.Config
	}
	if strings.Contains(t.Name(), "reused/") {
		if err := c.call(another(&req), nil); err != nil {
			t.Fatal(err)
		}
	}
	first := make(chan ending)
	go func() { first <- endOf(func() error { return c.call(&req, nil) }) }()
	if waiting {
		// One that came behind gets its turn.
		synctest.Wait()
		second := endOf(func() error { return c.call(another(&req), nil) })
		if where == onCaller && second != (ending{}) { // if it was not the first one that was hit
			checkEnding(t, second, where, b.exits)
			second = <-first
		} else {
			checkEnding(t, <-first, where, b.exits)
		}
		if second != (ending{}) {
			t.Errorf("the other call: %+v", second)
		}
	} else {
		checkEnding(t, <-first, where, b.exits)
	}
	if !b.gone {
		t.Error("it was never called")
	}
	time.Sleep(10 * time.Second) // for a failed lookup to be forgotten
	var resp gallop.Response
	if err := c.call(another(&req), &resp); err != nil || string(resp.Body()) != "hello" {
		t.Errorf("the next call: %v, %q", err, resp.Body())
	}
	synctest.Wait()
	if c.body != nil && c.body.closed != 1 {
		t.Errorf("the stream was closed %d times", c.body.closed)
	}
	if open, idle, pending := c.ConnsCount(), c.IdleConnsCount(), c.PendingRequests(); open != 1 || idle != 1 || pending != 0 {
		t.Errorf("%d connections, %d idle, %d calls", open, idle, pending)
	}
}

// another is a request to the same server that nothing is wrong with.
func another(req *gallop.Request) *gallop.Request {
	next := &gallop.Request{}
	next.SetRequestURI("http://one.test/")
	next.URI().SetSchemeBytes(req.URI().Scheme())
	return next
}

func checkEnding(t *testing.T, e ending, where reach, exits bool) {
	t.Helper()
	ok := false
	switch {
	case (where == onCaller || where == inStream) && exits:
		ok = e.exited
	case where < asError && !exits:
		ok = e.value == errBoom
	case exits:
		ok = errors.Is(e.err, callback.ErrGoexit) || where == beside && e == (ending{})
	default:
		ok = errors.Is(e.err, errBoom)
	}
	if !ok {
		t.Errorf("the call ended with %+v", e)
	}
}

// A request has the cookies that it had, and its host is forgotten in time.
func TestClientPanicsAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := wiretest.Dialer(servePanicking(nil))
		c := &gallop.Client{Jar: &gallop.CookieJar{}, Dial: func(string) (net.Conn, error) { return dial() }}
		b := &bomb{}
		c.OnInterim = func(*gallop.Response) { b.tick() }
		hosts := 0
		c.ConfigureClient = func(*gallop.HostClient) error { hosts++; return nil }
		var req gallop.Request
		req.SetRequestURI("http://one.test/")
		req.Header.SetCookie("own", "1")
		cookie := &gallop.Cookie{}
		cookie.SetKey("jar")
		cookie.SetValue("2")
		c.Jar.SetCookie(req.URI(), cookie)
		checkEnding(t, endOf(func() error { return c.Do(&req, nil) }), onCaller, false)
		if got := string(req.Header.Peek("Cookie")); got != "own=1" {
			t.Errorf("the request has %q", got)
		}
		time.Sleep(time.Minute)
		if err := c.Do(&req, nil); err != nil || hosts != 2 {
			t.Errorf("the host is not forgotten: %d hosts, %v", hosts, err)
		}
		c.CloseIdleConnections()
	})
}

// A panic after the call has ended reaches no call and is harmless.
func TestClientPanicsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &gallop.HostClient{Addr: "one.test", Dial: func(string) (net.Conn, error) {
			time.Sleep(time.Hour)
			panic(errBoom)
		}}
		var req gallop.Request
		req.SetRequestURI("http://one.test/")
		if err := c.DoTimeout(&req, nil, time.Second); !errors.Is(err, gallop.ErrTimeout) {
			t.Error(err)
		}
		time.Sleep(2 * time.Hour)
		if n := c.ConnsCount(); n != 0 {
			t.Errorf("%d connections", n)
		}
	})
}
