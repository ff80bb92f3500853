package client_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/target"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// dialerOn returns a TCPDialer on the network. Time begins now.
func dialerOn(n *wiretest.Net) *gallop.TCPDialer {
	n.Begun = time.Now()
	return servertest.ConnectBy(&gallop.TCPDialer{Resolver: n}, n.Connect)
}

// The table says what ends a dial, and with which error.
func TestDialEnds(t *testing.T) {
	slowNames := &wiretest.Net{Slow: time.Hour, Names: map[string]string{"host.test": "192.0.2.1"}}
	deaf := &wiretest.Net{Names: map[string]string{"host.test": "192.0.2.1", "two.test": "192.0.2.1 2001:db8::1"},
		Hosts: map[string]wiretest.Host{"192.0.2.1": wiretest.DeafHost, "2001:db8::1": wiretest.DeafHost}}
	for _, tc := range []struct {
		name  string
		net   *wiretest.Net
		dial  func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error)
		want  error
		after time.Duration
	}{
		{"lookup by default", slowNames, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return d.Dial("host.test:80")
		}, gallop.ErrDialTimeout, gallop.DefaultDialTimeout},
		{"lookup by timeout", slowNames, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return d.DialTimeout("host.test:80", time.Second)
		}, gallop.ErrDialTimeout, time.Second},
		{"connecting by default", deaf, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return d.DialDualStack("host.test:80")
		}, gallop.ErrDialTimeout, gallop.DefaultDialTimeout},
		{"connecting by timeout", deaf, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return d.DialDualStackTimeout("two.test:80", 5*time.Second)
		}, gallop.ErrDialTimeout, 5 * time.Second},
		{"an address by default", deaf, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return d.Dial("192.0.2.1:80")
		}, gallop.ErrDialTimeout, gallop.DefaultDialTimeout},
		{"a timeout that has passed", deaf, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return d.DialTimeout("host.test:80", 0)
		}, gallop.ErrDialTimeout, 0},
		{"Timeout", deaf, func(_ context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			d.Timeout = time.Minute
			return d.Dial("host.test:80")
		}, gallop.ErrDialTimeout, time.Minute},
		{"no Timeout", deaf, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			d.Timeout = -1
			ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
			defer cancel()
			return d.DialContext(ctx, "tcp", "host.test:80")
		}, gallop.ErrDialTimeout, 10 * time.Minute},
		{"the deadline of a context", slowNames, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return d.DialContext(ctx, "tcp", "host.test:80")
		}, gallop.ErrDialTimeout, time.Second},
		{"cancelled before", deaf, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return d.DialContext(ctx, "tcp", "host.test:80")
		}, context.Canceled, 0},
		{"cancelled in the lookup", slowNames, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return cancelledAfter(ctx, time.Second, d, "host.test:80")
		}, context.Canceled, time.Second},
		{"cancelled while connecting", deaf, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return cancelledAfter(ctx, time.Second, d, "host.test:80")
		}, context.Canceled, time.Second},
		{"cancelled in the race", deaf, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			return cancelledAfter(ctx, time.Second, d, "two.test:80")
		}, context.Canceled, time.Second},
		{"cancelled while waiting for its turn", deaf, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			defer takeTurn(ctx, d)()
			return cancelledAfter(ctx, time.Second, d, "host.test:80")
		}, context.Canceled, time.Second},
		{"no time for its turn", deaf, func(ctx context.Context, d *gallop.TCPDialer) (net.Conn, error) {
			defer takeTurn(ctx, d)()
			return d.Dial("192.0.2.1:80")
		}, gallop.ErrDialTimeout, gallop.DefaultDialTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := dialerOn(tc.net)
				nc, err := tc.dial(t.Context(), d)
				if took := time.Since(tc.net.Begun); nc != nil || took != tc.after {
					t.Errorf("took %v, want %v; connection %v", took, tc.after, nc)
				}
				if !errors.Is(err, tc.want) {
					t.Errorf("error %v, want %v", err, tc.want)
				}
				var up *gallop.ErrDialWithUpstream
				if !errors.As(err, &up) || !strings.HasSuffix(up.Upstream, ":80") {
					t.Errorf("error %#v does not name the address", err)
				}
				var timeout net.Error
				if is := errors.As(err, &timeout) && timeout.Timeout(); is != (tc.want == gallop.ErrDialTimeout) {
					t.Errorf("Timeout() is %v", is)
				}
			})
		})
	}
}

