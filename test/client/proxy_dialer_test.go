package client_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// scriptedProxy is a proxy that reads what it wants and answers what it is told to.
type scriptedProxy struct {
	steps []proxyStep
	hangs bool     // up, after the steps
	got   []string // what came instead
	addrs []string // dialed
	ended bool     // the client has closed the connection
}

// proxyStep reads as many bytes as want has, or up to an empty line if that is "*",
// and answers.
type proxyStep struct{ want, answer string }

// dialer returns a ProxyDialer whose proxy this is.
func (p *scriptedProxy) dialer(t *testing.T, proxy string) *gallop.ProxyDialer {
	t.Helper()
	u, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	return &gallop.ProxyDialer{URL: u, Connect: func(_ context.Context, _, addr string) (net.Conn, error) {
		p.addrs = append(p.addrs, addr)
		client, server := memnet.Pipe()
		go p.play(server)
		return client, nil
	}}
}

func (p *scriptedProxy) play(nc net.Conn) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	for _, step := range p.steps {
		got := make([]byte, len(step.want))
		if step.want == "*" {
			got = nil
			for !bytes.HasSuffix(got, []byte("\r\n\r\n")) {
				c, err := r.ReadByte()
				if err != nil {
					break
				}
				got = append(got, c)
			}
		} else if n, err := io.ReadFull(r, got); err != nil {
			got = got[:n]
		}
		if string(got) != step.want {
			p.got = append(p.got, string(got))
		}
		for i := range len(step.answer) {
			nc.Write([]byte{step.answer[i]})
			time.Sleep(time.Nanosecond) // until all others wait
		}
	}
	if p.hangs {
		nc.Close()
	}
	rest, _ := io.ReadAll(r)
	p.ended = true
	if len(rest) > 0 {
		p.got = append(p.got, string(rest))
	}
}

const (
	connectHead   = "CONNECT host.test:443 HTTP/1.1\r\nHost: host.test:443\r\n\r\n"
	socksGreeting = "\x05\x01\x00"
	socksAuth     = "\x05\x02\x00\x02"
	socksRequest  = "\x05\x01\x00\x03\x09host.test\x01\xbb"
	socksDone     = "\x05\x00\x00\x01\x7f\x00\x00\x01\x12\x34"
)

