package gallop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// fakeNet is a network for dialers: names with addresses, and addresses that answer
// after a while. Addresses that are not in it do not exist.
type fakeNet struct {
	names map[string]string   // addresses with blanks between them; "fail" fails
	slow  time.Duration       // of a lookup
	hosts map[string]fakeHost // by IP address

	mu      sync.Mutex
	begun   time.Time
	lookups []string
	dialed  []string // "address@time"
	open    int      // connections that are not closed
	dialing int      // in flight
	most    int      // of dialing
}

// fakeHost is how an address answers.
type fakeHost struct {
	after time.Duration
	err   error // nil is a connection
}

var (
	errFakeRefused = errors.New("refused")
	deafHost       = fakeHost{after: time.Hour}
	closedHost     = fakeHost{err: errFakeRefused}
)

// dialer returns a TCPDialer on the network. Time begins now.
func (n *fakeNet) dialer() *TCPDialer {
	n.begun = time.Now()
	return &TCPDialer{Resolver: n, connect: n.connect}
}

func (n *fakeNet) LookupIPAddr(ctx context.Context, name string) (found []net.IPAddr, err error) {
	n.mu.Lock()
	n.lookups = append(n.lookups, fmt.Sprintf("%s@%v", name, time.Since(n.begun)))
	n.mu.Unlock()
	if err := fakeSleep(ctx, n.slow); err != nil {
		return nil, err
	}
	addrs, ok := n.names[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if addrs == "fail" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	for _, s := range strings.Fields(addrs) {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			return nil, err
		}
		found = append(found, net.IPAddr{IP: ip.AsSlice(), Zone: ip.Zone()})
	}
	return found, nil
}

func (n *fakeNet) connect(ctx context.Context, network, addr string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.dialed = append(n.dialed, fmt.Sprintf("%s@%v", at.Addr(), time.Since(n.begun)))
	n.dialing++
	n.most = max(n.most, n.dialing)
	n.mu.Unlock()
	host, ok := n.hosts[at.Addr().String()]
	if !ok {
		host = closedHost
	}
	err = fakeSleep(ctx, host.after)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dialing--
	if err != nil || host.err != nil {
		return nil, errors.Join(err, host.err)
	}
	n.open++
	return &fakeConn{net: n, addr: at}, nil
}

// fakeSleep sleeps as long as ctx allows.
func fakeSleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fakeConn is a connection that nobody uses.
type fakeConn struct {
	net.Conn
	net  *fakeNet
	addr netip.AddrPort
}

func (c *fakeConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.addr) }

func (c *fakeConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.open--
	return nil
}

