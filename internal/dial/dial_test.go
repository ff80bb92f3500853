package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// dialer is a Dialer with its Options.
type dialer struct {
	Dialer
	Options
}

// newDialer returns a dialer on the network. Time begins now.
func newDialer(n *wiretest.Net) *dialer {
	n.Begun = time.Now()
	return &dialer{Options: Options{Resolver: n, Connect: n.Connect, Keep: time.Minute}}
}

// dialLimit is how long a dial may take.
const dialLimit = 3 * time.Second

func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	return d.Dial(ctx, &d.Options, network, addr)
}

// addrOf returns the IP address that a connection leads to.
func addrOf(nc net.Conn) string { return nc.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().String() }

// The table says which addresses are tried when, and what the outcome is (RFC 8305 §4 and §5).
func TestDialRace(t *testing.T) {
	ok := func(after time.Duration) wiretest.Host { return wiretest.Host{After: after} }
	for _, tc := range []struct {
		name    string
		addrs   string
		hosts   map[string]wiretest.Host
		network string
		local   net.IP
		want    string // the address, or part of the error
		took    time.Duration
		dialed  string
	}{
		{name: "one address", addrs: "192.0.2.1", hosts: map[string]wiretest.Host{"192.0.2.1": ok(0)},
			want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "one address refuses", addrs: "192.0.2.1",
			want: "refused", dialed: "192.0.2.1@0s"},
		{name: "the first one answers in time", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]wiretest.Host{"2001:db8::1": ok(200 * time.Millisecond), "192.0.2.1": ok(0)},
			want:  "2001:db8::1", took: 200 * time.Millisecond, dialed: "2001:db8::1@0s"},
		{name: "the first one does not answer", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]wiretest.Host{"2001:db8::1": wiretest.DeafHost, "192.0.2.1": ok(10 * time.Millisecond)},
			want:  "192.0.2.1", took: 260 * time.Millisecond, dialed: "2001:db8::1@0s 192.0.2.1@250ms"},
		{name: "the first one is slow, and the second one slower", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]wiretest.Host{"2001:db8::1": ok(300 * time.Millisecond), "192.0.2.1": ok(time.Second)},
			want:  "2001:db8::1", took: 300 * time.Millisecond, dialed: "2001:db8::1@0s 192.0.2.1@250ms"},
		{name: "the first one fails at once", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]wiretest.Host{"2001:db8::1": wiretest.ClosedHost, "192.0.2.1": ok(0)},
			want:  "192.0.2.1", dialed: "2001:db8::1@0s 192.0.2.1@0s"},
		{name: "a failure begins the next one and its own 250 ms", addrs: "192.0.2.1 192.0.2.2 192.0.2.3",
			hosts: map[string]wiretest.Host{"192.0.2.1": {After: 100 * time.Millisecond, Err: wiretest.ErrRefused}, "192.0.2.2": wiretest.DeafHost, "192.0.2.3": ok(0)},
			want:  "192.0.2.3", took: 350 * time.Millisecond, dialed: "192.0.2.1@0s 192.0.2.2@100ms 192.0.2.3@350ms"},
		{name: "families take turns", addrs: "2001:db8::1 2001:db8::2 2001:db8::3 192.0.2.1 192.0.2.2",
			want: "refused", dialed: "2001:db8::1@0s 192.0.2.1@0s 2001:db8::2@0s 192.0.2.2@0s 2001:db8::3@0s"},
		{name: "IPv4 first if the resolver says so", addrs: "192.0.2.1 192.0.2.2 2001:db8::1",
			want: "refused", dialed: "192.0.2.1@0s 2001:db8::1@0s 192.0.2.2@0s"},
		{name: "nobody answers", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]wiretest.Host{"2001:db8::1": wiretest.DeafHost, "192.0.2.1": wiretest.DeafHost},
			want:  "deadline exceeded", took: dialLimit, dialed: "2001:db8::1@0s 192.0.2.1@250ms"},
		{name: "the error is that of the best address", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]wiretest.Host{"2001:db8::1": {Err: errors.New("no route")}},
			want:  "no route", dialed: "2001:db8::1@0s 192.0.2.1@0s"},
		{name: "IPv4 in IPv6 is IPv4", addrs: "::ffff:192.0.2.1", hosts: map[string]wiretest.Host{"192.0.2.1": ok(0)},
			want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "a zone is kept", addrs: "fe80::1%eth7", hosts: map[string]wiretest.Host{"fe80::1%eth7": ok(0)},
			want: "fe80::1%eth7", dialed: "fe80::1%eth7@0s"},
		{name: "tcp4", addrs: "2001:db8::1 192.0.2.1", network: "tcp4", hosts: map[string]wiretest.Host{"192.0.2.1": ok(0)},
			want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "tcp6", addrs: "192.0.2.1 2001:db8::1", network: "tcp6", hosts: map[string]wiretest.Host{"2001:db8::1": ok(0)},
			want: "2001:db8::1", dialed: "2001:db8::1@0s"},
		{name: "no address of the family", addrs: "192.0.2.1", network: "tcp6", want: ErrNoAddress.Error()},
		{name: "from an IPv4 address", addrs: "2001:db8::1 192.0.2.1", local: net.IPv4(192, 0, 2, 99),
			hosts: map[string]wiretest.Host{"192.0.2.1": ok(0)}, want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "from an IPv6 address", addrs: "192.0.2.1 2001:db8::1", local: net.ParseIP("2001:db8::99"),
			hosts: map[string]wiretest.Host{"2001:db8::1": ok(0)}, want: "2001:db8::1", dialed: "2001:db8::1@0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &wiretest.Net{Names: map[string]string{"host.test": tc.addrs}, Hosts: tc.hosts}
				d := newDialer(n)
				if tc.local != nil {
					d.LocalAddr = &net.TCPAddr{IP: tc.local}
				}
				network := "tcp"
				if tc.network != "" {
					network = tc.network
				}
				nc, err := d.dial(t.Context(), network, "host.test:80")
				took := time.Since(n.Begun)
				synctest.Wait()
				checkDialed(t, n, nc, err, tc.want, tc.dialed)
				if took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
			})
		})
	}
}

