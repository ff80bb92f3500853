package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/memnet"
)

// TestSocksHostileProxies has proxies say these bytes, one at a time, and then nothing more.
func TestSocksHostileProxies(t *testing.T) {
	name := strings.Repeat("n", 255)
	for _, tc := range []struct{ name, says, early, want string }{
		{name: "one byte at a time", says: "\x05\x00" + socksDone + "early", early: "early"},
		{name: "longest name", says: "\x05\x00\x05\x00\x00\x03\xff" + name + "xxearly", early: "early"},
		{name: "name of length 0", says: "\x05\x00\x05\x00\x00\x03\x00xxearly", early: "early"},
		{name: "name that is cut off", says: "\x05\x00\x05\x00\x00\x03\xff" + name, want: "deadline"},
		{name: "silent", want: "deadline"},
		{name: "silent behind the method", says: "\x05\x00", want: "deadline"},
		{name: "silent within the method", says: "\x05", want: "deadline"},
		{name: "no version", says: "\x00\x00", want: dial.ErrSocksReply.Error()},
		{name: "GSSAPI", says: "\x05\x01", want: dial.ErrSocksReply.Error()},
		{name: "version of the reply", says: "\x05\x00\x04\x00", want: dial.ErrSocksReply.Error()},
		{name: "address type 0", says: "\x05\x00\x05\x00\x00\x00\x00", want: dial.ErrSocksReply.Error()},
		{name: "reply 1", says: "\x05\x00\x05\x01", want: "general failure"},
		{name: "reply 3", says: "\x05\x00\x05\x03", want: "network unreachable"},
		{name: "reply 4", says: "\x05\x00\x05\x04", want: "host unreachable"},
		{name: "reply 6", says: "\x05\x00\x05\x06", want: "TTL expired"},
		{name: "reply 7", says: "\x05\x00\x05\x07", want: "command not supported"},
		{name: "reply 8", says: "\x05\x00\x05\x08", want: "address type not supported"},
		{name: "reply 9", says: "\x05\x00\x05\x09", want: "unknown failure"},
		{name: "reply 255", says: "\x05\x00\x05\xff", want: "unknown failure"},
	} {
		for _, scheme := range []string{"socks5", "socks5h"} {
			t.Run(tc.name+" "+scheme, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					defer time.Sleep(time.Minute) // the proxy ends in the meantime
					d := gallop.ProxyDialer{URL: &url.URL{Scheme: scheme, Host: "proxy.test"}, Connect: sayingSlowly(tc.says)}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					nc, err := d.DialContext(ctx, "tcp", "host.test:443")
					if err != nil {
						if tc.want == "" || !strings.Contains(err.Error(), tc.want) && (tc.want != "deadline" || !errors.Is(err, gallop.ErrDialTimeout) && !errors.Is(err, context.DeadlineExceeded)) {
							t.Errorf("error %v, want %q", err, tc.want)
						}
						return
					}
					defer nc.Close()
					got := make([]byte, len(tc.early))
					if _, err := io.ReadFull(nc, got); err != nil || string(got) != tc.early || tc.want != "" {
						t.Errorf("got %q, error %v", got, err)
					}
				})
			})
		}
	}
}

// A client that speaks TLS through a hostile SOCKS proxy gets an error in time. Bytes that the proxy sends early are
// not TLS.
func TestSocksHostileProxiesOverTLS(t *testing.T) {
	for _, tc := range []struct{ name, says, want string }{
		{name: "early bytes", says: "\x05\x00" + socksDone + "early", want: "tls: first record does not look like a TLS handshake"},
		{name: "silent behind the reply", says: "\x05\x00" + socksDone, want: "tim"},
		{name: "cut off reply", says: "\x05\x00\x05\x00\x00\x03\xffname", want: "tim"},
		{name: "reply 4", says: "\x05\x00\x05\x04", want: "host unreachable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &gallop.HostClient{
					Addr: "host.test:443", IsTLS: true, Proxy: proxyAt(t, "socks5://proxy.test"), DialContext: sayingSlowly(tc.says),
					TLSConfig: &tls.Config{InsecureSkipVerify: true},
				}
				begun := time.Now()
				status, _, err := c.GetTimeout(nil, "https://host.test/", time.Second)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("status %d, error %v, want %q", status, err, tc.want)
				}
				if took := time.Since(begun); took > time.Second {
					t.Errorf("it took %v", took)
				}
				c.CloseIdleConnections()
				time.Sleep(time.Hour)
			})
		})
	}
}