// Which addresses are tried when, and what comes of it (RFC 8305 §4 and §5).
func TestDialRace(t *testing.T) {
	ok := func(after time.Duration) fakeHost { return fakeHost{after: after} }
	for _, tc := range []struct {
		name    string
		addrs   string
		hosts   map[string]fakeHost
		network string
		local   net.IP
		want    string // the address, or part of the error
		took    time.Duration
		dialed  string
	}{
		{name: "one address", addrs: "192.0.2.1", hosts: map[string]fakeHost{"192.0.2.1": ok(0)},
			want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "one address refuses", addrs: "192.0.2.1",
			want: "refused", dialed: "192.0.2.1@0s"},
		{name: "the first one answers in time", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]fakeHost{"2001:db8::1": ok(200 * time.Millisecond), "192.0.2.1": ok(0)},
			want:  "2001:db8::1", took: 200 * time.Millisecond, dialed: "2001:db8::1@0s"},
		{name: "the first one does not answer", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]fakeHost{"2001:db8::1": deafHost, "192.0.2.1": ok(10 * time.Millisecond)},
			want:  "192.0.2.1", took: 260 * time.Millisecond, dialed: "2001:db8::1@0s 192.0.2.1@250ms"},
		{name: "the first one is slow, and the second one slower", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]fakeHost{"2001:db8::1": ok(300 * time.Millisecond), "192.0.2.1": ok(time.Second)},
			want:  "2001:db8::1", took: 300 * time.Millisecond, dialed: "2001:db8::1@0s 192.0.2.1@250ms"},
		{name: "the first one fails at once", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]fakeHost{"2001:db8::1": closedHost, "192.0.2.1": ok(0)},
			want:  "192.0.2.1", dialed: "2001:db8::1@0s 192.0.2.1@0s"},
		{name: "a failure begins the next one and its own 250 ms", addrs: "192.0.2.1 192.0.2.2 192.0.2.3",
			hosts: map[string]fakeHost{"192.0.2.1": {100 * time.Millisecond, errFakeRefused}, "192.0.2.2": deafHost, "192.0.2.3": ok(0)},
			want:  "192.0.2.3", took: 350 * time.Millisecond, dialed: "192.0.2.1@0s 192.0.2.2@100ms 192.0.2.3@350ms"},
		{name: "families take turns", addrs: "2001:db8::1 2001:db8::2 2001:db8::3 192.0.2.1 192.0.2.2",
			want: "refused", dialed: "2001:db8::1@0s 192.0.2.1@0s 2001:db8::2@0s 192.0.2.2@0s 2001:db8::3@0s"},
		{name: "IPv4 first if the resolver says so", addrs: "192.0.2.1 192.0.2.2 2001:db8::1",
			want: "refused", dialed: "192.0.2.1@0s 2001:db8::1@0s 192.0.2.2@0s"},
		{name: "nobody answers", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]fakeHost{"2001:db8::1": deafHost, "192.0.2.1": deafHost},
			want:  "timed out", took: DefaultDialTimeout, dialed: "2001:db8::1@0s 192.0.2.1@250ms"},
		{name: "the error is that of the best address", addrs: "2001:db8::1 192.0.2.1",
			hosts: map[string]fakeHost{"2001:db8::1": {err: errors.New("no route")}},
			want:  "no route", dialed: "2001:db8::1@0s 192.0.2.1@0s"},
		{name: "IPv4 in IPv6 is IPv4", addrs: "::ffff:192.0.2.1", hosts: map[string]fakeHost{"192.0.2.1": ok(0)},
			want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "a zone is kept", addrs: "fe80::1%eth7", hosts: map[string]fakeHost{"fe80::1%eth7": ok(0)},
			want: "fe80::1%eth7", dialed: "fe80::1%eth7@0s"},
		{name: "tcp4", addrs: "2001:db8::1 192.0.2.1", network: "tcp4", hosts: map[string]fakeHost{"192.0.2.1": ok(0)},
			want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "tcp6", addrs: "192.0.2.1 2001:db8::1", network: "tcp6", hosts: map[string]fakeHost{"2001:db8::1": ok(0)},
			want: "2001:db8::1", dialed: "2001:db8::1@0s"},
		{name: "no address of the family", addrs: "192.0.2.1", network: "tcp6", want: errNoAddress.Error()},
		{name: "from an IPv4 address", addrs: "2001:db8::1 192.0.2.1", local: net.IPv4(192, 0, 2, 99),
			hosts: map[string]fakeHost{"192.0.2.1": ok(0)}, want: "192.0.2.1", dialed: "192.0.2.1@0s"},
		{name: "from an IPv6 address", addrs: "192.0.2.1 2001:db8::1", local: net.ParseIP("2001:db8::99"),
			hosts: map[string]fakeHost{"2001:db8::1": ok(0)}, want: "2001:db8::1", dialed: "2001:db8::1@0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &fakeNet{names: map[string]string{"host.test": tc.addrs}, hosts: tc.hosts}
				d := n.dialer()
				if tc.local != nil {
					d.LocalAddr = &net.TCPAddr{IP: tc.local}
				}
				network := "tcp"
				if tc.network != "" {
					network = tc.network
				}
				nc, err := d.DialContext(t.Context(), network, "host.test:80")
				took := time.Since(n.begun)
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
func checkDialed(t *testing.T, n *fakeNet, nc net.Conn, err error, want, dialed string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	open := 0
	if err == nil {
		open = 1
		if got := nc.(*fakeConn).addr.Addr().String(); got != want {
			t.Errorf("connected to %s, want %s", got, want)
		}
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q", err, want)
	}
	if got := strings.Join(n.dialed, " "); got != dialed {
		t.Errorf("dialed %s, want %s", got, dialed)
	}
	if n.open != open || n.dialing != 0 {
		t.Errorf("%d connections are open, want %d, and %d are being made", n.open, open, n.dialing)
	}
}

// Two addresses that answer at the same moment are one connection.
func TestDialRaceTie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNet{names: map[string]string{"host.test": "192.0.2.1 192.0.2.2"}, hosts: map[string]fakeHost{
			"192.0.2.1": {after: 300 * time.Millisecond}, "192.0.2.2": {after: 50 * time.Millisecond}}}
		if _, err := n.dialer().Dial("host.test:80"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n.open != 1 {
			t.Errorf("%d connections are open", n.open)
		}
	})
}

