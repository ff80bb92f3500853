package client_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/target"
	"github.com/gallop-http/gallop/memnet"
)

// dialedHost is what was dialed for a call that failed because of that, or its error.
func dialedHost(call func(dial gallop.DialFunc) error) string {
	dialed := ""
	err := call(func(addr string) (net.Conn, error) {
		dialed = addr
		return nil, errBroken
	})
	if dialed == "" {
		if errors.Is(err, target.ErrIDN) {
			return target.ErrIDN.Error()
		}
		return err.Error()
	}
	return dialed
}

// Hosts beyond ASCII are those that UTS 46 makes of them, or none.
func TestClientInternationalHosts(t *testing.T) {
	for _, tc := range []struct{ name, host, want string }{
		{"ASCII", "example.com", "example.com:80"},
		{"ASCII that is no IDN", "under_score.xn--a.test", "under_score.xn--a.test:80"},
		{"letters", "b\u00fccher.example", "xn--bcher-kva.example:80"},
		{"port", "b\u00fccher.example:8080", "xn--bcher-kva.example:8080"},
		{"capitals", "B\u00dcCHER.example", "xn--bcher-kva.example:80"},
		{"decomposed", "bu\u0308cher.example", "xn--bcher-kva.example:80"},
		{"escaped", "b%C3%BCcher.example", "xn--bcher-kva.example:80"},
		{"another stop", "\u4f8b\u3048\u3002\u30c6\u30b9\u30c8", "xn--r8jz45g.xn--zckzah:80"},
		{"final dot", "b\u00fccher.example.", "xn--bcher-kva.example.:80"},
		{"sharp s stays", "fa\u00df.example", "xn--fa-hia.example:80"},
		{"full width", "\uff45xample.com", "example.com:80"},
		{"a slash", "a\uff0fb.example", target.ErrIDN.Error()},
		{"a blank", "a\u00a0b.example", target.ErrIDN.Error()},
		{"an emoji", "\U0001f40e.example", "xn--5n8h.example:80"},
		{"no letter", "a\u2028b.example", target.ErrIDN.Error()},
		{"no UTF-8", "b\xfccher.example", target.ErrIDN.Error()},
		{"mixed directions", "\u05d0a1.example", target.ErrIDN.Error()},
		{"an empty label", "b\u00fccher..example", target.ErrIDN.Error()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var req gallop.Request
			req.SetRequestURI("http://" + tc.host + "/")
			got := dialedHost(func(dial gallop.DialFunc) error { return (&gallop.Client{Dial: dial}).Do(&req, nil) })
			if got != tc.want {
				t.Errorf("Client: %s, want %s", got, tc.want)
			}
			if tc.name == "escaped" {
				return // it is no address
			}
			got = dialedHost(func(dial gallop.DialFunc) error {
				_, _, err := (&gallop.HostClient{Addr: tc.host, Dial: dial}).Get(nil, "http://a.test/")
				return err
			})
			if !strings.HasSuffix(tc.host, ":8080") && got == strings.TrimSuffix(tc.want, ":80") {
				got = gallop.AddMissingPort(got, false) // which is left to Dial
			}
			if got != tc.want {
				t.Errorf("HostClient.Addr: %s, want %s", got, tc.want)
			}
		})
	}
}

// The Host field has the same form, also behind a redirect.
func TestClientInternationalHostField(t *testing.T) {
	var hosts []string
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		hosts = append(hosts, string(ctx.Host()))
		if len(hosts) == 1 {
			ctx.Response.Header.Set("Location", "http://\u4f8b\u3048.test/")
			ctx.SetStatusCode(302)
		}
	}}
	c := &gallop.Client{Dial: func(string) (net.Conn, error) {
		client, server := memnet.Pipe()
		go s.ServeConn(server)
		return client, nil
	}}
	defer c.CloseIdleConnections()
	if status, _, err := c.Get(nil, "http://b\u00fccher.test/"); status != 200 || err != nil {
		t.Error(status, err)
	}
	if len(hosts) != 2 || hosts[0] != "xn--bcher-kva.test" || hosts[1] != "xn--r8jz45g.test" {
		t.Errorf("asked %q", hosts)
	}
}

// The zone of an address is for the dial, and nobody else gets to see it (RFC 6874 §4). An empty port is none.
func TestClientDialsZonesAndEmptyPorts(t *testing.T) {
	for _, tc := range []struct{ uri, dialed, host string }{
		{"http://[fe80::1%25eth0]/", "[fe80::1%eth0]:80", "[fe80::1]"},
		{"http://[fe80::1%25eth0]:8080/", "[fe80::1%eth0]:8080", "[fe80::1]:8080"},
		{"http://[fe80::1]:8080/", "[fe80::1]:8080", "[fe80::1]:8080"},
		{"http://a.test:/", "a.test:80", "a.test:"},
	} {
		var dialed, host string
		s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) { host = string(ctx.Request.Header.Host()) }}
		c := &gallop.Client{Dial: func(addr string) (net.Conn, error) {
			dialed = addr
			client, server := memnet.Pipe()
			go s.ServeConn(server)
			return client, nil
		}}
		for range 3 { // the head is kept from the second time on
			if status, _, err := c.Get(nil, tc.uri); status != 200 || err != nil {
				t.Errorf("%s: %d, %v", tc.uri, status, err)
			}
			if dialed != tc.dialed || host != tc.host {
				t.Errorf("%s: dialed %q, Host %q", tc.uri, dialed, host)
			}
		}
		c.CloseIdleConnections()
	}
}
