package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

func proxyAt(t *testing.T, rawURL string) func(context.Context, *url.URL) (*url.URL, error) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context, *url.URL) (*url.URL, error) { return u, nil }
}

// serveTunnel answers CONNECT, and what comes behind it by serve, on the same connection.
func serveTunnel(nc net.Conn, serve func(net.Conn, *bufio.Reader)) {
	defer nc.Close()
	r := bufio.NewReader(nc)
	var req gallop.Request
	if req.Header.Read(r) != nil || !req.Header.IsConnect() {
		return
	}
	serve(nc, r)
}

// The roots of TLSConfig are for an https proxy as well, its ServerName is not, and the
// sessions with the proxy are resumed.
func TestClientTrustsProxies(t *testing.T) {
	for _, tt := range []struct {
		name, serverName string
		trusts           bool
	}{
		{"trusted", "", true},
		{"another name for the host", "host.test", true},
		{"not trusted", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proxy, host := servertest.NewTLSPeer(t, "proxy.test"), servertest.NewTLSPeer(t, "host.test")
				roots := x509.NewCertPool()
				for _, p := range []*wiretest.TLSPeer{proxy, host} {
					if tt.trusts || p == host {
						roots.AddCert(leafOf(t, p))
					}
				}
				resumed := 0
				proxy.Config.VerifyConnection = func(s tls.ConnectionState) error {
					if s.DidResume {
						resumed++
					}
					return nil
				}
				addr := "host.test:443"
				if tt.serverName != "" {
					addr = "alias.test:443"
				}
				dial := wiretest.Dialer(func(nc net.Conn) error {
					serveTunnel(tls.Server(nc, proxy.Config), func(nc net.Conn, _ *bufio.Reader) {
						_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
						_ = servePanicking(host.Config)(nc)
					})
					return nil
				})
				c := &gallop.HostClient{Addr: addr, IsTLS: true, Proxy: proxyAt(t, "https://proxy.test"),
					TLSConfig:   &tls.Config{RootCAs: roots, ServerName: tt.serverName},
					DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() }}
				for range 2 {
					status, _, err := c.Get(nil, "https://host.test/")
					if (err == nil && status == 200) != tt.trusts {
						t.Errorf("%d, %v", status, err)
					}
					var unknown x509.UnknownAuthorityError
					if !tt.trusts && !errors.As(err, &unknown) {
						t.Error(err)
					}
					c.CloseIdleConnections()
				}
				time.Sleep(time.Minute)
				if tt.trusts && resumed != 1 {
					t.Errorf("%d of 2 sessions with the proxy were resumed", resumed)
				}
			})
		})
	}
}

func leafOf(t *testing.T, p *wiretest.TLSPeer) *x509.Certificate {
	t.Helper()
	leaf, err := x509.ParseCertificate(p.Config.Certificates[0].Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// A connection through a tunnel is looked at like any other before it is used again.
func TestClientStaleTunnels(t *testing.T) {
	for _, tt := range []struct {
		name  string
		early string // comes with the response of the proxy
		tls   bool   // to the host
		then  func(nc net.Conn)
	}{
		{"plain, closed", "", false, func(nc net.Conn) { nc.Close() }},
		{"early bytes, closed", "HTTP/1.1 103 Early Hints\r\n\r\n", false, func(nc net.Conn) { nc.Close() }},
		{"early bytes, unasked answer", "HTTP/1.1 103 Early Hints\r\n\r\n", false, func(nc net.Conn) {
			_, _ = io.WriteString(nc, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 6\r\n\r\nPOISON")
		}},
		{"TLS, closed", "", true, func(nc net.Conn) { nc.Close() }},
	} {
		for _, proxyTLS := range []bool{false, true} {
			name := tt.name + map[bool]string{false: ", http proxy", true: ", https proxy"}[proxyTLS]
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					defer time.Sleep(time.Hour)
					proxy, host := servertest.NewTLSPeer(t, "proxy.test"), servertest.NewTLSPeer(t, "host.test")
					roots := x509.NewCertPool()
					roots.AddCert(leafOf(t, proxy))
					roots.AddCert(leafOf(t, host))
					serve := func(nc net.Conn) error {
						if proxyTLS {
							nc = tls.Server(nc, proxy.Config)
						}
						serveTunnel(nc, func(nc net.Conn, r *bufio.Reader) {
							_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n"+tt.early)
							if tt.tls {
								nc = tls.Server(nc, host.Config)
								r = bufio.NewReader(nc)
							}
							var req gallop.Request
							if req.Read(r) != nil {
								return
							}
							_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
							time.Sleep(time.Second)
							tt.then(nc)
							time.Sleep(time.Minute)
						})
						return nil
					}
					dials := 0
					c := &gallop.HostClient{Addr: "host.test", IsTLS: tt.tls, Proxy: proxyAt(t, "http://proxy.test"),
						TLSConfig: &tls.Config{RootCAs: roots}, MaxIdemponentCallAttempts: 1}
					if proxyTLS {
						c.Proxy = proxyAt(t, "https://proxy.test")
					}
					c.DialContext = func(context.Context, string, string) (net.Conn, error) {
						dials++
						return wiretest.Dialer(serve)()
					}
					for range 2 {
						var req gallop.Request
						var resp gallop.Response
						req.SetRequestURI("http://host.test/")
						if tt.tls {
							req.SetRequestURI("https://host.test/")
						}
						req.Header.SetMethod("POST")
						if err := c.Do(&req, &resp); err != nil || string(resp.Body()) != "hello" {
							t.Errorf("%v, %q", err, resp.Body())
						}
						time.Sleep(2 * time.Second)
					}
					if dials != 2 {
						t.Errorf("%d connections", dials)
					}
				})
			})
		}
	}
}