// These tests check the bytes sent to proxies, and the effect of their responses. All answers arrive a byte
// at a time.
func TestProxy(t *testing.T) {
	auth := func(value string) string {
		return "CONNECT host.test:443 HTTP/1.1\r\nHost: host.test:443\r\nProxy-Authorization: " + value + "\r\n\r\n"
	}
	ok := "HTTP/1.1 200 OK\r\n\r\n"
	for _, tc := range []struct {
		name, proxy string
		addr        string // host.test:443 if empty
		steps       []proxyStep
		want        string // part of the error
		early       string // what the tunnel has brought
		status      int
	}{
		{name: "CONNECT", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, ok}}},
		{name: "CONNECT, other 2xx", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 299 Fine\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"}}},
		{name: "CONNECT, HTTP/1.0", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.0 200 Connection established\r\n\r\n"}}},
		{name: "CONNECT, interim", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok}}},
		{name: "CONNECT to IPv4", proxy: "http://proxy.test:3128", addr: "192.0.2.1:80", steps: []proxyStep{{"CONNECT 192.0.2.1:80 HTTP/1.1\r\nHost: 192.0.2.1:80\r\n\r\n", ok}}},
		{name: "CONNECT to IPv6", proxy: "http://proxy.test:3128", addr: "[2001:db8::1]:80", steps: []proxyStep{{"CONNECT [2001:db8::1]:80 HTTP/1.1\r\nHost: [2001:db8::1]:80\r\n\r\n", ok}}},
		{name: "CONNECT with user and password", proxy: "http://me:pa%3Ass@proxy.test:3128", steps: []proxyStep{{auth("Basic bWU6cGE6c3M="), ok}}},
		{name: "CONNECT with a user alone", proxy: "http://me@proxy.test:3128", steps: []proxyStep{{auth("Basic bWU6"), ok}}},
		{name: "CONNECT with a password alone", proxy: "http://:pa@proxy.test:3128", steps: []proxyStep{{auth("Basic OnBh"), ok}}},
		{name: "CONNECT and the first bytes of the tunnel", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, ok + "220 hi\r\n"}}, early: "220 hi\r\n"},
		{name: "CONNECT refused", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"}}, want: "responded with 403 Forbidden", status: 403},
		{name: "CONNECT without credentials", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n\r\n"}}, want: "responded with 407", status: 407},
		{name: "CONNECT redirected", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 302 x\r\nLocation: http://evil.test/\r\n\r\n"}}, want: "responded with 302", status: 302},
		{name: "CONNECT switched", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 101 x\r\nUpgrade: x\r\n\r\n"}}, want: "responded with 101", status: 101},
		{name: "CONNECT, interim without end", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, strings.Repeat("HTTP/1.1 100 x\r\n\r\n", 20)}}, want: "too many interim responses"},
		{name: "CONNECT, garbage", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "SSH-2.0-x\r\n\r\n"}}, want: "status line"},
		{name: "CONNECT, head too large", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 17<<10)}}, want: "too large"},
		{name: "CONNECT, too many fields", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 300)}}, want: "too many fields"},
		{name: "CONNECT, closed", proxy: "http://proxy.test:3128", steps: []proxyStep{{connectHead, "HTTP/1.1 200"}}, want: "unexpected EOF"},

		{name: "SOCKS", proxy: "socks5://proxy.test:1080", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, socksDone}}},
		{name: "SOCKS, bound to IPv6", proxy: "socks5h://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, "\x05\x00\x00\x04" + strings.Repeat("x", 18)}}},
		{name: "SOCKS, bound to a name", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, "\x05\x00\x00\x03\x02abxxearly"}}, early: "early"},
		{name: "SOCKS to IPv4", proxy: "socks5://proxy.test", addr: "192.0.2.1:80", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50", socksDone}}},
		{name: "SOCKS to IPv6", proxy: "socks5://proxy.test", addr: "[::1]:80", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {"\x05\x01\x00\x04" + strings.Repeat("\x00", 15) + "\x01\x00\x50", socksDone}}},
		{name: "SOCKS to IPv4 in IPv6", proxy: "socks5://proxy.test", addr: "[::ffff:192.0.2.1]:80", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50", socksDone}}},
		{name: "SOCKS with a password", proxy: "socks5://me:pw@proxy.test", steps: []proxyStep{{socksAuth, "\x05\x02"}, {"\x01\x02me\x02pw", "\x01\x00"}, {socksRequest, socksDone}}},
		{name: "SOCKS with a password that is not asked for", proxy: "socks5://me:pw@proxy.test", steps: []proxyStep{{socksAuth, "\x05\x00"}, {socksRequest, socksDone}}},
		{name: "SOCKS and the first bytes of the tunnel", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, socksDone + "early"}}, early: "early"},
		{name: "SOCKS, wrong password", proxy: "socks5://me:pw@proxy.test", steps: []proxyStep{{socksAuth, "\x05\x02"}, {"\x01\x02me\x02pw", "\x01\x01"}}, want: dial.ErrProxyRejects.Error()},
		{name: "SOCKS, no method", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\xff"}}, want: dial.ErrProxyRejects.Error()},
		{name: "SOCKS, a method that was not offered", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x02"}}, want: dial.ErrSocksReply.Error()},
		{name: "SOCKS 4", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x04"}}, want: dial.ErrSocksReply.Error()},
		{name: "SOCKS, wrong version of the password", proxy: "socks5://me:pw@proxy.test", steps: []proxyStep{{socksAuth, "\x05\x02"}, {"\x01\x02me\x02pw", "\x05\x00"}}, want: dial.ErrSocksReply.Error()},
		{name: "SOCKS, refused", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, "\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00"}}, want: "connection refused"},
		{name: "SOCKS, refused in short", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, "\x05\x02"}}, want: "not allowed"},
		{name: "SOCKS, unknown refusal", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, "\x05\xee"}}, want: "unknown failure"},
		{name: "SOCKS, unknown address", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, "\x05\x00\x00\x02xxxxxx"}}, want: dial.ErrSocksReply.Error()},
		{name: "SOCKS, closed", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "\x05\x00"}, {socksRequest, socksDone[:9]}}, want: "unexpected EOF"},
		{name: "SOCKS, HTTP proxy", proxy: "socks5://proxy.test", steps: []proxyStep{{socksGreeting, "HTTP/1.1 400 Bad Request\r\n\r\n"}}, want: dial.ErrSocksReply.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scriptedProxy{steps: tc.steps, hangs: tc.want == io.ErrUnexpectedEOF.Error()}
				addr := tc.addr
				if addr == "" {
					addr = "host.test:443"
				}
				nc, err := p.dialer(t, tc.proxy).Dial(addr)
				checkTunnel(t, nc, err, addr, tc.want, tc.early, tc.status)
				time.Sleep(time.Second)
				synctest.Wait()
				if len(p.got) != 0 || !p.ended {
					t.Errorf("the proxy got %q, and its connection was closed: %v", p.got, p.ended)
				}
			})
		})
	}
}

