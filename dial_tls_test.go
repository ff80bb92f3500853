package gallop

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

// tlsPeer is a TLS server with a certificate of its own for one host.
type tlsPeer struct {
	cfg  *tls.Config
	pool *x509.CertPool // trusts it
	sni  []string       // what clients asked for
}

func newTLSPeer(t *testing.T, host string) *tlsPeer {
	t.Helper()
	certPEM, keyPEM, err := GenerateTestCertificate(host)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	p := &tlsPeer{pool: x509.NewCertPool()}
	p.pool.AppendCertsFromPEM(certPEM)
	p.cfg = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	p.cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		p.sni = append(p.sni, hello.ServerName)
		return nil, nil
	}
	return p
}

// serve writes "hello" to a client and waits for its end.
func (p *tlsPeer) serve(nc net.Conn) {
	defer nc.Close()
	tc := tls.Server(nc, p.cfg)
	if tc.Handshake() == nil {
		io.WriteString(tc, "hello")
	}
	io.Copy(io.Discard, nc)
}

// dial returns a connection to the peer and what its end has become: closed, if the
// client closes it.
func (p *tlsPeer) dial() (client net.Conn, closed chan struct{}) {
	client, server := memnet.Pipe()
	closed = make(chan struct{})
	go func() {
		defer close(closed)
		p.serve(server)
	}()
	return client, closed
}

// shake connects with the config, reads the greeting and closes.
func (p *tlsPeer) shake(t *testing.T, c *clientTLS, addr string, cfg *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	nc, closed := p.dial()
	tc, err := c.handshake(t.Context(), nc, addr, cfg, 10*time.Second)
	if err != nil {
		<-closed // by handshake
		return tls.ConnectionState{}, err
	}
	if _, err := io.ReadFull(tc, make([]byte, 5)); err != nil {
		t.Error(err)
	}
	state := tc.(*tls.Conn).ConnectionState()
	tc.Close()
	<-closed
	return state, nil
}

// Whom the certificate has to be for.
func TestClientTLSName(t *testing.T) {
	for _, tc := range []struct {
		name, host, addr, serverName string
		sni                          string
		fails                        bool
	}{
		{name: "a name", host: "host.test", addr: "host.test:443", sni: "host.test"},
		{name: "a name with a dot at its end", host: "host.test", addr: "host.test.:443", sni: "host.test"},
		{name: "an address", host: "192.0.2.1", addr: "192.0.2.1:443"},
		{name: "an address with a zone", host: "fe80::1", addr: "[fe80::1%eth0]:443"},
		{name: "another name", host: "host.test", addr: "evil.test:443", sni: "evil.test", fails: true},
		{name: "another address", host: "192.0.2.1", addr: "192.0.2.2:443", fails: true},
		{name: "a name that is set", host: "host.test", addr: "192.0.2.1:443", serverName: "host.test", sni: "host.test"},
		{name: "another name that is set", host: "host.test", addr: "host.test:443", serverName: "evil.test", sni: "evil.test", fails: true},
		{name: "a socket and a name", host: "host.test", addr: "unix:/s", serverName: "host.test", sni: "host.test"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newTLSPeer(t, tc.host)
				cfg := &tls.Config{RootCAs: p.pool, ServerName: tc.serverName, Time: time.Now}
				state, err := p.shake(t, &clientTLS{}, tc.addr, cfg)
				if (err != nil) != tc.fails {
					t.Fatal(err)
				}
				var up *ErrDialWithUpstream
				if tc.fails && (!errors.As(err, &up) || up.Upstream != tc.addr) {
					t.Errorf("error %#v does not name the address", err)
				}
				if !slices.Equal(p.sni, []string{tc.sni}) {
					t.Errorf("asked for %q", p.sni)
				}
				if !tc.fails && (state.Version < tls.VersionTLS12 || state.NegotiatedProtocol != "http/1.1") {
					t.Errorf("agreed on %+v", state)
				}
				if cfg.ServerName != tc.serverName || cfg.NextProtos != nil || cfg.ClientSessionCache != nil || cfg.MinVersion != 0 {
					t.Error("the config was changed")
				}
			})
		})
	}
}

// An address that does not say whom to expect is an error, and nothing is sent.
func TestClientTLSFailsClosed(t *testing.T) {
	for _, addr := range []string{"", ":443", "host.test", "a:b:c", "host.test:", "::1", "[::1]", "unix:/s", "unix:s:443", "unix:./443", ".:443", "host.test:443:443"} {
		client, server := memnet.Pipe()
		tc, err := (&clientTLS{}).handshake(t.Context(), client, addr, nil, time.Minute)
		if tc != nil || !errors.Is(err, errNoTLSName) {
			t.Errorf("%q: %v, %v", addr, tc, err)
		}
		if sent, _ := io.ReadAll(server); len(sent) != 0 {
			t.Errorf("%q: %d bytes were sent", addr, len(sent))
		}
		cfg, err := (&clientTLS{}).config(&tls.Config{InsecureSkipVerify: true}, addr)
		if err != nil || !cfg.InsecureSkipVerify {
			t.Errorf("%q without checks: %v", addr, err)
		}
	}
	cfg, err := (&clientTLS{}).config(nil, "host.test:443")
	if err != nil || cfg.InsecureSkipVerify || cfg.MinVersion != tls.VersionTLS12 || cfg.ServerName != "host.test" {
		t.Errorf("got %+v, %v", cfg, err)
	}
}

