// Package http2peers_test connects each side of HTTP/2 to several peers.
//
//	helper_test.go         servers for the client: gallop's, net/http's, and scripts of frames
//	std_clients_test.go    the server with net/http's client
//	other_clients_test.go  the server with curl, nghttp, h2load, Node.js and Python
//	other_servers_test.go  the client with nghttpd, nginx, Node.js and hypercorn
//
// Tests are skipped if their program is not installed. The other files test the client with the servers of helper_test.go, except
// server_memory_linux_test.go, which measures the server.
package http2peers_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

func TestMain(m *testing.M) { wiretest.RunWaiting(m) }

// protocols returns the set of the protocols that the functions add.
func protocols(set ...func(p *gallop.Protocols, ok bool)) *gallop.Protocols {
	p := new(gallop.Protocols)
	for _, f := range set {
		f(p, true)
	}
	return p
}

var (
	h1, h2, h2c = (*gallop.Protocols).SetHTTP1, (*gallop.Protocols).SetHTTP2, (*gallop.Protocols).SetUnencryptedHTTP2
)

// overMemory returns a client for a gallop server without TLS, on connections in memory.
func overMemory(t *testing.T, s *gallop.Server) *gallop.HostClient {
	t.Helper()
	ln := memnet.NewListener()
	s.Protocols = protocols(h1, h2c)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	c := &gallop.HostClient{
		Addr: "example.com:80", Protocols: protocols(h2c), DetailedErrors: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() },
	}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		ln.Close()
		s.Shutdown()
		<-done
	})
	return c
}

// peers are the servers on which a test runs. Each one echoes, see echo and echoStd.
var peers = []struct {
	name  string
	start func(t *testing.T) *gallop.HostClient
}{
	{"gallop without TLS", func(t *testing.T) *gallop.HostClient { return overMemory(t, &gallop.Server{Handler: echo}) }},
	{"gallop", func(t *testing.T) *gallop.HostClient {
		cert, key, err := gallop.GenerateTestCertificate("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gallop.Server{Handler: echo, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}}
		go s.ServeTLS(ln, "", "")
		t.Cleanup(func() { s.Shutdown() })
		return secured(t, ln.Addr().String())
	}},
	{"gallop on a socket", overSocket},
	{"net/http", func(t *testing.T) *gallop.HostClient { return overStd(t, echoStd) }},
}

// overSocket returns a client for a gallop server without TLS, over TCP.
func overSocket(t *testing.T) *gallop.HostClient {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gallop.Server{Handler: echo, Protocols: protocols(h2c)}
	go s.Serve(ln)
	c := &gallop.HostClient{Addr: ln.Addr().String(), Protocols: protocols(h2c), DetailedErrors: true}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		s.Shutdown()
	})
	return c
}

func secured(t *testing.T, addr string) *gallop.HostClient {
	c := &gallop.HostClient{
		Addr: addr, IsTLS: true, Protocols: protocols(h1, h2), DetailedErrors: true,
		TLSConfig: &tls.Config{InsecureSkipVerify: true},
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// overStd returns a client for a server of net/http.
func overStd(t *testing.T, h http.HandlerFunc) *gallop.HostClient {
	return secured(t, newStd(t, true, h))
}

// onPeers runs a test with each server.
func onPeers(t *testing.T, test func(t *testing.T, c *gallop.HostClient)) {
	for _, peer := range peers {
		t.Run(peer.name, func(t *testing.T) { test(t, peer.start(t)) })
	}
}

// echo responds with the protocol, the method, the target and some headers in headers, and with the body of the request.
func echo(ctx *gallop.RequestCtx) {
	req, resp := &ctx.Request, &ctx.Response
	switch string(ctx.Path()) {
	case "/status":
		ctx.SetStatusCode(ctx.QueryArgs().GetUintOrZero("code"))
		return
	case "/hints":
		resp.Header.Set("Link", "</a.css>")
		ctx.EarlyHints()
	case "/slow":
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
		return
	}
	resp.Header.Set("X-Proto", string(req.Header.Protocol()))
	resp.Header.Set("X-Method", string(ctx.Method()))
	resp.Header.Set("X-Target", string(ctx.RequestURI()))
	resp.Header.Set("X-Host", string(ctx.Host()))
	resp.Header.Set("X-Agent", string(req.Header.UserAgent()))
	resp.Header.Set("X-Length", fmt.Sprint(req.Header.ContentLength()))
	resp.SetBody(req.Body())
	if sum := req.Header.PeekTrailer("X-Sum"); len(sum) > 0 {
		resp.Header.SetTrailer("X-Sum")
		resp.Header.SetBytesV("X-Sum", sum)
	}
}

// echoStd does the same for net/http.
func echoStd(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/status":
		var code int
		fmt.Sscan(r.URL.Query().Get("code"), &code)
		w.WriteHeader(code)
		return
	case "/hints":
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(http.StatusEarlyHints)
	case "/slow":
		<-r.Context().Done()
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Set("X-Proto", r.Proto)
	h.Set("X-Method", r.Method)
	h.Set("X-Target", r.RequestURI)
	h.Set("X-Host", r.Host)
	h.Set("X-Agent", r.UserAgent())
	h.Set("X-Length", fmt.Sprint(r.ContentLength))
	if sum := r.Trailer.Get("X-Sum"); sum != "" {
		h.Set(http.TrailerPrefix+"X-Sum", sum)
	}
	w.Write(body)
}

// request returns a request for example.com, or for an https URL if the client needs that.
func request(c *gallop.HostClient, method, path, body string) *gallop.Request {
	req := &gallop.Request{}
	scheme := "http"
	if c.IsTLS {
		scheme = "https"
	}
	req.SetRequestURI(scheme + "://example.com" + path)
	req.Header.SetMethod(method)
	if body != "" {
		req.SetBodyString(body)
	}
	return req
}

// script is a server whose frames a test writes and reads itself. It serves one connection after the other.
type script struct {
	t     *testing.T
	conns chan net.Conn
	nc    net.Conn
	fr    *http2.Framer
	enc   bytes.Buffer
	hp    *hpack.Encoder
	dials atomic.Int32
}

// scripted returns a client without TLS, and its server.
func scripted(t *testing.T) (*gallop.HostClient, *script) {
	s := &script{t: t, conns: make(chan net.Conn, 100)}
	c := &gallop.HostClient{
		Addr: "example.com:80", Protocols: protocols(h2c), DetailedErrors: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			s.dials.Add(1)
			client, server := memnet.Pipe()
			s.conns <- server
			return client, nil
		},
	}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		if s.nc != nil {
			s.nc.Close()
		}
	})
	return c, s
}