// checkTunnel compares an outcome with what is wanted, and closes the connection.
func checkTunnel(t *testing.T, nc net.Conn, err error, addr, want, early string, status int) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(early))
		if _, err := io.ReadFull(iotest.OneByteReader(nc), got); err != nil || string(got) != early {
			t.Errorf("the tunnel begins with %q, %v", got, err)
		}
		nc.Close()
		return
	}
	var up *gallop.ErrDialWithUpstream
	var refused *gallop.ProxyError
	if nc != nil || !errors.As(err, &up) || up.Upstream != addr || !errors.As(err, &refused) {
		t.Fatalf("got %v, %v", nc, err)
	}
	if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
		t.Errorf("error %q, want %q", err, want)
	}
	if !strings.HasPrefix(refused.Proxy, "proxy.test:") || refused.StatusCode != status {
		t.Errorf("got %+v", refused)
	}
}

// Nothing that is not a host and a port is ever said to a proxy, and no dial is even
// begun for it (RFC 9110 §9.3.6).
func TestProxyInjection(t *testing.T) {
	targets := []string{
		"", ":80", ":port#\r\n\r\nGET", "victim:443\r\nX-Injected: yes", "victim\r\nX-Injected: yes:443", "victim:443 HTTP/1.1\r\n\r\n",
		"victim :443", "vic\x00tim:443", "victim\t:443", "victim#:443", "victim/x:443", "victim?x:443", "user@victim:443", "vic%0atim:443",
		"victim:443#", "victim:44 3", "victim:0", "victim:65536", "victim:-1", "a:b:c", "[victim]:443", "[::1%25eth0]:443", "[fe80::1%eth0]:443",
		"[::1]x:443", "..:443", "a..b:443", ".:443", "b\u00fccher.test:443", strings.Repeat("a.", 128) + "a:443",
	}
	for _, scheme := range []string{"http", "socks5"} {
		for _, addr := range targets {
			p := &scriptedProxy{}
			nc, err := p.dialer(t, scheme+"://proxy.test").Dial(addr)
			var up *gallop.ErrDialWithUpstream
			if nc != nil || !errors.As(err, &up) || len(p.addrs) != 0 {
				t.Errorf("%s, %q: %v, %v, dialed %q", scheme, addr, nc, err, p.addrs)
			}
			if strings.ContainsAny(fmt.Sprint(err), "\r\n\x00") {
				t.Errorf("the error %q has control characters", err)
			}
		}
	}
}

