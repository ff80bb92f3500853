package middleware_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web/middleware"
)

// fakeDNS returns a resolver. Each lookup of an IPv4 address yields the next of the lists, and later lookups yield the last list.
func fakeDNS(t *testing.T, lists ...string) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pc.Close() })
	var asked atomic.Int64
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			end := 12
			for end < n && buf[end] != 0 {
				end += 1 + int(buf[end])
			}
			question := buf[12 : end+5]
			var addrs []string
			if kind := binary.BigEndian.Uint16(question[len(question)-4:]); kind == 1 {
				addrs = strings.Fields(lists[min(int(asked.Add(1)), len(lists))-1])
			}
			reply := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, byte(len(addrs)), 0, 0, 0, 0}, question...)
			for _, addr := range addrs {
				ip := netip.MustParseAddr(addr).As4()
				reply = append(append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), ip[:]...)
			}
			pc.WriteTo(reply, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// inner is a server on the loopback that must not be reached. It counts connections.
func inner(t *testing.T) (port uint16, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "secret") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String()).Port(), connections
}

func TestPublicDialerRefuses(t *testing.T) {
	port, connections := inner(t)
	dialer := middleware.PublicDialer{Ports: []uint16{port}, Resolver: fakeDNS(t, "127.0.0.1")}
	client := &gallop.Client{DialContext: dialer.DialContext, DialDualStack: true}
	for _, host := range []string{
		"127.0.0.1", "localhost", "rebound.example", "127.0.0.2", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"169.254.169.254", "10.0.0.1", "100.64.0.1",
	} {
		req := gallop.AcquireRequest()
		req.SetRequestURI(fmt.Sprintf("http://%s:%d/", host, port))
		resp := gallop.AcquireResponse()
		if err := client.Do(req, resp); err == nil || strings.Contains(string(resp.Body()), "secret") {
			t.Errorf("%s: %v, %q", host, err, resp.Body())
		} else if ip, err2 := netip.ParseAddr(strings.Trim(host, "[]")); (host == "localhost" || err2 == nil && ip.Is4()) && !errors.Is(err, middleware.ErrNotPublic) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
	for _, network := range []string{"unix", "udp", "ip"} {
		if c, err := dialer.DialContext(t.Context(), network, fmt.Sprintf("1.1.1.1:%d", port)); !errors.Is(err, middleware.ErrNotPublic) {
			t.Errorf("%s: %v, %v", network, c, err)
		}
	}
}

// A name with a public address in the first lookup is refused if the lookup for the connection yields a private one.
func TestPublicDialerRebinding(t *testing.T) {
	port, connections := inner(t)
	resolver := fakeDNS(t, "8.8.8.8", "127.0.0.1")
	if addrs, err := resolver.LookupNetIP(t.Context(), "ip4", "evil.example"); err != nil || addrs[0].Unmap().String() != "8.8.8.8" {
		t.Fatal(addrs, err)
	}
	dialer := middleware.PublicDialer{Ports: []uint16{port}, Resolver: resolver}
	if c, err := dialer.DialContext(t.Context(), "tcp4", fmt.Sprintf("evil.example:%d", port)); !errors.Is(err, middleware.ErrNotPublic) {
		t.Errorf("%v, %v", c, err)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

func TestPublicDialerAllow(t *testing.T) {
	port, connections := inner(t)
	dialer := middleware.PublicDialer{Ports: []uint16{port}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Resolver: fakeDNS(t, "127.0.0.9 10.0.0.1 127.0.0.1")}
	c, err := dialer.DialContext(t.Context(), "tcp4", fmt.Sprintf("many.example:%d", port))
	if err != nil || c.RemoteAddr().String() != fmt.Sprintf("127.0.0.1:%d", port) {
		t.Fatal(c, err)
	}
	c.Close()
	dialer.Ports = nil
	if _, err = dialer.DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port)); !errors.Is(err, middleware.ErrNotPublic) {
		t.Errorf("port %d: %v", port, err)
	}
	if n := connections.Load(); n > 1 {
		t.Errorf("%d connections", n)
	}
}

// A redirect does not lead to an address that is refused.
func TestPublicDialerRedirect(t *testing.T) {
	port, connections := inner(t)
	var to string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }))
	defer s.Close()
	first := netip.MustParseAddrPort(s.Listener.Addr().String())
	dialer := middleware.PublicDialer{Ports: []uint16{first.Port(), port}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	client := &gallop.Client{DialContext: dialer.DialContext, MaxRedirects: 3}
	for _, host := range []string{"127.0.0.2", "127.255.255.254"} {
		to = fmt.Sprintf("http://%s:%d/", host, port)
		req, resp := gallop.AcquireRequest(), gallop.AcquireResponse()
		req.SetRequestURI(s.URL)
		if err := client.Do(req, resp); !errors.Is(err, middleware.ErrNotPublic) {
			t.Errorf("%s: %v %q", to, err, resp.Body())
		}
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}
