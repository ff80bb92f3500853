package client_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	fasthttp "github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// badServer makes clients of servers that misbehave, over TCP or TLS.
type badServer struct {
	t      *testing.T
	config *tls.Config // nil over TCP
}

// onTCPAndTLS runs a test over TCP and over TLS.
func onTCPAndTLS(t *testing.T, test func(b *badServer)) {
	certPEM, keyPEM, err := fasthttp.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("TCP", func(t *testing.T) { test(&badServer{t, nil}) })
	t.Run("TLS", func(t *testing.T) { test(&badServer{t, &tls.Config{Certificates: []tls.Certificate{pair}}}) })
}

// listen returns the address of a server that does serve with each connection, and closes it.
func (b *badServer) listen(serve func(net.Conn)) string { return b.listenOn("127.0.0.1:0", serve) }

func (b *badServer) listenOn(addr string, serve func(net.Conn)) string {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if b.config != nil {
				c = tls.Server(c, b.config)
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return ln.Addr().String()
}

// host returns a client of such a server.
func (b *badServer) host(serve func(net.Conn)) *fasthttp.HostClient {
	hc := &fasthttp.HostClient{Addr: b.listen(serve), IsTLS: b.config != nil, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	b.t.Cleanup(hc.CloseIdleConnections)
	return hc
}

func (b *badServer) request(addr string) *fasthttp.Request {
	req := &fasthttp.Request{}
	req.SetRequestURI(map[bool]string{false: "http://", true: "https://"}[b.config != nil] + addr + "/")
	return req
}

// hear reads a small request.
func hear(c net.Conn) { c.Read(make([]byte, 4<<10)) }

// answerEach answers each request on a connection, and closes it when the client does.
func answerEach(answer string) func(net.Conn) {
	return func(c net.Conn) {
		for {
			if _, err := c.Read(make([]byte, 4<<10)); err != nil {
				return
			}
			io.WriteString(c, answer)
		}
	}
}

// answerOnce answers one request.
func answerOnce(answer string) func(net.Conn) {
	return func(c net.Conn) { hear(c); io.WriteString(c, answer) }
}

// socketOf returns the connection below TLS.
func socketOf(c net.Conn) *net.TCPConn {
	if tc, ok := c.(*tls.Conn); ok {
		c = tc.NetConn()
	}
	return c.(*net.TCPConn)
}

func silent(c net.Conn) { hear(c); io.Copy(io.Discard, c) }

func resetting(c net.Conn) {
	hear(c)
	socketOf(c).SetLinger(0)
	socketOf(c).Close()
}

// headOf returns a response of n bytes, all of them head.
func headOf(n int) string {
	const start, end = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: ", "\r\n\r\n"
	return start + strings.Repeat("a", n-len(start+end)) + end
}

// same returns what is true for an error that a program finds with ==.
func same(want error) func(error) bool { return func(err error) bool { return err == want } }

func isSmallBuffer(err error) bool { _, ok := err.(*fasthttp.ErrSmallBuffer); return ok }
func isBrokenChunk(err error) bool { _, ok := err.(fasthttp.ErrBrokenChunk); return ok }

// clientError is how a call fails.
type clientError struct {
	name  string // of the error in fasthttp
	how   string
	is    func(error) bool
	serve func(net.Conn)
	host  func(*fasthttp.HostClient)
	ask   func(*fasthttp.Request)
}

const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

var clientErrors = []clientError{
	{name: "ErrConnectionClosed", how: "GET", is: same(fasthttp.ErrConnectionClosed), serve: hear},
	{name: "ErrConnectionClosed", how: "POST", is: same(fasthttp.ErrConnectionClosed), serve: hear, ask: makePost},
	{name: "ErrConnectionClosed", how: "reset", is: same(fasthttp.ErrConnectionClosed), serve: resetting},
	{name: "ErrConnectionClosed", how: "reset POST", is: same(fasthttp.ErrConnectionClosed), serve: resetting, ask: makePost},
	{name: "ErrConnectionClosed", how: "no close_notify", is: same(fasthttp.ErrConnectionClosed),
		serve: func(c net.Conn) { hear(c); socketOf(c).Close() }},
	{name: "ErrConnectionClosed", how: "a stream", is: same(fasthttp.ErrConnectionClosed), serve: answerOnce(""),
		ask: func(req *fasthttp.Request) {
			req.Header.SetMethod("POST")
			req.SetBodyStream(strings.NewReader("x"), 1)
			req.Header.SetContentType("a/b")
			req.SetConnectionClose()
		}},
	{name: "ErrConnectionClosed", how: "the response is a stream", is: same(fasthttp.ErrConnectionClosed), serve: hear,
		host: func(hc *fasthttp.HostClient) { hc.StreamResponseBody = true }},
	{name: "ErrConnectionClosed", how: "behind 103", is: same(fasthttp.ErrConnectionClosed), serve: answerOnce("HTTP/1.1 103 Early Hints\r\n\r\n")},
	{name: "ErrConnectionClosed", how: "retries", is: same(fasthttp.ErrConnectionClosed), serve: hear,
		host: func(hc *fasthttp.HostClient) {
			hc.RetryIfErr = func(_ *fasthttp.Request, _ int, err error) (bool, bool) { return false, err == io.EOF }
			hc.MaxIdemponentCallAttempts = 2
		}},
	{name: "ErrConnectionClosed", how: "Dial returns io.EOF", is: same(fasthttp.ErrConnectionClosed), serve: hear,
		host: func(hc *fasthttp.HostClient) { hc.Dial = func(string) (net.Conn, error) { return nil, io.EOF } }},
	{name: "ErrConnectionClosed", how: "Transport returns io.EOF", is: same(fasthttp.ErrConnectionClosed), serve: hear,
		host: func(hc *fasthttp.HostClient) { hc.Transport = failingTransport{io.EOF} }},
	{name: "ErrConnectionClosed", how: "around DefaultTransport", is: same(fasthttp.ErrConnectionClosed), serve: hear,
		host: func(hc *fasthttp.HostClient) { hc.Transport = passingTransport{} }},
	{name: "ErrTimeout", how: "ReadTimeout", is: same(fasthttp.ErrTimeout), serve: silent,
		host: func(hc *fasthttp.HostClient) { hc.ReadTimeout = 20 * time.Millisecond }},
	{name: "ErrTimeout", how: "SetTimeout", is: same(fasthttp.ErrTimeout), serve: silent,
		ask: func(req *fasthttp.Request) { req.SetTimeout(50 * time.Millisecond) }},
	{name: "ErrBodyTooLarge", how: "Content-Length", is: same(fasthttp.ErrBodyTooLarge), host: atMost5Bytes,
		serve: answerEach("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n123456")},
	{name: "ErrBodyTooLarge", how: "chunked", is: same(fasthttp.ErrBodyTooLarge), host: atMost5Bytes,
		serve: answerEach(chunkedHead + "6\r\n123456\r\n0\r\n\r\n")},
	{name: "ErrBodyTooLarge", how: "until the connection closes", is: same(fasthttp.ErrBodyTooLarge), host: atMost5Bytes,
		serve: answerOnce("HTTP/1.1 200 OK\r\n\r\n123456")},
	{name: "ErrSmallBuffer", how: "head", is: isSmallBuffer, serve: answerEach("HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", 3000) + "\r\n\r\n"),
		host: func(hc *fasthttp.HostClient) { hc.ReadBufferSize = 1000 }},
	{name: "ErrSmallBuffer", how: "head over 4 KiB", serve: answerEach(headOf(4097)), is: func(err error) bool {
		return isSmallBuffer(err) && errors.Is(err, fasthttp.ErrSmallReadBuffer) &&
			strings.Contains(err.Error(), "4096 bytes") && strings.Contains(err.Error(), "MaxResponseHeaderBytes")
	}},
	{name: "ErrSmallBuffer", how: "interim head", is: isSmallBuffer, serve: answerEach("HTTP/1.1 103 OK\r\nA: " + strings.Repeat("a", 3000) + "\r\n\r\n"),
		host: func(hc *fasthttp.HostClient) { hc.ReadBufferSize = 1000 }},
	{name: "ErrSmallBuffer", how: "trailers", is: isSmallBuffer, serve: answerEach(chunkedHead + "0\r\nA: " + strings.Repeat("a", 100<<10) + "\r\n\r\n")},
	{name: "ErrBrokenChunk", how: "cut in the size", is: isBrokenChunk, serve: answerOnce(chunkedHead + "5")},
	{name: "ErrBrokenChunk", how: "cut in the trailers", is: isBrokenChunk, serve: answerOnce(chunkedHead + "1\r\na\r\n0\r\nA: b\r\n")},
	{name: "io.ErrUnexpectedEOF", how: "Content-Length", is: same(io.ErrUnexpectedEOF),
		serve: answerOnce("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n123")},
	{name: "io.ErrUnexpectedEOF", how: "chunk", is: same(io.ErrUnexpectedEOF), serve: answerOnce(chunkedHead + "6\r\n123")},
	{name: "io.ErrUnexpectedEOF", how: "second chunk", is: same(io.ErrUnexpectedEOF), serve: answerOnce(chunkedHead + "1\r\na\r\n6\r\n123")},
	{name: "ErrDialTimeout", how: "Dial returns it", is: same(fasthttp.ErrDialTimeout), serve: hear,
		host: func(hc *fasthttp.HostClient) {
			hc.Dial = func(string) (net.Conn, error) { return nil, fasthttp.ErrDialTimeout }
		}},
}

func makePost(req *fasthttp.Request) { req.Header.SetMethod("POST"); req.SetBodyString("x") }

func atMost5Bytes(hc *fasthttp.HostClient) { hc.MaxResponseBodySize = 5 }

// failingTransport is a RoundTripper that returns an error.
type failingTransport struct{ err error }

func (f failingTransport) RoundTrip(*fasthttp.HostClient, *fasthttp.Request, *fasthttp.Response) (bool, error) {
	return false, f.err
}

// passingTransport is a RoundTripper that does what the default one does.
type passingTransport struct{}

func (passingTransport) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
	return fasthttp.DefaultTransport.RoundTrip(hc, req, resp)
}