// Settings that cannot be used are errors, and never a connection without a proxy.
func TestProxyBadSettings(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, tc := range []struct {
		name, proxy, authorization string
		want                       error
	}{
		{"unknown scheme", "ftp://proxy.test", "", dial.ErrProxyScheme},
		{"no scheme", "//proxy.test", "", dial.ErrProxyScheme},
		{"no host", "http://:80", "", dial.ErrProxyURL},
		{"nothing", "http:", "", dial.ErrProxyURL},
		{"bad port", "http://proxy.test:70000", "", dial.ErrProxyURL},
		{"user with a colon", "http://a%3Ab:c@proxy.test", "", dial.ErrProxyCredentials},
		{"authorization with a line end", "http://proxy.test", "Basic x\r\nX-Injected: yes", dial.ErrProxyCredentials},
		{"SOCKS, user too long", "socks5://" + long + ":x@proxy.test", "", dial.ErrProxyCredentials},
		{"SOCKS, password too long", "socks5://x:" + long + "@proxy.test", "", dial.ErrProxyCredentials},
		{"SOCKS, password without a user", "socks5://:x@proxy.test", "", dial.ErrProxyCredentials},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &scriptedProxy{}
			d := p.dialer(t, tc.proxy)
			d.Authorization = tc.authorization
			if nc, err := d.Dial("host.test:443"); nc != nil || !errors.Is(err, tc.want) || len(p.addrs) != 0 {
				t.Errorf("got %v, %v, dialed %q", nc, err, p.addrs)
			}
		})
	}
}

// A proxy that does not answer is left in time, and its connection is closed.
func TestProxyEnds(t *testing.T) {
	for _, tc := range []struct {
		name  string
		dial  func(ctx context.Context, d *gallop.ProxyDialer) (net.Conn, error)
		want  error
		after time.Duration
	}{
		{"by default", func(_ context.Context, d *gallop.ProxyDialer) (net.Conn, error) {
			return d.Dial("host.test:443")
		}, gallop.ErrDialTimeout, 10 * time.Second},
		{"by timeout", func(_ context.Context, d *gallop.ProxyDialer) (net.Conn, error) {
			return d.DialTimeout("host.test:443", time.Second)
		}, gallop.ErrDialTimeout, time.Second},
		{"Timeout", func(_ context.Context, d *gallop.ProxyDialer) (net.Conn, error) {
			d.Timeout = time.Minute
			return d.Dial("host.test:443")
		}, gallop.ErrDialTimeout, time.Minute},
		{"cancelled", func(ctx context.Context, d *gallop.ProxyDialer) (net.Conn, error) {
			d.Timeout = -1
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			time.AfterFunc(time.Hour, cancel)
			return d.DialContext(ctx, "tcp", "host.test:443")
		}, context.Canceled, time.Hour},
	} {
		for _, steps := range [][]proxyStep{nil, {{"*", ""}}, {{"*", "HTTP/1.1 2"}}} {
			t.Run(fmt.Sprintf("%s/%q", tc.name, steps), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &scriptedProxy{steps: append(slices.Clone(steps), proxyStep{"*", ""})}
					begun := time.Now()
					nc, err := tc.dial(t.Context(), p.dialer(t, "http://proxy.test"))
					var refused *gallop.ProxyError
					if nc != nil || !errors.Is(err, tc.want) || !errors.As(err, &refused) || refused.Proxy != "proxy.test:80" {
						t.Errorf("got %v, %v", nc, err)
					}
					if took := time.Since(begun); took != tc.after {
						t.Errorf("took %v, want %v", took, tc.after)
					}
					synctest.Wait()
					if !p.ended {
						t.Error("the connection is still open")
					}
				})
			})
		}
	}
}

