package fasthttpproxy

import (
	"net"
	"testing"

	"github.com/gallop-http/gallop"
	"golang.org/x/net/http/httpproxy"
)

// Dialer uses only IPv4 unless DialDualStack is set, with and without a proxy.
func TestDialerDualStack(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6: ", err)
	}
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		ctx.Hijack(func(net.Conn) {}) // accepts the tunnel
	}}
	go s.Serve(ln)
	t.Cleanup(func() { s.Shutdown() })
	addr := ln.Addr().String()
	for _, dualStack := range []bool{false, true} {
		for name, tt := range map[string]struct {
			config httpproxy.Config
			addr   string
		}{
			"direct":      {httpproxy.Config{}, addr},
			"a proxy":     {httpproxy.Config{HTTPProxy: addr, HTTPSProxy: addr}, "host.test:80"},
			"two proxies": {httpproxy.Config{HTTPProxy: addr, HTTPSProxy: "h.test:80"}, "host.test:80"},
		} {
			d := &Dialer{Config: tt.config, DialDualStack: dualStack}
			dial, err := d.GetDialFunc(false)
			if err != nil {
				t.Fatal(err)
			}
			nc, err := dial(tt.addr)
			if (err == nil) != dualStack {
				t.Errorf("%s, DialDualStack %v: %v", name, dualStack, err)
			}
			if nc != nil {
				nc.Close()
			}
		}
	}
	for name, dial := range map[string]gallop.DialFunc{
		"FasthttpHTTPDialer":                 FasthttpHTTPDialer(addr),
		"FasthttpHTTPDialerDualStack":        FasthttpHTTPDialerDualStack(addr),
		"FasthttpHTTPDialerDualStackTimeout": FasthttpHTTPDialerDualStackTimeout(addr, gallop.DefaultDialTimeout),
	} {
		nc, err := dial("host.test:80")
		if (err == nil) != (name != "FasthttpHTTPDialer") {
			t.Errorf("%s: %v", name, err)
		}
		if nc != nil {
			nc.Close()
		}
	}
}
