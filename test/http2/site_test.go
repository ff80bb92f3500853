// Package http2_test shows that everything a RequestCtx offers works on a stream of HTTP/2. Each test runs over cleartext
// and over TLS, on event loops and on goroutines, in virtual time. Tests about time do not use TLS.
//
//	site_test.go         servers in memory
//	client_test.go       a client that sends frames and waits for frames
//	time_*.go            tests about time: limits, lost clients, a busy server
//	time_client_test.go  their client, which notes all frames
package http2_test

import (
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

func TestMain(m *testing.M) { wiretest.RunWithRareGC(m) }

// site is where a test serves: how connections are served, and whether they use TLS.
type site struct {
	t   *testing.T
	on  servertest.Transport
	tls bool

	dialer *tls.Config // of clients; nil is the default

	s   *gallop.Server
	ln  servertest.Listener
	log servertest.Log
}

// certificate returns a certificate that all tests share.
var certificate = sync.OnceValues(func() (cert, key []byte) {
	cert, key, err := gallop.GenerateTestCertificate("localhost")
	if err != nil {
		panic(err)
	}
	return cert, key
})

// onSites runs a test on each kind of site, as a subtest in virtual time.
func onSites(t *testing.T, test func(w *site)) {
	t.Helper()
	certificate()
	for _, on := range servertest.Transports {
		for name, overTLS := range map[string]bool{"h2c": false, "h2": true} {
			t.Run(on.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test(&site{t: t, on: on, tls: overTLS}) })
			})
		}
	}
}

// serve serves with s until the test ends.
func (w *site) serve(s *gallop.Server) {
	w.t.Helper()
	w.s = s
	s.Protocols = new(gallop.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	if s.Logger == nil {
		s.Logger = &w.log
	}
	w.ln = w.on.Listen(s)
	ended := make(chan error, 1)
	go func() {
		if w.tls {
			cert, key := certificate()
			ended <- s.ServeTLSEmbed(w.ln, cert, key)
		} else {
			ended <- s.Serve(w.ln)
		}
	}()
	w.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	synctest.Wait()
}

// handle serves with a server that has only a handler.
func (w *site) handle(h gallop.RequestHandler) { w.serve(&gallop.Server{Handler: h}) }

// connect opens a connection, which uses the protocol if it is over TLS.
func (w *site) connect(protocol string) net.Conn {
	w.t.Helper()
	nc, err := w.ln.Dial()
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { nc.Close() })
	if !w.tls {
		return nc
	}
	config := &tls.Config{}
	if w.dialer != nil {
		config = w.dialer.Clone()
	}
	config.InsecureSkipVerify, config.NextProtos = true, []string{protocol}
	tc := tls.Client(nc, config)
	if err := tc.Handshake(); err != nil {
		w.t.Fatal(err)
	}
	if got := tc.ConnectionState().NegotiatedProtocol; got != protocol {
		w.t.Fatalf("protocol %q, want %q", got, protocol)
	}
	return tc
}

// await receives from ch, and fails the test if nothing comes for an hour.
func await[T any](w *site, ch <-chan T) (v T) {
	w.t.Helper()
	select {
	case v = <-ch:
	case <-time.After(time.Hour):
		w.t.Fatal("nothing happens")
	}
	return v
}