// A tunnel that is ready when nobody wants it any longer is closed.
func TestProxyCancelledAtTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	nc := &wiretest.Pieces{Input: []byte("HTTP/1.1 200 OK\r\n\r\n"), Size: 100, OnRead: cancel}
	d := &gallop.ProxyDialer{
		URL:     &url.URL{Scheme: "http", Host: "proxy.test"},
		Connect: func(context.Context, string, string) (net.Conn, error) { return nc, nil },
	}
	if got, err := d.DialContext(ctx, "tcp", "host.test:443"); got != nil || !errors.Is(err, context.Canceled) || nc.Closed.Load() == 0 {
		t.Errorf("got %v, %v, closed %d times", got, err, nc.Closed.Load())
	}
}

// The table says how variables of the environment decide what is dialed.
func TestProxyRules(t *testing.T) {
	rules := &gallop.ProxyRules{
		HTTPProxy: "plain.test:3128", HTTPSProxy: "https://secure.test",
		NoProxy: "direct.test,10.0.0.0/8,port.test:8080,.below.test",
	}
	for _, tc := range []struct {
		addr  string
		isTLS bool
		want  string // "" is direct
	}{
		{"host.test:80", false, "http://plain.test:3128"},
		{"host.test:443", true, "https://secure.test"},
		{"host.test:443", false, "http://plain.test:3128"},
		{"direct.test:80", false, ""},
		{"a.direct.test:80", false, ""},
		{"notdirect.test:80", false, "http://plain.test:3128"},
		{"10.1.2.3:80", false, ""},
		{"port.test:8080", false, ""},
		{"port.test:80", false, "http://plain.test:3128"},
		{"below.test:80", false, "http://plain.test:3128"},
		{"a.below.test:80", false, ""},
		{"localhost:80", false, ""},
		{"127.0.0.1:443", true, ""},
		{"[::1]:443", true, ""},
	} {
		target := &url.URL{Scheme: "http", Host: tc.addr}
		if tc.isTLS {
			target.Scheme = "https"
		}
		u, err := rules.Proxy(t.Context(), target)
		got := ""
		if u != nil {
			got = u.String()
		}
		if err != nil || got != tc.want {
			t.Errorf("%s, TLS %v: %q, %v, want %q", tc.addr, tc.isTLS, got, err, tc.want)
		}
	}
}