// transportFunc answers without a connection.
type transportFunc func(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (retry bool, err error)

func (f transportFunc) RoundTrip(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
	return f(hc, req, resp)
}

// From https to http redirects are followed by those who have asked for it.
func TestClientRedirectToPlain(t *testing.T) {
	down := transportFunc(func(hc *gallop.HostClient, req *gallop.Request, resp *gallop.Response) (bool, error) {
		if hc.IsTLS {
			resp.Header.Set("Location", "http://a.test/plain")
			resp.SetStatusCode(302)
		}
		return false, nil
	})
	for _, allowed := range []bool{false, true} {
		c := &gallop.Client{Transport: down, AllowRedirectToPlain: allowed}
		following := &gallop.Client{Transport: down, AllowRedirectToPlain: allowed, MaxRedirects: 1}
		for name, call := range map[string]func(req *gallop.Request, resp *gallop.Response) error{
			"Do":          following.Do,
			"DoRedirects": func(req *gallop.Request, resp *gallop.Response) error { return c.DoRedirects(req, resp, 1) },
			"Get": func(req *gallop.Request, _ *gallop.Response) error {
				_, _, err := c.Get(nil, req.URI().String())
				return err
			},
		} {
			var req gallop.Request
			var resp gallop.Response
			req.SetRequestURI("https://a.test/")
			err := call(&req, &resp)
			if allowed != (err == nil) || !allowed && !errors.Is(err, gallop.ErrRedirectToPlain) {
				t.Errorf("%s, allowed %v: %v", name, allowed, err)
			}
			if name != "Get" && strings.HasPrefix(req.URI().String(), "http:") != allowed {
				t.Errorf("%s: sent to %s", name, req.URI())
			}
		}
	}
}

// A Client's jar, redirects and proxy work together: each host is reached through the
// proxy, and gets its own cookies, those of answers that redirect included.
func TestClientTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			asked = append(asked, string(ctx.Host())+string(ctx.Path())+" "+string(ctx.Request.Header.Peek("Cookie")))
			switch string(ctx.Path()) {
			case "/login":
				ctx.Response.Header.Set("Set-Cookie", "session=1; Path=/")
				ctx.Redirect("/home", gallop.StatusSeeOther)
			case "/home":
				ctx.Redirect("http://b.test/", gallop.StatusFound)
			}
		}}
		var tunnels []string
		dial := wiretest.Dialer(func(nc net.Conn) error {
			var req gallop.Request
			r := bufio.NewReader(nc)
			if err := req.Header.Read(r); err != nil {
				return err
			}
			tunnels = append(tunnels, string(req.Header.RequestURI()))
			_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
			return s.ServeConn(nc)
		})
		c := &gallop.Client{Jar: &gallop.CookieJar{}, MaxRedirects: 2, Proxy: proxyAt(t, "http://proxy.test"),
			DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
				if addr != "proxy.test:80" {
					t.Errorf("dialed %s", addr)
				}
				return dial()
			}}
		var req gallop.Request
		req.SetRequestURI("http://a.test/login")
		if err := c.Do(&req, nil); err != nil {
			t.Fatal(err)
		}
		req.SetRequestURI("http://a.test/again")
		if err := c.Do(&req, nil); err != nil {
			t.Fatal(err)
		}
		c.CloseIdleConnections()
		synctest.Wait()
		want := "a.test/login |a.test/home session=1|b.test/ |a.test/again session=1"
		if got := strings.Join(asked, "|"); got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
		if got := strings.Join(tunnels, " "); got != "a.test:80 b.test:80" {
			t.Errorf("tunnels to %s", got)
		}
		c.MaxRedirects = 1
		req.SetRequestURI("http://a.test/login")
		if err := c.Do(&req, nil); !errors.Is(err, gallop.ErrTooManyRedirects) {
			t.Error(err)
		}
		c.CloseIdleConnections()
	})
}