// Nothing is done for a context that has ended.
func TestDialNotBegun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := &wiretest.Net{Names: map[string]string{"host.test": "192.0.2.1"}}
	for _, addr := range []string{"host.test:80", "192.0.2.1:80", "unix:/s"} {
		if _, err := dialerOn(n).DialContext(ctx, "tcp", addr); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", addr, err)
		}
	}
	if len(n.Lookups)+len(n.Dialed) != 0 {
		t.Errorf("lookups %v, dialed %v", n.Lookups, n.Dialed)
	}
}

// FlushDNSCache makes a dialer look up a name again. Without FlushDNSCache, the dialer remembers the addresses.
func TestFlushDNSCache(t *testing.T) {
	n := &wiretest.Net{Names: map[string]string{"host.test": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}, "192.0.2.2": {}}}
	d := dialerOn(n)
	dial := func(want string) {
		t.Helper()
		nc, err := d.Dial("host.test:80")
		if err != nil || nc.RemoteAddr().String() != want {
			t.Errorf("dialed %v, error %v; want %s", n.Dialed, err, want)
		}
	}
	dial("192.0.2.1:80")
	n.Names["host.test"] = "192.0.2.2"
	dial("192.0.2.1:80")
	d.FlushDNSCache()
	dial("192.0.2.2:80")
	if len(n.Lookups) != 2 {
		t.Errorf("lookups %v, want two", n.Lookups)
	}
}

// takeTurn starts a dial without a time limit, which does not end and lets no other dial connect. The returned function
// ends the dial.
func takeTurn(ctx context.Context, d *gallop.TCPDialer) (leave func()) {
	d.Concurrency, d.Timeout = 1, -1
	ctx, cancel := context.WithCancel(ctx)
	go func() { _, _ = d.DialContext(ctx, "tcp", "192.0.2.1:80") }()
	synctest.Wait()
	d.Timeout = 0
	return cancel
}

func cancelledAfter(ctx context.Context, after time.Duration, d *gallop.TCPDialer, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	time.AfterFunc(after, cancel)
	return d.DialContext(ctx, "tcp", addr)
}