// accept takes the next connection, and greets the client.
func (s *script) accept(settings ...http2.Setting) {
	s.t.Helper()
	s.nc = <-s.conns
	s.enc.Reset()
	s.hp = hpack.NewEncoder(&s.enc)
	s.fr = http2.NewFramer(s.nc, s.nc)
	s.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(s.nc, preface); err != nil {
		s.t.Fatal(err)
	}
	s.must(s.fr.WriteSettings(settings...))
}

func (s *script) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// next returns the next frame of the client that is about a stream. Other frames are skipped.
func (s *script) next() string {
	for {
		f, err := s.fr.ReadFrame()
		if err != nil {
			return err.Error()
		}
		id, end := f.Header().StreamID, ""
		if f.Header().Flags.Has(http2.FlagDataEndStream) {
			end = " end"
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			return fmt.Sprintf("HEADERS %d%s", id, end)
		case *http2.DataFrame:
			return fmt.Sprintf("DATA %d %q%s", id, f.Data(), end)
		case *http2.RSTStreamFrame:
			return fmt.Sprintf("RST_STREAM %d %v", id, f.ErrCode)
		}
	}
}

func (s *script) wants(frames ...string) {
	s.t.Helper()
	for _, want := range frames {
		if got := s.next(); got != want {
			s.t.Errorf("the client sends %q, want %q", got, want)
		}
	}
}

// head sends HEADERS.
func (s *script) head(stream uint32, end bool, lines ...string) {
	s.t.Helper()
	s.enc.Reset()
	for i := 0; i < len(lines); i += 2 {
		s.must(s.hp.WriteField(hpack.HeaderField{Name: lines[i], Value: lines[i+1]}))
	}
	s.must(s.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: s.enc.Bytes(), EndHeaders: true, EndStream: end}))
}

// respond sends a response with a body.
func (s *script) respond(stream uint32, body string) {
	s.t.Helper()
	s.head(stream, false, ":status", "200")
	s.must(s.fr.WriteData(stream, true, []byte(body)))
}

// result is a call on its own goroutine.
type result struct {
	done chan struct{}
	resp gallop.Response
	err  error
}

func start(c *gallop.HostClient, req *gallop.Request) *result {
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = c.Do(req, &r.resp)
	}()
	return r
}

// await waits for a call.
func (r *result) await(t *testing.T) {
	t.Helper()
	select {
	case <-r.done:
	case <-time.After(time.Hour):
		t.Fatal("the call does not end")
	}
}

// want waits for a call, and checks its body.
func (r *result) want(t *testing.T, body string) {
	t.Helper()
	if r.await(t); r.err != nil || string(r.resp.Body()) != body {
		t.Errorf("%q, %v, want %q", r.resp.Body(), r.err, body)
	}
}

// fails waits for a call, and checks that its error has a text.
func (r *result) fails(t *testing.T, text string) {
	t.Helper()
	if r.await(t); r.err == nil || !strings.Contains(r.err.Error(), text) {
		t.Errorf("%v, want %q", r.err, text)
	}
}

// newStd starts a server of net/http, and returns its address.
func newStd(t *testing.T, withHTTP2 bool, h http.HandlerFunc) string {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = withHTTP2
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}