func TestClientTLSProtocols(t *testing.T) {
	for _, tc := range []struct {
		asked, want []string
	}{
		{nil, []string{"http/1.1"}},
		{[]string{"h2"}, []string{"http/1.1"}},
		{[]string{"h2", "http/1.1"}, []string{"http/1.1"}},
		{[]string{"http/1.0", "own"}, []string{"http/1.0", "own"}},
	} {
		asked := slices.Clone(tc.asked)
		cfg, err := (&clientTLS{}).config(&tls.Config{NextProtos: asked}, "host.test:443")
		if err != nil || !slices.Equal(cfg.NextProtos, tc.want) || !slices.Equal(asked, tc.asked) {
			t.Errorf("%q: got %q, %v", tc.asked, cfg.NextProtos, err)
		}
	}
}

// Old versions of the protocol are refused unless they are asked for.
func TestClientTLSVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTLSPeer(t, "host.test")
		p.cfg.MinVersion, p.cfg.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if _, err := p.shake(t, &clientTLS{}, "host.test:443", &tls.Config{RootCAs: p.pool}); err == nil {
			t.Error("TLS 1.1 was agreed on")
		}
		state, err := p.shake(t, &clientTLS{}, "host.test:443", &tls.Config{RootCAs: p.pool, MinVersion: tls.VersionTLS10})
		if err != nil || state.Version != tls.VersionTLS11 {
			t.Errorf("got %x, %v", state.Version, err)
		}
	})
}

// The connections of a client resume each other's sessions, and those of another
// client do not.
func TestClientTLSResumes(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		synctest.Test(t, func(t *testing.T) {
			p := newTLSPeer(t, "host.test")
			p.cfg.MaxVersion = version
			var one, other clientTLS
			cfg := &tls.Config{RootCAs: p.pool}
			for i, c := range []*clientTLS{&one, &one, &other} {
				state, err := p.shake(t, c, "host.test:443", cfg)
				if err != nil {
					t.Fatal(err)
				}
				if resumed := i == 1; state.DidResume != resumed {
					t.Errorf("%x, handshake %d: resumed is %v", version, i, state.DidResume)
				}
			}
		})
	}
}

// A peer that does not shake hands is left in time.
func TestClientTLSEnds(t *testing.T) {
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		ctx     func(ctx context.Context) (context.Context, context.CancelFunc)
		want    error
		after   time.Duration
	}{
		{"timeout", time.Second, context.WithCancel, ErrTLSHandshakeTimeout, time.Second},
		{"deadline", 0, func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 2*time.Second)
		}, ErrTLSHandshakeTimeout, 2 * time.Second},
		{"cancelled", time.Minute, func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(3*time.Second, cancel)
			return ctx, cancel
		}, context.Canceled, 3 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, cancel := tc.ctx(t.Context())
				defer cancel()
				client, server := memnet.Pipe()
				nc, err := (&clientTLS{}).handshake(ctx, client, "host.test:443", nil, tc.timeout)
				if nc != nil || !errors.Is(err, tc.want) || time.Since(begun) != tc.after {
					t.Errorf("got %v, %v after %v", nc, err, time.Since(begun))
				}
				var timeout net.Error
				if is := errors.As(err, &timeout) && timeout.Timeout(); is != (tc.want == ErrTLSHandshakeTimeout) {
					t.Errorf("Timeout() is %v", is)
				}
				if _, err := io.ReadAll(server); err != nil {
					t.Errorf("the connection was not closed: %v", err)
				}
			})
		})
	}
}