// TestFromFasthttpClientErrors provokes the errors of calls that programs for fasthttp compare with == or find by their type.
func TestFromFasthttpClientErrors(t *testing.T) {
	for _, tt := range clientErrors {
		t.Run(tt.name+" "+tt.how, func(t *testing.T) {
			t.Parallel()
			onTCPAndTLS(t, func(b *badServer) {
				addr := b.listen(tt.serve)
				set := func(hc *fasthttp.HostClient) error {
					hc.IsTLS, hc.TLSConfig = b.config != nil, &tls.Config{InsecureSkipVerify: true}
					if tt.host != nil {
						tt.host(hc)
					}
					return nil
				}
				hc := &fasthttp.HostClient{Addr: addr}
				set(hc)
				client := &fasthttp.Client{ConfigureClient: set}
				defer hc.CloseIdleConnections()
				defer client.CloseIdleConnections()
				for name, do := range map[string]func(*fasthttp.Request, *fasthttp.Response) error{"HostClient": hc.Do, "Client": client.Do} {
					req := b.request(addr)
					if tt.ask != nil {
						tt.ask(req)
					}
					if err := do(req, &fasthttp.Response{}); !tt.is(err) {
						b.t.Errorf("%s: got %T: %v", name, err, err)
					}
				}
			})
		})
	}
}