// Proxies of the environment that nobody can use do not mean that there is none.
func TestProxyRulesBroken(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://proxy.test")
	t.Setenv("REQUEST_METHOD", "GET")
	for name, rules := range map[string]*gallop.ProxyRules{
		"bad escape":  {HTTPProxy: "http://%zz"},
		"bad port":    {HTTPSProxy: "http://proxy.test:x"},
		"bad address": {HTTPProxy: "http://me:secret@[::1"},
		"CGI":         gallop.ProxyRulesFromEnvironment(),
	} {
		d := &gallop.ProxyDialer{Proxy: rules.Proxy, Connect: func(context.Context, string, string) (net.Conn, error) {
			t.Errorf("%s: dialed", name)
			return nil, io.EOF
		}}
		if _, err := d.Dial("host.test:80"); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestProxyEnvironment(t *testing.T) {
	for _, name := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
	t.Setenv("HTTP_PROXY", "http://plain.test")
	t.Setenv("https_proxy", "socks5://secure.test")
	t.Setenv("NO_PROXY", "direct.test")
	r := gallop.ProxyRulesFromEnvironment()
	if r.HTTPProxy != "http://plain.test" || r.HTTPSProxy != "socks5://secure.test" || r.NoProxy != "direct.test" {
		t.Errorf("got %+v", r)
	}
	host := &url.URL{Scheme: "http", Host: "host.test:80"}
	if u, err := r.Proxy(t.Context(), host); err != nil || u == nil || u.String() != "http://plain.test" {
		t.Errorf("the proxy is %v, %v", u, err)
	}
	t.Setenv("REQUEST_METHOD", "GET")
	if u, err := gallop.ProxyRulesFromEnvironment().Proxy(t.Context(), host); err == nil {
		t.Errorf("a CGI program trusts HTTP_PROXY: %v", u)
	}
}

// Addresses that need no proxy are dialed directly.
func TestProxyDirect(t *testing.T) {
	rules := &gallop.ProxyRules{HTTPProxy: "proxy.test", NoProxy: "direct.test"}
	var dialed []string
	d := &gallop.ProxyDialer{Proxy: rules.Proxy, Connect: func(_ context.Context, network, addr string) (net.Conn, error) {
		dialed = append(dialed, network+" "+addr)
		return nil, io.EOF
	}}
	for _, addr := range []string{"direct.test:80", "unix:/s", "host.test:80"} {
		if _, err := d.Dial(addr); !errors.Is(err, io.EOF) {
			t.Errorf("%s: got %v", addr, err)
		}
	}
	if want := []string{"tcp direct.test:80", "tcp unix:/s", "tcp proxy.test:80"}; !slices.Equal(dialed, want) {
		t.Errorf("dialed %q, want %q", dialed, want)
	}
}

// Over an https proxy, TLS to the host runs inside TLS to the proxy.
func TestProxyTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy, host := servertest.NewTLSPeer(t, "proxy.test"), servertest.NewTLSPeer(t, "host.test")
		p := &scriptedProxy{}
		d := p.dialer(t, "https://me:pw@proxy.test")
		d.TLSConfig = &tls.Config{RootCAs: proxy.Pool}
		d.Connect = func(_ context.Context, _, addr string) (net.Conn, error) {
			client, server := memnet.Pipe()
			go tunnelTo(proxy, host, server)
			return client, nil
		}
		nc, err := d.Dial("host.test:443")
		if err != nil {
			t.Fatal(err)
		}
		tc := tls.Client(nc, &tls.Config{RootCAs: host.Pool, ServerName: "host.test"})
		got := make([]byte, 5)
		if _, err := io.ReadFull(tc, got); err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
		tc.Close()
		if !slices.Equal(proxy.SNI, []string{"proxy.test"}) || !slices.Equal(host.SNI, []string{"host.test"}) {
			t.Errorf("asked the proxy for %q, the host for %q", proxy.SNI, host.SNI)
		}

		// A proxy whose certificate is wrong learns nothing.
		d.TLSConfig = &tls.Config{RootCAs: host.Pool}
		_, err = d.Dial("host.test:443")
		var refused *gallop.ProxyError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
}

// tunnelTo is an https proxy for one connection, which ends in a host.
func tunnelTo(proxy, host *wiretest.TLSPeer, nc net.Conn) {
	tc := tls.Server(nc, proxy.Config)
	defer tc.Close()
	head := make([]byte, len("CONNECT host.test:443 HTTP/1.1\r\nHost: host.test:443\r\nProxy-Authorization: Basic bWU6cHc=\r\n\r\n"))
	if _, err := io.ReadFull(tc, head); err != nil || !strings.HasSuffix(string(head), "Basic bWU6cHc=\r\n\r\n") {
		return
	}
	io.WriteString(tc, "HTTP/1.1 200 OK\r\n\r\n")
	host.Serve(tc)
}

// However a response to CONNECT is cut, the outcome is the same, and no more than the limit is read.
func FuzzProxyConnectReply(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\nearly"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200\r\nX: y\r\n z\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		whole, whole1 := &wiretest.Pieces{Input: answer, Size: len(answer)}, &wiretest.Pieces{Input: answer, Size: 1}
		through := func(proxy net.Conn) (net.Conn, error) {
			d := &gallop.ProxyDialer{
				URL:     &url.URL{Scheme: "http", Host: "proxy.test"},
				Connect: func(context.Context, string, string) (net.Conn, error) { return proxy, nil },
			}
			return d.Dial("host.test:443")
		}
		tw, errW := through(whole)
		t1, err1 := through(whole1)
		if fmt.Sprint(errW) != fmt.Sprint(err1) {
			t.Fatalf("whole: %v, cut: %v", errW, err1)
		}
		if whole.Wrote.String() != connectHead {
			t.Fatalf("wrote %q", whole.Wrote.String())
		}
		if errW == nil {
			wiretest.CompareRest(t, tw, t1, answer)
		}
	})
}