// The calls of one line end in time, and send what they are given.
func TestClientOneLiners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				time.Sleep(time.Minute)
			}
			ctx.Write(ctx.Method())
			ctx.Write(ctx.PostArgs().QueryString())
		}}
		dial := wiretest.Dialer(func(nc net.Conn) error { return s.ServeConn(nc) })
		c := &gallop.Client{Dial: func(string) (net.Conn, error) { return dial() }}
		hc := &gallop.HostClient{Addr: "a.test", Dial: c.Dial}
		defer hc.CloseIdleConnections()
		defer c.CloseIdleConnections()
		var args gallop.Args
		args.Set("a", "b c")
		for _, get := range []func(dst []byte, url string, timeout time.Duration) (int, []byte, error){
			c.GetTimeout, hc.GetTimeout,
			func(dst []byte, url string, timeout time.Duration) (int, []byte, error) {
				return c.GetDeadline(dst, url, time.Now().Add(timeout))
			},
			func(dst []byte, url string, timeout time.Duration) (int, []byte, error) {
				return hc.GetDeadline(dst, url, time.Now().Add(timeout))
			},
		} {
			if status, body, err := get(nil, "http://a.test/", time.Second); status != 200 || string(body) != "GET" || err != nil {
				t.Errorf("%d, %q, %v", status, body, err)
			}
			begun := time.Now()
			if _, _, err := get(nil, "http://a.test/slow", time.Second); !errors.Is(err, gallop.ErrTimeout) || time.Since(begun) != time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		}
		for _, post := range []func([]byte, string, *gallop.Args) (int, []byte, error){c.Post, hc.Post} {
			if status, body, err := post(nil, "http://a.test/", &args); status != 200 || string(body) != "POSTa=b+c" || err != nil {
				t.Errorf("%d, %q, %v", status, body, err)
			}
			if status, body, err := post(nil, "http://a.test/", nil); status != 200 || string(body) != "POST" || err != nil {
				t.Errorf("%d, %q, %v", status, body, err)
			}
		}
		time.Sleep(time.Hour)
	})
}

// Dial and DialTimeout may bring a TLS of their own, which is not put into TLS again; that with a proxy is
// another matter.
func TestClientDialsTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proxy, host := servertest.NewTLSPeer(t, "proxy.test"), servertest.NewTLSPeer(t, "host.test")
		roots := x509.NewCertPool()
		roots.AddCert(leafOf(t, proxy))
		roots.AddCert(leafOf(t, host))
		toHost := wiretest.Dialer(servePanicking(host.Config))
		shaken := func(string) (net.Conn, error) {
			nc, err := toHost()
			if err != nil {
				return nil, err
			}
			tc := tls.Client(nc, &tls.Config{RootCAs: roots, ServerName: "host.test"})
			return tc, tc.Handshake()
		}
		toProxy := wiretest.Dialer(func(nc net.Conn) error {
			serveTunnel(tls.Server(nc, proxy.Config), func(nc net.Conn, _ *bufio.Reader) {
				_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
				_ = servePanicking(host.Config)(nc)
			})
			return nil
		})
		through := &gallop.ProxyDialer{
			URL: &url.URL{Scheme: "https", Host: "proxy.test"}, TLSConfig: &tls.Config{RootCAs: roots},
			Connect: func(context.Context, string, string) (net.Conn, error) { return toProxy() },
		}
		for name, setup := range map[string]func(c *gallop.HostClient){
			"Dial": func(c *gallop.HostClient) { c.Dial = shaken },
			"DialTimeout": func(c *gallop.HostClient) {
				c.DialTimeout = func(addr string, _ time.Duration) (net.Conn, error) { return shaken(addr) }
			},
			"Dial of a connection without TLS":     func(c *gallop.HostClient) { c.Dial = func(string) (net.Conn, error) { return toHost() } },
			"Dial through a proxy":                 func(c *gallop.HostClient) { c.Dial = through.Dial },
			"DialTimeout through a proxy":          func(c *gallop.HostClient) { c.DialTimeout = through.DialTimeout },
			"DialContext, which has no say in TLS": func(c *gallop.HostClient) { c.DialContext = through.DialContext },
		} {
			c := &gallop.HostClient{Addr: "host.test:443", IsTLS: true, TLSConfig: &tls.Config{RootCAs: roots}}
			setup(c)
			var req gallop.Request
			var resp gallop.Response
			req.SetRequestURI("https://host.test/")
			err := c.DoTimeout(&req, &resp, time.Minute)
			if err != nil || string(resp.Body()) != "hello" || resp.TLSConnectionState() == nil || resp.TLSConnectionState().ServerName != "host.test" {
				t.Errorf("%s: %v, %q, %+v", name, err, resp.Body(), resp.TLSConnectionState())
			}
			c.CloseIdleConnections()
		}
		time.Sleep(time.Hour)
	})
}
