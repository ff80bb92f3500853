package middleware

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/gallop-http/gallop"
)

// readUpgrade notes the protocol that the client asks for, if it is allowed. A request with a body is no upgrade: the body and the new
// protocol could be confused.
func (x *proxyCall) readUpgrade() {
	r := x.c.RequestCtx()
	protocol, ok := r.Upgrade()
	if !ok || !x.allowsUpgrade(protocol) {
		return
	}
	if length := r.Request.Header.ContentLength(); !r.IsConnect() && (length > 0 || length == gallop.LengthUnknown) {
		return
	}
	x.upgrade = protocol
	if r.IsConnect() && protocol == "websocket" { // over HTTP/2, which has no such header (RFC 8441 §5)
		var key [16]byte
		rand.Read(key[:])
		x.to.Header.Set("Sec-WebSocket-Key", base64.StdEncoding.EncodeToString(key[:]))
	}
}

func (x *proxyCall) allowsUpgrade(protocol string) bool {
	for _, allowed := range x.p.Upgrades {
		if strings.EqualFold(protocol, allowed) {
			return true
		}
	}
	return false
}

// tunnel upgrades the client's connection, too, and copies bytes until both sides are done.
func (x *proxyCall) tunnel() error {
	if x.upgrade == "" || !strings.EqualFold(string(x.from.Header.Peek(gallop.HeaderUpgrade)), x.upgrade) {
		return x.explain(errProxySwitch)
	}
	stream, _ := x.from.TakeBodyStream()
	target, ok := stream.(io.ReadWriteCloser)
	if !ok {
		return x.explain(errProxySwitch)
	}
	defer target.Close()
	x.copyResponseHeader()
	r := x.c.RequestCtx()
	if r.IsConnect() {
		r.Response.Header.Del("Sec-WebSocket-Accept")
	}
	client, err := r.AcceptStream()
	if err != nil {
		r.Response.Reset()
		return refusal(gallop.StatusNotImplemented, "the connection cannot be upgraded", err)
	}
	defer client.Close()
	x.pipe(client, target)
	return nil
}

// pipe copies in both directions. When one side ends, the other side learns that and may still send. An error, IdleTimeout, or the end
// of the server closes both sides.
func (x *proxyCall) pipe(client net.Conn, target io.ReadWriteCloser) {
	stop := sync.OnceFunc(func() {
		client.Close()
		target.Close()
	})
	defer context.AfterFunc(x.ctx, stop)()
	x.watch.pause()
	idle := &watch{limit: x.p.IdleTimeout, end: stop}
	defer idle.close()
	idle.wait()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(client, target, idle, stop)
	}()
	pass(target, client, idle, stop)
	<-done
}

// tunnelBuffer is the size of each of the two buffers of an upgraded connection.
const tunnelBuffer = 8 << 10

// pass copies from one side to the other.
func pass(to io.Writer, from io.Reader, idle *watch, stop func()) {
	buf := make([]byte, tunnelBuffer)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			idle.wait()
			if _, err := to.Write(buf[:n]); err != nil {
				stop()
				return
			}
		}
		if err != nil {
			half, ok := to.(interface{ CloseWrite() error })
			if err != io.EOF || !ok || half.CloseWrite() != nil {
				stop()
			}
			return
		}
	}
}
