package gallop

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
)

func newTLSPeer(t *testing.T, host string) *wiretest.TLSPeer {
	t.Helper()
	return wiretest.NewTLSPeer(t, host, GenerateTestCertificate)
}

// dialPeer returns a connection to the peer and what its end has become: closed, if the
// client closes it.
func dialPeer(p *wiretest.TLSPeer) (client net.Conn, closed chan struct{}) {
	client, server := memnet.Pipe()
	closed = make(chan struct{})
	go func() {
		defer close(closed)
		p.Serve(server)
	}()
	return client, closed
}

// shake connects to the peer with the config, reads the greeting and closes.
func shake(t *testing.T, p *wiretest.TLSPeer, c *clientTLS, addr string, cfg *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	nc, closed := dialPeer(p)
	tc, err := c.handshake(t.Context(), nc, addr, cfg, nil, 10*time.Second)
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
				cfg := &tls.Config{RootCAs: p.Pool, ServerName: tc.serverName, Time: time.Now}
				state, err := shake(t, p, &clientTLS{}, tc.addr, cfg)
				if (err != nil) != tc.fails {
					t.Fatal(err)
				}
				var up *ErrDialWithUpstream
				if tc.fails && (!errors.As(err, &up) || up.Upstream != tc.addr) {
					t.Errorf("error %#v does not name the address", err)
				}
				if !slices.Equal(p.SNI, []string{tc.sni}) {
					t.Errorf("asked for %q", p.SNI)
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
		tc, err := (&clientTLS{}).handshake(t.Context(), client, addr, nil, nil, time.Minute)
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
		p.Config.MinVersion, p.Config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		if _, err := shake(t, p, &clientTLS{}, "host.test:443", &tls.Config{RootCAs: p.Pool}); err == nil {
			t.Error("TLS 1.1 was agreed on")
		}
		state, err := shake(t, p, &clientTLS{}, "host.test:443", &tls.Config{RootCAs: p.Pool, MinVersion: tls.VersionTLS10})
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
			p.Config.MaxVersion = version
			var one, other clientTLS
			cfg := &tls.Config{RootCAs: p.Pool}
			for i, c := range []*clientTLS{&one, &one, &other} {
				state, err := shake(t, p, c, "host.test:443", cfg)
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
				nc, err := (&clientTLS{}).handshake(ctx, client, "host.test:443", nil, nil, tc.timeout)
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
			nc, _ := dialPeer(p)
			if tc, err := (&clientTLS{}).handshake(ctx, nc, addr, &tls.Config{RootCAs: p.Pool}, nil, 0); err == nil {
				tc.Close()
			}
		}
		if want := []string{"start", "TLS 1.3", "start", "error"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A client that makes a configuration for each connection holds a bounded number of them.
func TestClientHoldsFewSessionCaches(t *testing.T) {
	var s tlsSessions
	first := &tls.Config{}
	if s.of(first) != s.of(first) {
		t.Error("a configuration has two caches")
	}
	if s.of(nil) == nil || s.of(nil) == s.of(first) {
		t.Error("no configuration has none, or that of another one")
	}
	for range 10 * tlsConfigs {
		s.of(&tls.Config{})
	}
	if n := len(s.caches); n > tlsConfigs {
		t.Errorf("%d caches", n)
	}
}

// An expired deadline of a connection is a timeout of the dial, too.
func TestDialErrorOfDeadline(t *testing.T) {
	for _, err := range []error{os.ErrDeadlineExceeded, context.DeadlineExceeded, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}} {
		if got := dialError(t.Context(), err); got != ErrDialTimeout {
			t.Errorf("%v: got %v", err, got)
		}
	}
	if got := dialError(t.Context(), syscall.ETIMEDOUT); got != syscall.ETIMEDOUT {
		t.Errorf("got %v", got)
	}
}