// The load is spread over the addresses of a name, and the family that answers is
// preferred from then on.
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
				n := &fakeNet{names: map[string]string{"host.test": tc.addrs}, hosts: map[string]fakeHost{}}
				for _, addr := range strings.Fields(tc.addrs) {
					n.hosts[addr] = fakeHost{}
				}
				for _, addr := range tc.dead {
					n.hosts[addr] = deafHost
				}
				d := n.dialer()
				var got []string
				for range 4 {
					n.dialed = nil
					if _, err := d.DialDualStack("host.test:80"); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					addr, _, _ := strings.Cut(n.dialed[0], "@")
					got = append(got, addr)
				}
				if s := strings.Join(got, " "); s != tc.want {
					t.Errorf("got %s, want %s", s, tc.want)
				}
			})
		})
	}
}

// The table says what ends a dial, and with which error.
func TestDialEnds(t *testing.T) {
	slowNames := &fakeNet{slow: time.Hour, names: map[string]string{"host.test": "192.0.2.1"}}
	deaf := &fakeNet{names: map[string]string{"host.test": "192.0.2.1", "two.test": "192.0.2.1 2001:db8::1"},
		hosts: map[string]fakeHost{"192.0.2.1": deafHost, "2001:db8::1": deafHost}}
	for _, tc := range []struct {
		name  string
		net   *fakeNet
		dial  func(ctx context.Context, d *TCPDialer) (net.Conn, error)
		want  error
		after time.Duration
	}{
		{"lookup by default", slowNames, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			return d.Dial("host.test:80")
		}, ErrDialTimeout, DefaultDialTimeout},
		{"lookup by timeout", slowNames, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			return d.DialTimeout("host.test:80", time.Second)
		}, ErrDialTimeout, time.Second},
		{"connecting by default", deaf, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			return d.DialDualStack("host.test:80")
		}, ErrDialTimeout, DefaultDialTimeout},
		{"connecting by timeout", deaf, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			return d.DialDualStackTimeout("two.test:80", 5*time.Second)
		}, ErrDialTimeout, 5 * time.Second},
		{"an address by default", deaf, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			return d.Dial("192.0.2.1:80")
		}, ErrDialTimeout, DefaultDialTimeout},
		{"a timeout that has passed", deaf, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			return d.DialTimeout("host.test:80", 0)
		}, ErrDialTimeout, 0},
		{"Timeout", deaf, func(_ context.Context, d *TCPDialer) (net.Conn, error) {
			d.Timeout = time.Minute
			return d.Dial("host.test:80")
		}, ErrDialTimeout, time.Minute},
		{"no Timeout", deaf, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			d.Timeout = -1
			ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
			defer cancel()
			return d.DialContext(ctx, "tcp", "host.test:80")
		}, ErrDialTimeout, 10 * time.Minute},
		{"the deadline of a context", slowNames, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return d.DialContext(ctx, "tcp", "host.test:80")
		}, ErrDialTimeout, time.Second},
		{"cancelled before", deaf, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return d.DialContext(ctx, "tcp", "host.test:80")
		}, context.Canceled, 0},
		{"cancelled in the lookup", slowNames, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			return cancelledAfter(ctx, time.Second, d, "host.test:80")
		}, context.Canceled, time.Second},
		{"cancelled while connecting", deaf, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			return cancelledAfter(ctx, time.Second, d, "host.test:80")
		}, context.Canceled, time.Second},
		{"cancelled in the race", deaf, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			return cancelledAfter(ctx, time.Second, d, "two.test:80")
		}, context.Canceled, time.Second},
		{"cancelled while waiting for its turn", deaf, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			d.Concurrency = 1
			leave, _ := d.turns.enter(ctx, 1)
			defer leave()
			return cancelledAfter(ctx, time.Second, d, "host.test:80")
		}, context.Canceled, time.Second},
		{"no time for its turn", deaf, func(ctx context.Context, d *TCPDialer) (net.Conn, error) {
			d.Concurrency = 1
			leave, _ := d.turns.enter(ctx, 1)
			defer leave()
			return d.Dial("192.0.2.1:80")
		}, ErrDialTimeout, DefaultDialTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := tc.net.dialer()
				nc, err := tc.dial(t.Context(), d)
				if took := time.Since(tc.net.begun); nc != nil || took != tc.after {
					t.Errorf("took %v, want %v; connection %v", took, tc.after, nc)
				}
				if !errors.Is(err, tc.want) {
					t.Errorf("error %v, want %v", err, tc.want)
				}
				var up *ErrDialWithUpstream
				if !errors.As(err, &up) || !strings.HasSuffix(up.Upstream, ":80") {
					t.Errorf("error %#v does not name the address", err)
				}
				var timeout net.Error
				if is := errors.As(err, &timeout) && timeout.Timeout(); is != (tc.want == ErrDialTimeout) {
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
	n := &fakeNet{names: map[string]string{"host.test": "192.0.2.1"}}
	for _, addr := range []string{"host.test:80", "192.0.2.1:80", "unix:/s"} {
		if _, err := n.dialer().DialContext(ctx, "tcp", addr); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", addr, err)
		}
	}
	if len(n.lookups)+len(n.dialed) != 0 {
		t.Errorf("lookups %v, dialed %v", n.lookups, n.dialed)
	}
}