// checkDialed compares an outcome with the wanted address or part of the error, and checks that nothing else is open
// or in flight.
func checkDialed(t *testing.T, n *wiretest.Net, nc net.Conn, err error, want, dialed string) {
	t.Helper()
	open := 0
	if err == nil {
		open = 1
		if got := addrOf(nc); got != want {
			t.Errorf("connected to %s, want %s", got, want)
		}
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q", err, want)
	}
	if got := strings.Join(n.Dialed, " "); got != dialed {
		t.Errorf("dialed %s, want %s", got, dialed)
	}
	if n.Open != open || n.Dialing != 0 {
		t.Errorf("%d connections are open, want %d, and %d are being made", n.Open, open, n.Dialing)
	}
}

// If two addresses accept at the same moment, one connection is closed.
func TestDialRaceTie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &wiretest.Net{Names: map[string]string{"host.test": "192.0.2.1 192.0.2.2"}, Hosts: map[string]wiretest.Host{
			"192.0.2.1": {After: 300 * time.Millisecond}, "192.0.2.2": {After: 50 * time.Millisecond}}}
		if _, err := newDialer(n).dial(t.Context(), "tcp4", "host.test:80"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n.Open != 1 {
			t.Errorf("%d connections are open", n.Open)
		}
	})
}

// Dials spread over the addresses of a name, and prefer the family of the last connection.
func TestDialTurns(t *testing.T) {
	for _, tc := range []struct {
		name, addrs string
		dead        []string
		want        string // the first address of each dial
	}{
		{"one family", "192.0.2.1 192.0.2.2 192.0.2.3", nil, "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.1"},
		{"two families", "2001:db8::1 192.0.2.1 192.0.2.2 2001:db8::2", nil, "2001:db8::1 2001:db8::2 2001:db8::1 2001:db8::2"},
		{"no way by IPv6", "2001:db8::1 192.0.2.1 192.0.2.2", []string{"2001:db8::1"}, "2001:db8::1 192.0.2.2 192.0.2.1 192.0.2.2"},
		{"no way by IPv4", "192.0.2.1 192.0.2.2 2001:db8::1", []string{"192.0.2.1", "192.0.2.2"}, "192.0.2.1 2001:db8::1 2001:db8::1 2001:db8::1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &wiretest.Net{Names: map[string]string{"host.test": tc.addrs}, Hosts: map[string]wiretest.Host{}}
				for _, addr := range strings.Fields(tc.addrs) {
					n.Hosts[addr] = wiretest.Host{}
				}
				for _, addr := range tc.dead {
					n.Hosts[addr] = wiretest.DeafHost
				}
				d := newDialer(n)
				var got []string
				for range 4 {
					n.Dialed = nil
					if _, err := d.dial(t.Context(), "tcp", "host.test:80"); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					addr, _, _ := strings.Cut(n.Dialed[0], "@")
					got = append(got, addr)
				}
				if s := strings.Join(got, " "); s != tc.want {
					t.Errorf("got %s, want %s", s, tc.want)
				}
			})
		})
	}
}