// threeClients returns a function for each kind of client that makes a call with the settings given.
func (b *badServer) threeClients(addr string, dualStack bool, maxHead, buffer int) map[string]func() error {
	config := &tls.Config{InsecureSkipVerify: true}
	hc := &fasthttp.HostClient{Addr: addr, IsTLS: b.config != nil, TLSConfig: config,
		DialDualStack: dualStack, MaxResponseHeaderBytes: maxHead, ReadBufferSize: buffer}
	client := &fasthttp.Client{TLSConfig: config, DialDualStack: dualStack, MaxResponseHeaderBytes: maxHead, ReadBufferSize: buffer}
	pipeline := &fasthttp.PipelineClient{Addr: addr, IsTLS: b.config != nil, TLSConfig: config,
		DialDualStack: dualStack, MaxResponseHeaderBytes: maxHead, ReadBufferSize: buffer}
	b.t.Cleanup(hc.CloseIdleConnections)
	b.t.Cleanup(client.CloseIdleConnections)
	b.t.Cleanup(pipeline.CloseIdleConnections)
	return map[string]func() error{
		"HostClient":     func() error { return hc.Do(b.request(addr), nil) },
		"Client":         func() error { return client.Do(b.request(addr), nil) },
		"PipelineClient": func() error { return pipeline.DoTimeout(b.request(addr), nil, time.Minute) },
	}
}