func cancelledAfter(ctx context.Context, after time.Duration, d *TCPDialer, addr string) (net.Conn, error) {
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
		n := &fakeNet{names: map[string]string{"host.test": "192.0.2.1", "": "192.0.2.1", "a": "192.0.2.1"}, hosts: map[string]fakeHost{"192.0.2.1": {}}}
		nc, err := n.dialer().Dial(addr)
		var up *ErrDialWithUpstream
		if nc != nil || !errors.As(err, &up) || up.Upstream != addr {
			t.Errorf("%q: %v, %v", addr, nc, err)
		}
		if len(n.lookups)+len(n.dialed) != 0 {
			t.Errorf("%q: looked up %v, dialed %v", addr, n.lookups, n.dialed)
		}
	}
	var unknown net.UnknownNetworkError
	if _, err := (&TCPDialer{}).DialContext(t.Context(), "udp", "192.0.2.1:80"); !errors.As(err, &unknown) {
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
				n := &fakeNet{names: map[string]string{"both.test": "2001:db8::1 192.0.2.1", "six.test": "2001:db8::1"},
					hosts: map[string]fakeHost{"2001:db8::1": {}, "192.0.2.1": {}, "::ffff:192.0.2.1": {}}}
				d := n.dialer()
				for name, dial := range map[string]func() (net.Conn, error){
					"Dial":        func() (net.Conn, error) { return d.Dial(tc.addr) },
					"DialTimeout": func() (net.Conn, error) { return d.DialTimeout(tc.addr, time.Second) },
				} {
					n.dialed = nil
					_, err := dial()
					if got := strings.Join(n.dialed, " "); strings.TrimPrefix(got, "::ffff:") != tc.dialed {
						t.Errorf("%s: dialed %q, want %q", name, got, tc.dialed)
					}
					if errors.Is(err, errIPv4Only) != (tc.dialed == "") {
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

// Addresses need no lookup.
func TestDialLiterals(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:80":         "192.0.2.1",
		"[2001:db8::1]:80":     "2001:db8::1",
		"[fe80::1%eth0]:80":    "fe80::1%eth0",
		"[2001:DB8:0:0::1]:80": "2001:db8::1",
	} {
		n := &fakeNet{hosts: map[string]fakeHost{want: {}}}
		nc, err := n.dialer().DialDualStack(addr)
		if err != nil || nc.(*fakeConn).addr.Addr().String() != want || len(n.lookups) != 0 {
			t.Errorf("%s: %v, %v, lookups %v", addr, nc, err, n.lookups)
		}
	}
}

// A host may be called unix.
func TestDialHostCalledUnix(t *testing.T) {
	n := &fakeNet{names: map[string]string{"unix": "192.0.2.1"}, hosts: map[string]fakeHost{"192.0.2.1": {}}}
	if nc, err := n.dialer().Dial("unix:80"); err != nil || nc.RemoteAddr().String() != "192.0.2.1:80" {
		t.Errorf("%v, %v", nc, err)
	}
	if _, err := n.dialer().Dial("unix:./80"); err == nil || len(n.lookups) != 1 {
		t.Errorf("a path: %v, lookups %v", err, n.lookups)
	}
}

// With Concurrency, dials wait for each other, in order, whatever they dial.
func TestDialConcurrency(t *testing.T) {
	for _, addr := range []string{"192.0.2.%d:80", "host%d.test:80"} {
		synctest.Test(t, func(t *testing.T) {
			n := &fakeNet{names: map[string]string{}, hosts: map[string]fakeHost{}}
			for i := range 6 {
				ip := fmt.Sprintf("192.0.2.%d", i)
				n.names[fmt.Sprintf("host%d.test", i)] = ip
				n.hosts[ip] = fakeHost{after: time.Second}
			}
			d := n.dialer()
			d.Concurrency, d.Timeout = 2, time.Minute
			var calls sync.WaitGroup
			for i := range 6 {
				calls.Go(func() {
					if _, err := d.Dial(fmt.Sprintf(addr, i)); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			calls.Wait()
			want := []string{"192.0.2.0@0s", "192.0.2.1@0s", "192.0.2.2@1s", "192.0.2.3@1s", "192.0.2.4@2s", "192.0.2.5@2s"}
			slices.Sort(n.dialed)
			if n.most != 2 || !slices.Equal(n.dialed, want) {
				t.Errorf("%s: %d at a time, %v", addr, n.most, n.dialed)
			}
		})
	}
}

func TestDialTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNet{names: map[string]string{"host.test": "2001:db8::1 192.0.2.1"}, hosts: map[string]fakeHost{"192.0.2.1": {}}}
		var got []string
		note := func(format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }
		ctx := withDialTrace(t.Context(), &dialTrace{
			dnsStart:     func(host string) { note("dns %s", host) },
			dnsDone:      func(host string, addrs []netip.Addr, err error) { note("dns %s %v %v", host, addrs, err) },
			connectStart: func(network, addr string) { note("connect %s", addr) },
			connectDone:  func(network, addr string, err error) { note("connect %s %v", addr, err) },
		})
		d := n.dialer()
		for range 2 {
			if _, err := d.DialContext(ctx, "tcp", "host.test:80"); err != nil {
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
			resolver := &fakeNet{names: map[string]string{"localhost": "::1 127.0.0.1"}}
			d := &TCPDialer{Resolver: resolver}
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
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
		if _, err := Dial(ln.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
		if _, err := DialTimeout("unix:"+path+"x", time.Second); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("from an address", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		nc, err := (&TCPDialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}).Dial(ln.Addr().String())
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
		d := &TCPDialer{DisableDNSResolution: true, Resolver: &fakeNet{}}
		nc, err := d.Dial(fmt.Sprintf("localhost:%d", ln.Addr().(*net.TCPAddr).Port))
		if err != nil {
			t.Fatal(err)
		}
		nc.Close()
	})
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