// IP addresses need no lookup.
func TestDialLiterals(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:80":         "192.0.2.1",
		"[2001:db8::1]:80":     "2001:db8::1",
		"[fe80::1%eth0]:80":    "fe80::1%eth0",
		"[2001:DB8:0:0::1]:80": "2001:db8::1",
	} {
		n := &wiretest.Net{Hosts: map[string]wiretest.Host{want: {}}}
		nc, err := newDialer(n).dial(t.Context(), "tcp", addr)
		if err != nil || addrOf(nc) != want || len(n.Lookups) != 0 {
			t.Errorf("%s: %v, %v, lookups %v", addr, nc, err, n.Lookups)
		}
	}
}

// A host may be called unix.
func TestDialHostCalledUnix(t *testing.T) {
	n := &wiretest.Net{Names: map[string]string{"unix": "192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
	if nc, err := newDialer(n).dial(t.Context(), "tcp4", "unix:80"); err != nil || nc.RemoteAddr().String() != "192.0.2.1:80" {
		t.Errorf("%v, %v", nc, err)
	}
	if _, err := newDialer(n).dial(t.Context(), "tcp4", "unix:./80"); err == nil || len(n.Lookups) != 1 {
		t.Errorf("a path: %v, lookups %v", err, n.Lookups)
	}
}

// With Concurrency, dials to names and to addresses wait for each other, in order.
func TestDialConcurrency(t *testing.T) {
	for _, addr := range []string{"192.0.2.%d:80", "host%d.test:80"} {
		synctest.Test(t, func(t *testing.T) {
			n := &wiretest.Net{Names: map[string]string{}, Hosts: map[string]wiretest.Host{}}
			for i := range 6 {
				ip := fmt.Sprintf("192.0.2.%d", i)
				n.Names[fmt.Sprintf("host%d.test", i)] = ip
				n.Hosts[ip] = wiretest.Host{After: time.Second}
			}
			d := newDialer(n)
			d.Concurrency = 2
			var calls sync.WaitGroup
			for i := range 6 {
				calls.Go(func() {
					if _, err := d.Dial(t.Context(), &d.Options, "tcp4", fmt.Sprintf(addr, i)); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			calls.Wait()
			want := []string{"192.0.2.0@0s", "192.0.2.1@0s", "192.0.2.2@1s", "192.0.2.3@1s", "192.0.2.4@2s", "192.0.2.5@2s"}
			slices.Sort(n.Dialed)
			if n.Most != 2 || !slices.Equal(n.Dialed, want) {
				t.Errorf("%s: %d at a time, %v", addr, n.Most, n.Dialed)
			}
		})
	}
}

func TestDialTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &wiretest.Net{Names: map[string]string{"host.test": "2001:db8::1 192.0.2.1"}, Hosts: map[string]wiretest.Host{"192.0.2.1": {}}}
		var got []string
		note := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
		ctx := WithTrace(t.Context(), &Trace{
			DNSStart:     func(host string) { note("dns %s", host) },
			DNSDone:      func(host string, addrs []netip.Addr, err error) { note("dns %s %v %v", host, addrs, err) },
			ConnectStart: func(network, addr string) { note("connect %s", addr) },
			ConnectDone:  func(network, addr string, err error) { note("connect %s %v", addr, err) },
		})
		d := newDialer(n)
		for range 2 {
			if _, err := d.dial(ctx, "tcp", "host.test:80"); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{
			"dns host.test", "dns host.test [2001:db8::1 192.0.2.1] <nil>",
			"connect [2001:db8::1]:80", "connect [2001:db8::1]:80 refused", "connect 192.0.2.1:80", "connect 192.0.2.1:80 <nil>",
			"connect 192.0.2.1:80", "connect 192.0.2.1:80 <nil>",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// cancelledAfter dials with a context that is cancelled after a time.
func cancelledAfter(ctx context.Context, after time.Duration, d *dialer, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	time.AfterFunc(after, cancel)
	return d.dial(ctx, "tcp", addr)
}