// A client's WriteTimeout is for the handshake, too.
// A body that ends with its connection is whole if TLS says goodbye, and else cut off, be it
// by the server or by somebody on the way (RFC 9112 §9.8).
func TestClientTLSCutOff(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n"
	for name, tc := range map[string]struct {
		answer  string
		goodbye bool
		want    error
	}{
		"goodbye":                      {head + "\r\nbody", true, nil},
		"no goodbye":                   {head + "\r\nbody", false, io.ErrUnexpectedEOF},
		"no goodbye, nothing yet":      {head + "\r\n", false, io.ErrUnexpectedEOF},
		"no goodbye, but a length":     {head + "Content-Length: 4\r\n\r\nbody", false, nil},
		"no goodbye, but a last chunk": {head + "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", false, nil},
	} {
		p := newTLSPeer(t, "host.test")
		connect := wiretest.Dialer(func(nc net.Conn) error {
			defer nc.Close()
			server := tls.Server(nc, p.cfg)
			var req RequestHeader
			if err := req.Read(bufio.NewReader(server)); err != nil {
				return err
			}
			_, err := io.WriteString(server, tc.answer)
			if tc.goodbye {
				err = server.Close()
			}
			return err
		})
		dial := func(string) (net.Conn, error) { return connect() }
		cfg := &tls.Config{RootCAs: p.pool}
		call := func(do func(*Request, *Response) error, stream bool) error {
			var req Request
			var resp Response
			req.SetRequestURI("https://host.test/")
			resp.StreamBody = stream
			if err := do(&req, &resp); err != nil || !stream {
				return err
			}
			_, err := io.ReadAll(resp.BodyStream())
			return err
		}
		for kind, do := range map[string]func() error{
			"whole": func() error {
				return call((&HostClient{Addr: "host.test", IsTLS: true, TLSConfig: cfg, Dial: dial}).Do, false)
			},
			"stream": func() error {
				return call((&HostClient{Addr: "host.test", IsTLS: true, TLSConfig: cfg, Dial: dial}).Do, true)
			},
			"pipeline": func() error {
				return call((&PipelineClient{Addr: "host.test", IsTLS: true, TLSConfig: cfg, Dial: dial}).Do, false)
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				if err := do(); !errors.Is(err, tc.want) {
					t.Errorf("%v, want %v", err, tc.want)
				}
			})
		}
	}
}

func TestClientTLSHandshakeLimit(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0: maxClientHandshake, 3 * time.Second: 3 * time.Second, time.Minute: maxClientHandshake,
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			c := &HostClient{Addr: "host.test", IsTLS: true, WriteTimeout: limit, Dial: func(string) (net.Conn, error) {
				client, server := memnet.Pipe()
				go io.Copy(io.Discard, server)
				return client, nil
			}}
			_, _, err := c.Get(nil, "https://host.test/")
			if took := time.Since(begun); err != ErrTLSHandshakeTimeout || took != want {
				t.Errorf("WriteTimeout %v: %v after %v", limit, err, took)
			}
		})
	}
}

func TestClientTLSTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTLSPeer(t, "host.test")
		var got []string
		ctx := dial.WithTrace(t.Context(), &dial.Trace{
			TLSStart: func() { got = append(got, "start") },
			TLSDone: func(state tls.ConnectionState, err error) {
				if err != nil {
					got = append(got, "error")
				} else {
					got = append(got, tls.VersionName(state.Version))
				}
			},
		})
		for _, addr := range []string{"host.test:443", "evil.test:443"} {
			nc, _ := p.dial()
			if tc, err := (&clientTLS{}).handshake(ctx, nc, addr, &tls.Config{RootCAs: p.pool}, 0); err == nil {
				tc.Close()
			}
		}
		if want := []string{"start", "TLS 1.3", "start", "error"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Over an https proxy, TLS to the host runs inside TLS to the proxy.
func TestProxyTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy, host := newTLSPeer(t, "proxy.test"), newTLSPeer(t, "host.test")
		p := &scriptedProxy{}
		d := p.dialer(t, "https://me:pw@proxy.test")
		d.TLSConfig = &tls.Config{RootCAs: proxy.pool}
		d.Connect = func(_ context.Context, _, addr string) (net.Conn, error) {
			client, server := memnet.Pipe()
			go proxy.tunnelTo(host, server)
			return client, nil
		}
		nc, err := d.Dial("host.test:443")
		if err != nil {
			t.Fatal(err)
		}
		tc, err := (&clientTLS{}).handshake(t.Context(), nc, "host.test:443", &tls.Config{RootCAs: host.pool}, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(tc, got); err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
		tc.Close()
		if !slices.Equal(proxy.sni, []string{"proxy.test"}) || !slices.Equal(host.sni, []string{"host.test"}) {
			t.Errorf("asked the proxy for %q, the host for %q", proxy.sni, host.sni)
		}

		// A proxy whose certificate is wrong learns nothing.
		d.TLSConfig = &tls.Config{RootCAs: host.pool}
		_, err = d.Dial("host.test:443")
		var refused *ProxyError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
}

// tunnelTo is an https proxy for one connection, which ends in a host.
func (p *tlsPeer) tunnelTo(host *tlsPeer, nc net.Conn) {
	tc := tls.Server(nc, p.cfg)
	defer tc.Close()
	head := make([]byte, len("CONNECT host.test:443 HTTP/1.1\r\nHost: host.test:443\r\nProxy-Authorization: Basic bWU6cHc=\r\n\r\n"))
	if _, err := io.ReadFull(tc, head); err != nil || !strings.HasSuffix(string(head), "Basic bWU6cHc=\r\n\r\n") {
		return
	}
	io.WriteString(tc, "HTTP/1.1 200 OK\r\n\r\n")
	host.serve(tc)
}