// Addresses that are none are not dialed.
func TestDialBadAddresses(t *testing.T) {
	for _, addr := range []string{
		"", ":", ":80", "host.test", "host.test:", "host.test:0", "host.test:65536", "host.test:-1", "host.test:+80",
		"host.test:http", "a:b:c", "::1", "::1:80:", "[::1]", "[::1", "host.test:80\r\n", "host.test: 80", "host.test:99999999999999999999",
	} {
		n := &wiretest.Net{Names: map[string]string{"host.test": "192.0.2.1", "": "192.0.2.1", "a": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
		nc, err := dialerOn(n).Dial(addr)
		var up *gallop.ErrDialWithUpstream
		if nc != nil || !errors.As(err, &up) || up.Upstream != addr {
			t.Errorf("%q: %v, %v", addr, nc, err)
		}
		if len(n.Lookups)+len(n.Dialed) != 0 {
			t.Errorf("%q: looked up %v, dialed %v", addr, n.Lookups, n.Dialed)
		}
	}
	var unknown net.UnknownNetworkError
	if _, err := (&gallop.TCPDialer{}).DialContext(t.Context(), "udp", "192.0.2.1:80"); !errors.As(err, &unknown) {
		t.Errorf("udp: %v", err)
	}
}

// Dial and DialTimeout are for IPv4, as in fasthttp.
func TestDialIPv4Only(t *testing.T) {
	for _, tc := range []struct{ name, addr, dialed string }{
		{"both families", "both.test:80", "192.0.2.1@0s"},
		{"IPv6 only", "six.test:80", ""},
		{"IPv4 in IPv6", "[::ffff:192.0.2.1]:80", "192.0.2.1@0s"},
		{"an IPv6 address", "[2001:db8::1]:80", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &wiretest.Net{Names: map[string]string{"both.test": "2001:db8::1 192.0.2.1", "six.test": "2001:db8::1"},
					Hosts: map[string]wiretest.Host{"2001:db8::1": {}, "192.0.2.1": {}, "::ffff:192.0.2.1": {}}}
				d := dialerOn(n)
				for name, try := range map[string]func() (net.Conn, error){
					"Dial":        func() (net.Conn, error) { return d.Dial(tc.addr) },
					"DialTimeout": func() (net.Conn, error) { return d.DialTimeout(tc.addr, time.Second) },
				} {
					n.Dialed = nil
					_, err := try()
					if got := strings.Join(n.Dialed, " "); strings.TrimPrefix(got, "::ffff:") != tc.dialed {
						t.Errorf("%s: dialed %q, want %q", name, got, tc.dialed)
					}
					if errors.Is(err, dial.ErrIPv4Only) != (tc.dialed == "") {
						t.Errorf("%s: %v", name, err)
					}
				}
				for name, dial := range map[string]func() (net.Conn, error){
					"DialDualStack":        func() (net.Conn, error) { return d.DialDualStack(tc.addr) },
					"DialDualStackTimeout": func() (net.Conn, error) { return d.DialDualStackTimeout(tc.addr, time.Second) },
				} {
					if _, err := dial(); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		})
	}
}

// The real network of this machine: both stacks, unix sockets, and what they say.
func TestDialLoopback(t *testing.T) {
	wiretest.CheckLeaks(t)
	path := filepath.Join(t.TempDir(), "s")
	for _, tc := range []struct{ name, network, listen, dial, dialNetwork string }{
		{"IPv4", "tcp", "127.0.0.1:0", "", "tcp"},
		{"IPv6", "tcp", "[::1]:0", "", "tcp"},
		{"a name over IPv4", "tcp", "127.0.0.1:0", "localhost", "tcp"},
		{"a name over IPv6", "tcp", "[::1]:0", "localhost", "tcp"},
		{"unix by prefix", "unix", path, "unix:" + path, "tcp"},
		{"unix by network", "unix", path, path, "unix"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ln, err := net.Listen(tc.network, tc.listen)
			if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
				t.Skipf("this machine has not both IPv4 and IPv6: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			addr := tc.dial
			if tc.network == "tcp" {
				addr = ln.Addr().String()
				if tc.dial != "" {
					addr = fmt.Sprintf("%s:%d", tc.dial, ln.Addr().(*net.TCPAddr).Port)
				}
			}
			// Localhost may be known by one of its addresses only.
			resolver := &wiretest.Net{Names: map[string]string{"localhost": "::1 127.0.0.1"}}
			d := &gallop.TCPDialer{Resolver: resolver}
			if tc.network == "unix" {
				d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} // is for TCP
			}
			nc, err := d.DialContext(t.Context(), tc.dialNetwork, addr)
			if err != nil {
				t.Fatal(err)
			}
			nc.Close()
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		if _, err := gallop.Dial(wiretest.FreeAddress(t)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
		if _, err := gallop.DialTimeout("unix:"+path+"x", time.Second); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("from an address", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		nc, err := (&gallop.TCPDialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}).Dial(ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
	})
	t.Run("names left to package net", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		d := &gallop.TCPDialer{DisableDNSResolution: true, Resolver: &wiretest.Net{}}
		nc, err := d.Dial(fmt.Sprintf("localhost:%d", ln.Addr().(*net.TCPAddr).Port))
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
	})
}

func TestDialInternationalHosts(t *testing.T) {
	for _, disabled := range []bool{false, true} {
		n := &wiretest.Net{}
		d := dialerOn(n)
		d.DisableDNSResolution = disabled
		var asked string
		d.Resolver = wiretest.Resolver(func(_ context.Context, name string) ([]net.IPAddr, error) {
			asked = name
			return nil, errBroken
		})
		servertest.ConnectBy(d, func(_ context.Context, _, addr string) (net.Conn, error) {
			asked, _, _ = net.SplitHostPort(addr)
			return nil, errBroken
		})
		if _, err := d.Dial("b\u00fccher.test:80"); !errors.Is(err, errBroken) || asked != "xn--bcher-kva.test" {
			t.Errorf("asked for %q, %v", asked, err)
		}
		if _, err := d.Dial("a\u2028b.test:80"); !errors.Is(err, target.ErrIDN) {
			t.Error(err)
		}
	}
}