// Without MaxResponseHeaderBytes and ReadBufferSize, clients take heads of up to 4 KiB.
func TestFromFasthttpResponseHeads(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		head, maxHead, buffer int
		refused               bool
	}{
		{"4 KiB", 4096, 0, 0, false},
		{"more than 4 KiB", 4097, 0, 0, true},
		{"MaxResponseHeaderBytes", 8192, 8192, 0, false},
		{"more than MaxResponseHeaderBytes", 8193, 8192, 0, true},
		{"ReadBufferSize", 8192, 0, 8192, false},
		{"more than ReadBufferSize", 8193, 0, 8192, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onTCPAndTLS(t, func(b *badServer) {
				for name, call := range b.threeClients(b.listen(answerEach(headOf(tt.head))), false, tt.maxHead, tt.buffer) {
					if err := call(); isSmallBuffer(err) != tt.refused || err != nil != tt.refused {
						b.t.Errorf("%s: got %T: %v", name, err, err)
					}
				}
			})
		})
	}
}

// Clients dial IPv4 only, unless DialDualStack is set. A literal IPv6 address is refused before anything is dialed.
func TestFromFasthttpDialDualStack(t *testing.T) {
	if ln, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6: ", err)
	} else {
		ln.Close()
	}
	onTCPAndTLS(t, func(b *badServer) {
		for _, dualStack := range []bool{false, true} {
			for _, on := range []string{"127.0.0.1:0", "[::1]:0"} {
				addr := b.listenOn(on, answerEach("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
				refused := on == "[::1]:0" && !dualStack
				for name, call := range b.threeClients(addr, dualStack, 0, 0) {
					err := call()
					if err != nil != refused {
						b.t.Errorf("%s, %s, DialDualStack %v: %v", name, on, dualStack, err)
					}
					var dial *fasthttp.ErrDialWithUpstream
					if refused && (!errors.As(err, &dial) || dial.Upstream != addr || !strings.Contains(err.Error(), "DialDualStack")) {
						b.t.Errorf("%s: the error does not name the address and the remedy: %v", name, err)
					}
				}
			}
		}
	})
}

// otherClientErrors are errors of calls that take more than one request to provoke, or that other clients return.
var otherClientErrors = []struct {
	name, how string
	is        func(error) bool
	provoke   func(b *badServer) error
}{
	{"ErrTimeout", "DoTimeout", same(fasthttp.ErrTimeout), func(b *badServer) error {
		hc := b.host(silent)
		return hc.DoTimeout(b.request(hc.Addr), nil, 50*time.Millisecond)
	}},
	{"ErrTimeout", "DoDeadline in the past", same(fasthttp.ErrTimeout), func(b *badServer) error {
		hc := b.host(silent)
		return hc.DoDeadline(b.request(hc.Addr), nil, time.Now().Add(-time.Second))
	}},
	{"ErrTimeout", "GetTimeout", same(fasthttp.ErrTimeout), func(b *badServer) error {
		hc := b.host(silent)
		_, _, err := hc.GetTimeout(nil, b.request(hc.Addr).URI().String(), 50*time.Millisecond)
		return err
	}},
	{"ErrTimeout", "PipelineClient", same(fasthttp.ErrTimeout), func(b *badServer) error {
		pc := b.pipeline(silent)
		return pc.DoTimeout(b.request(pc.Addr), nil, 50*time.Millisecond)
	}},
	{"ErrConnectionClosed", "Get", same(fasthttp.ErrConnectionClosed), func(b *badServer) error {
		hc := b.host(hear)
		_, _, err := hc.Get(nil, b.request(hc.Addr).URI().String())
		return err
	}},
	{"ErrConnectionClosed", "second request of a connection", same(fasthttp.ErrConnectionClosed), func(b *badServer) error {
		hc := b.host(func(c net.Conn) { answerOnce("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")(c); hear(c) })
		if err := hc.Do(b.request(hc.Addr), nil); err != nil {
			return err
		}
		req := b.request(hc.Addr)
		makePost(req)
		return hc.Do(req, nil)
	}},
	{"ErrConnectionClosed", "LBClient", same(fasthttp.ErrConnectionClosed), func(b *badServer) error {
		hc := b.host(hear)
		return (&fasthttp.LBClient{Clients: []fasthttp.BalancingClient{hc}}).Do(b.request(hc.Addr), nil)
	}},
	{"io.EOF", "PipelineClient", same(io.EOF), func(b *badServer) error {
		pc := b.pipeline(hear)
		return pc.Do(b.request(pc.Addr), nil)
	}},
	{"io.EOF", "PipelineClient, reset", same(io.EOF), func(b *badServer) error {
		pc := b.pipeline(resetting)
		return pc.DoTimeout(b.request(pc.Addr), nil, time.Minute)
	}},
	{"ErrPipelineOverflow", "", same(fasthttp.ErrPipelineOverflow), func(b *badServer) error {
		release := make(chan struct{})
		pc := b.pipeline(func(c net.Conn) { hear(c); <-release })
		pc.MaxPendingRequests, pc.ReadTimeout = 1, time.Minute
		failed := make(chan error, 4)
		for range cap(failed) {
			go func() { failed <- pc.Do(b.request(pc.Addr), nil) }()
		}
		err := <-failed
		close(release)
		for range cap(failed) - 1 {
			<-failed
		}
		return err
	}},
	{"ErrNoFreeConns", "", same(fasthttp.ErrNoFreeConns), func(b *badServer) error { return b.busy(0, 0) }},
	{"ErrNoFreeConns", "with time", same(fasthttp.ErrNoFreeConns), func(b *badServer) error { return b.busy(0, time.Minute) }},
	{"ErrNoFreeConns", "after waiting", same(fasthttp.ErrNoFreeConns), func(b *badServer) error { return b.busy(10*time.Millisecond, time.Minute) }},
	{"ErrTimeout", "while waiting", same(fasthttp.ErrTimeout), func(b *badServer) error { return b.busy(time.Minute, 10*time.Millisecond) }},
	{"ErrTimeout", "while waiting without an end", same(fasthttp.ErrTimeout), func(b *badServer) error { return b.busy(-1, 10*time.Millisecond) }},
	{"ErrConnPoolStrategyNotImpl", "second call", same(fasthttp.ErrConnPoolStrategyNotImpl), func(b *badServer) error {
		hc := b.host(answerEach("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		hc.ConnPoolStrategy = 77
		if err := hc.Do(b.request(hc.Addr), nil); err != nil {
			return errors.Join(errors.New("first call"), err)
		}
		for range 2 {
			if err := hc.Do(b.request(hc.Addr), nil); err != fasthttp.ErrConnPoolStrategyNotImpl {
				return err
			}
		}
		return fasthttp.ErrConnPoolStrategyNotImpl
	}},
	{"ErrNoAvailableClients", "", same(fasthttp.ErrNoAvailableClients), func(b *badServer) error {
		return (&fasthttp.LBClient{}).Do(b.request("127.0.0.1:1"), nil)
	}},
	{"ErrTooManyRedirects", "", same(fasthttp.ErrTooManyRedirects), func(b *badServer) error { return b.redirect("302 x", "/a", nil) }},
	{"ErrMissingLocation", "", same(fasthttp.ErrMissingLocation), func(b *badServer) error { return b.redirect("302 x", "", nil) }},
	{"ErrRedirectBodyStream", "", same(fasthttp.ErrRedirectBodyStream), func(b *badServer) error {
		return b.redirect("307 x", "/a", func(req *fasthttp.Request) {
			req.Header.SetMethod("POST")
			req.SetBodyStream(strings.NewReader("x"), 1)
		})
	}},
	{"ErrHostClientRedirectToDifferentScheme", "redirect", same(fasthttp.ErrHostClientRedirectToDifferentScheme), func(b *badServer) error {
		return b.redirect("302 x", b.otherScheme("127.0.0.1:1"), nil)
	}},
	{"ErrHostClientRedirectToDifferentScheme", "redirect to the same host", same(fasthttp.ErrHostClientRedirectToDifferentScheme), func(b *badServer) error {
		return b.redirect("302 x", b.otherScheme(""), nil)
	}},
	{"ErrHostClientRedirectToDifferentScheme", "Do", same(fasthttp.ErrHostClientRedirectToDifferentScheme), func(b *badServer) error {
		req := &fasthttp.Request{}
		req.SetRequestURI(b.otherScheme("127.0.0.1:1"))
		return b.host(hear).Do(req, nil)
	}},
	{"ErrDialTimeout", "wrapped, in fasthttp too", func(err error) bool { return errors.Is(err, fasthttp.ErrDialTimeout) }, func(b *badServer) error {
		_, err := fasthttp.DialTimeout(b.listen(hear), 1)
		return err
	}},
}

// pipeline returns a PipelineClient of a server that does serve with each connection.
func (b *badServer) pipeline(serve func(net.Conn)) *fasthttp.PipelineClient {
	return &fasthttp.PipelineClient{Addr: b.listen(serve), IsTLS: b.config != nil, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
}

// busy makes a call on a HostClient whose only connection is in use.
func (b *badServer) busy(wait, timeout time.Duration) error {
	hc := b.host(silent)
	hc.MaxConns, hc.MaxConnWaitTimeout = 1, wait
	cc, err := hc.AcquireConn(time.Minute, false)
	if err != nil {
		return err
	}
	defer hc.CloseConn(cc)
	if timeout == 0 {
		return hc.Do(b.request(hc.Addr), nil)
	}
	return hc.DoTimeout(b.request(hc.Addr), nil, timeout)
}

// redirect makes a call that is redirected to location: nowhere if that is "", and to the server itself if it has no host.
func (b *badServer) redirect(status, location string, ask func(*fasthttp.Request)) error {
	hc := b.host(func(c net.Conn) {
		head := "HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n"
		switch {
		case strings.HasSuffix(location, "//"):
			head += "Location: " + location + c.LocalAddr().String() + "\r\n"
		case location != "":
			head += "Location: " + location + "\r\n"
		}
		answerEach(head + "\r\n")(c)
	})
	req := b.request(hc.Addr)
	if ask != nil {
		ask(req)
	}
	return hc.DoRedirects(req, &fasthttp.Response{}, 3)
}

// otherScheme returns a URI with the scheme that the server does not speak.
func (b *badServer) otherScheme(host string) string {
	return map[bool]string{true: "http://", false: "https://"}[b.config != nil] + host
}

func TestFromFasthttpOtherClientErrors(t *testing.T) {
	for _, tt := range otherClientErrors {
		t.Run(tt.name+" "+tt.how, func(t *testing.T) {
			t.Parallel()
			onTCPAndTLS(t, func(b *badServer) {
				if err := tt.provoke(b); !tt.is(err) {
					b.t.Errorf("got %T: %v", err, err)
				}
			})
		})
	}
}

// A server that hangs up in the TLS handshake has closed the connection before its response.
func TestFromFasthttpHandshakeCut(t *testing.T) {
	b := &badServer{t, &tls.Config{}}
	hc := b.host(func(c net.Conn) { hear(socketOf(c)) })
	if err := hc.Do(b.request(hc.Addr), nil); err != fasthttp.ErrConnectionClosed {
		t.Errorf("got %T: %v", err, err)
	}
}

// TestFromFasthttpWriteTimeout is in virtual time, as WriteTimeout is for the handshake, too.
func TestFromFasthttpWriteTimeout(t *testing.T) {
	for _, tt := range []struct {
		name   string
		shakes bool
		want   error
	}{
		{"ErrTLSHandshakeTimeout", false, fasthttp.ErrTLSHandshakeTimeout},
		{"ErrTimeout", true, fasthttp.ErrTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onTCPAndTLS(t, func(b *badServer) {
				if b.config == nil && !tt.shakes {
					return
				}
				synctest.Test(b.t, func(t *testing.T) {
					hc := &fasthttp.HostClient{Addr: "a:80", WriteTimeout: time.Second, IsTLS: b.config != nil, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
					hc.Dial = func(string) (net.Conn, error) {
						client, server := memnet.Pipe()
						go stall(server, b.config, tt.shakes)
						return client, nil
					}
					req := b.request("a")
					req.Header.SetMethod("POST")
					req.SetBody(make([]byte, 8<<20))
					if err := hc.Do(req, nil); err != tt.want {
						t.Errorf("got %T: %v", err, err)
					}
					time.Sleep(time.Minute)
				})
			})
		})
	}
}

// stall reads nothing for a while, but for a handshake.
func stall(c net.Conn, config *tls.Config, shakes bool) {
	defer c.Close()
	if config != nil && shakes {
		tls.Server(c, config).Handshake()
	}
	time.Sleep(time.Minute)
}

// With DetailedErrors a call says how its connection ended.
func TestClientDetailedErrors(t *testing.T) {
	onTCPAndTLS(t, func(b *badServer) {
		hc := b.host(hear)
		hc.DetailedErrors = true
		hc.RetryIfErr = func(_ *fasthttp.Request, n int, err error) (bool, bool) {
			if _, ok := err.(*fasthttp.ClosedError); !ok {
				b.t.Errorf("RetryIfErr gets %T: %v", err, err)
			}
			return false, n == 1
		}
		pc := b.pipeline(hear)
		pc.DetailedErrors = true
		for _, err := range []error{hc.Do(b.request(hc.Addr), nil), pc.Do(b.request(pc.Addr), nil)} {
			closed, ok := err.(*fasthttp.ClosedError)
			if !ok || closed.Reused || closed.Written == 0 || !errors.Is(err, fasthttp.ErrConnectionClosed) || !errors.Is(err, io.EOF) {
				b.t.Errorf("got %T: %v", err, err)
			}
		}
	})
}

// unwritable is a connection that cannot be written to.
type unwritable struct{ net.Conn }

func (unwritable) Write([]byte) (int, error) { return 0, net.ErrClosed }

// fasthttp returns what the connection says if a request cannot be written, so errors.Is has to find that.
func TestFromFasthttpUnwritten(t *testing.T) {
	hc := &fasthttp.HostClient{Addr: "a:80", Dial: func(string) (net.Conn, error) {
		client, server := memnet.Pipe()
		server.Close()
		return unwritable{client}, nil
	}}
	err := hc.Do((&badServer{t: t}).request("a"), nil)
	if !errors.Is(err, net.ErrClosed) || !errors.Is(err, fasthttp.ErrConnectionClosed) {
		t.Errorf("got %T: %v", err, err)
	}
}
