package server_test

import (
	"crypto/tls"
	"net"
	"testing"

	"github.com/gallop-http/gallop"
)

// BenchmarkIsTLS measures each kind of connection. The goal is at most 5 ns and no allocation.
func BenchmarkIsTLS(b *testing.B) {
	for name, conn := range map[string]net.Conn{"tls.Conn": &tls.Conn{}, "embedded": &struct{ *tls.Conn }{&tls.Conn{}}, "TCP": &net.TCPConn{}} {
		b.Run(name, func(b *testing.B) {
			var ctx gallop.RequestCtx
			ctx.Init2(conn, nil, false)
			b.ReportAllocs()
			for b.Loop() {
				ctx.IsTLS()
			}
		})
	}
}

// IsTLS goes by the type of the connection: a connection that has shaken no hands, and one
// that wraps a *tls.Conn, are TLS as well, and nothing is allocated to find out.
func TestIsTLSByType(t *testing.T) {
	for name, tt := range map[string]struct {
		conn net.Conn
		want bool
	}{
		"none":             {nil, false},
		"TCP":              {&net.TCPConn{}, false},
		"zero tls.Conn":    {&tls.Conn{}, true},
		"embedded":         {struct{ *tls.Conn }{&tls.Conn{}}, true},
		"behind a pointer": {&struct{ *tls.Conn }{&tls.Conn{}}, true},
		"hidden":           {struct{ net.Conn }{&tls.Conn{}}, false},
		"no handshake yet": {tls.Server(&net.TCPConn{}, &tls.Config{}), true},
	} {
		t.Run(name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			ctx.Init2(tt.conn, nil, false)
			if got := ctx.IsTLS(); got != tt.want {
				t.Errorf("IsTLS is %v", got)
			}
			if n := testing.AllocsPerRun(10, func() { ctx.IsTLS() }); n != 0 {
				t.Errorf("IsTLS allocates %v times", n)
			}
		})
	}
}