// sayingSlowly connects to a proxy that says text, one byte every millisecond.
func sayingSlowly(text string) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := memnet.Pipe()
		go func() {
			for i := range len(text) {
				time.Sleep(time.Millisecond)
				_, _ = server.Write([]byte(text[i : i+1]))
			}
			_, _ = io.Copy(io.Discard, server)
			server.Close()
		}()
		return client, nil
	}
}

// Hosts that a SOCKS proxy cannot be asked for are refused before anything is dialed.
func TestSocksHostileTargets(t *testing.T) {
	for name, tc := range map[string]struct {
		host string
		ok   bool
	}{
		"name of 255 bytes": {strings.Repeat("n", 255), true},
		"name of 256 bytes": {strings.Repeat("n", 256), false},
		"NUL":               {"host\x00.test", false},
		"line break":        {"host\r\n.test", false},
		"space":             {"host .test", false},
		"IPv6 with a zone":  {"[fe80::1%eth0]", false},
		"empty":             {"", false},
	} {
		dialed := false
		d := gallop.ProxyDialer{URL: &url.URL{Scheme: "socks5", Host: "proxy.test"}, Connect: func(context.Context, string, string) (net.Conn, error) {
			dialed = true
			return nil, io.EOF
		}}
		if _, err := d.Dial(tc.host + ":80"); err == nil || dialed != tc.ok {
			t.Errorf("%s: dialed %v, error %v", name, dialed, err)
		}
	}
}

// User and password have at most 255 bytes each on the wire. Credentials that do not fit, or a password alone, are
// refused before anything is dialed (RFC 1929 §2).
func TestSocksPasswordLengths(t *testing.T) {
	for name, tc := range map[string]struct {
		user, password string
		ok             bool
	}{
		"none":                  {"", "", true},
		"user":                  {"u", "", true},
		"password alone":        {"", "p", false},
		"255 bytes each":        {strings.Repeat("u", 255), strings.Repeat("p", 255), true},
		"user of 256 bytes":     {strings.Repeat("u", 256), "p", false},
		"password of 256 bytes": {"u", strings.Repeat("p", 256), false},
		"control characters":    {"u\x00\r\n", "\xffp", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said []byte
				ended := make(chan bool)
				dialed := false
				u := &url.URL{Scheme: "socks5h", Host: "proxy.test", User: url.UserPassword(tc.user, tc.password)}
				says, want := "\x05\x02\x01\x00"+socksDone, "\x01"+string([]byte{byte(len(tc.user))})+tc.user+string([]byte{byte(len(tc.password))})+tc.password
				if tc.user == "" {
					u.User, want, says = url.UserPassword("", tc.password), "", "\x05\x00"+socksDone
				}
				d := gallop.ProxyDialer{URL: u, Connect: func(context.Context, string, string) (net.Conn, error) {
					dialed = true
					client, server := memnet.Pipe()
					_, _ = server.Write([]byte(says))
					go func() {
						said, _ = io.ReadAll(server)
						close(ended)
					}()
					return client, nil
				}}
				nc, err := d.Dial("host.test:443")
				if (err == nil) != tc.ok || dialed != tc.ok {
					t.Fatalf("error %v, dialed %v", err, dialed)
				}
				if err != nil {
					return
				}
				nc.Close()
				if <-ended; !strings.Contains(string(said), want) || tc.user == "" && strings.HasPrefix(string(said[1:]), "\x02") {
					t.Errorf("said %q, want %q", said, want)
				}
			})
		})
	}
}

// A canceled dial ends at once, whatever the proxy waits for.
func TestSocksCancel(t *testing.T) {
	for _, says := range []string{"", "\x05", "\x05\x00", "\x05\x00\x05\x00\x00"} {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(time.Minute)
			d := gallop.ProxyDialer{URL: &url.URL{Scheme: "socks5", Host: "proxy.test"}, Connect: sayingSlowly(says)}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			begun := time.Now()
			if _, err := d.DialContext(ctx, "tcp", "host.test:443"); !errors.Is(err, context.Canceled) || time.Since(begun) != time.Second {
				t.Errorf("%q: error %v after %v", says, err, time.Since(begun))
			}
		})
	}
}
