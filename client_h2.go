package gallop

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/dial"
	"github.com/gallop-http/gallop/internal/h2client"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/pool"
)

// HTTP/2 in the client, see docs/design/0014-http2-client.md:
//
//   - client_h2.go: connections, settings, and which connections use HTTP/2
//   - client_h2_call.go: a call
//   - client_h2_body.go: bodies that are streams
//
// Package h2client has the mechanics of connections. These files fill in Request and Response.

// h2ClientConn is an HTTP/2 connection in the pool of a HostClient. Many calls use it at the same time.
type h2ClientConn struct {
	wire    *h2client.Conn
	owner   *HostClient
	nc      net.Conn
	addr    string // as it was dialed
	remote  net.Addr
	local   net.Addr
	tls     *tls.ConnectionState // nil without TLS
	created time.Time
	member  pool.Member // of owner.pool
	probe   dial.Probe  // whether it is still good
	id      uint64      // see GotConnInfo.ConnID
	uses    atomic.Int64
	retired atomic.Bool // it accepts no further calls, because of its age or at the wish of a call
}

func newH2ClientConn(c *HostClient, nc net.Conn, addr string) *h2ClientConn {
	cc := &h2ClientConn{owner: c, nc: nc, addr: addr, created: time.Now(), id: lastClientConn.Add(1)}
	cc.remote, cc.local, cc.tls = nc.RemoteAddr(), nc.LocalAddr(), tlsStateOf(nc)
	cc.probe.Init(nc)
	hooks := h2client.Hooks{RoomChanged: func() { c.pool.RoomChanged(&cc.member) }, Heard: cc.probe.Heard}
	if c.HTTP2 != nil && c.HTTP2.CountError != nil {
		hooks.CountError = c.HTTP2.countSafely
	}
	cc.wire = h2client.New(nc, c.h2, hooks)
	cc.member.Many = true
	cc.member.Init(cc)
	return cc
}

// Room implements pool.Conn.
func (cc *h2ClientConn) Room() int {
	if cc.retired.Load() {
		return 0
	}
	return cc.wire.Room()
}

// Close implements pool.Conn.
func (cc *h2ClientConn) Close() { cc.wire.Close() }

// tell reports to the trace that a call has got cc. If a callback panics, the call does not use cc.
func (cc *h2ClientConn) tell(trace *ClientTrace) {
	if trace == nil || trace.GotConn == nil {
		return
	}
	done := false
	defer func() {
		if !done {
			cc.release(true, nil)
		}
	}()
	info := GotConnInfo{Conn: cc.nc, ConnID: cc.id, Protocol: "HTTP/2.0", Addr: cc.addr, Reused: cc.uses.Load() > 0}
	if idle := cc.owner.pool.IdleAt(&cc.member); info.Reused && idle > 0 {
		info.Idle = time.Duration(pool.Now() - idle)
	}
	trace.GotConn(info)
	done = true
}

// retire has the connection closed when its last call has ended.
func (cc *h2ClientConn) retire() {
	if cc.retired.CompareAndSwap(false, true) {
		cc.owner.pool.RoomChanged(&cc.member)
	}
}

// release ends a call that has used cc.
func (cc *h2ClientConn) release(works bool, trace *ClientTrace) {
	p := &cc.owner.pool
	switch limit := cc.owner.set.maxConnTime; {
	case !works:
		p.Discard(&cc.member)
		return
	case limit > 0 && time.Since(cc.created) >= limit:
		cc.retire()
	}
	if p.Put(&cc.member) {
		trace.putIdle(cc.addr)
	}
}

const (
	defaultClientStreams      = 1000
	defaultClientStreamWindow = 1 << 20
	defaultClientConnWindow   = 4 << 20
)

// resolveH2 returns the settings of HTTP/2 connections.
func (c *HostClient) resolveH2() *h2client.Options {
	from := c.HTTP2
	if from == nil {
		from = &HTTP2Config{}
	}
	head := &c.set.head
	return &h2client.Options{
		Engine: http2.Config{
			Role:                 http2.Client,
			MaxConcurrentStreams: defaultClientStreams,
			StreamWindow:         uint32(within(from.MaxReceiveBufferPerStream, 1, maxH2Setting, defaultClientStreamWindow)),
			ConnWindow:           uint32(within(from.MaxReceiveBufferPerConnection, 64<<10, maxH2Setting, defaultClientConnWindow)),
			MaxFrameSize:         uint32(within(from.MaxReadFrameSize, 16<<10, 16<<20, defaultH2Frame)),
			MaxSendFrame:         64 << 10,
			HeaderTableSize:      within(from.MaxDecoderHeaderTableSize, 1, maxH2Setting, defaultDecoderTable),
			EncoderTableSize:     within(from.MaxEncoderHeaderTableSize, 1, maxH2Setting, defaultClientEncoder),
			MaxBlock:             2*head.Head + 1,
			Header:               hpack.Limits{List: head.Head, Fields: head.Fields, String: head.Head},
			MaxInterims:          maxInterim,
		},
		PingAfter:   max(from.SendPingTimeout, 0),
		PingTimeout: orDefault(from.PingTimeout, defaultPingTimeout),
		WriteStall:  max(from.WriteByteTimeout, 0),
	}
}

// countSafely calls CountError, and logs a panic.
func (h *HTTP2Config) countSafely(errType string) {
	defer func() {
		if v := recover(); v != nil {
			defaultLogger.Printf("panic in CountError: %v\n%s", v, debug.Stack())
		}
	}()
	h.CountError(errType)
}

// defaultClientEncoder is larger than that of servers, because clients repeat most headers of their requests.
const defaultClientEncoder = 4 << 10

// checkProtocols returns an error that wraps ErrProtocols if Protocols has nothing that the connections of c can use.
func (c *HostClient) checkProtocols() error {
	p, want := c.Protocols, "HTTP1 or HTTP2"
	ok := p == nil || p.HTTP1()
	switch {
	case c.only1 || c.IsProxy:
		want = "HTTP1"
	case c.IsTLS:
		ok = ok || p.HTTP2()
	default:
		ok, want = ok || p.UnencryptedHTTP2(), "HTTP1 or UnencryptedHTTP2"
	}
	if ok {
		return nil
	}
	return fmt.Errorf("%w: got %v, want %s", ErrProtocols, *p, want)
}

// speaksH2C reports whether connections without TLS use HTTP/2.
func (c *HostClient) speaksH2C() bool {
	p := c.Protocols
	return !c.IsTLS && !c.IsProxy && !c.only1 && p != nil && p.UnencryptedHTTP2() && !p.HTTP1()
}

// offersH2 reports whether the client offers HTTP/2 in TLS handshakes.
func (c *HostClient) offersH2() bool {
	switch p := c.Protocols; {
	case !c.IsTLS || c.IsProxy || c.only1:
		return false
	case p != nil:
		return p.HTTP2()
	}
	return c.TLSConfig == nil || len(c.TLSConfig.NextProtos) == 0 || slices.Contains(c.TLSConfig.NextProtos, "h2")
}

// mayUseH1 reports whether some connections may use HTTP/1.
func (c *HostClient) mayUseH1() bool {
	return !c.speaksH2C() && (c.Protocols == nil || c.Protocols.HTTP1())
}

// mayUseH2 reports whether some connections may use HTTP/2.
func (c *HostClient) mayUseH2() bool { return c.speaksH2C() || c.offersH2() }

// expectsH2 reports whether the next connection is expected to use HTTP/2.
func (c *HostClient) expectsH2() bool { return c.mayUseH2() && !c.spoke1.Load() }

// alpn returns the protocols to offer in a TLS handshake for a call with this context.
func (c *HostClient) alpn(ctx context.Context) []string {
	var asked []string
	if c.TLSConfig != nil {
		asked = c.TLSConfig.NextProtos
	}
	if !c.offersH2() || isOnly1(ctx) {
		return spokenProtos(asked)
	}
	if p := c.Protocols; p != nil && !p.HTTP1() {
		return []string{"h2"}
	}
	return append([]string{"h2"}, spokenProtos(asked)...)
}

// usesH2 reports whether a new connection uses HTTP/2, and remembers that for later dials.
func (c *HostClient) usesH2(ctx context.Context, nc net.Conn) (bool, error) {
	if c.speaksH2C() {
		return true, nil
	}
	if !c.offersH2() || isOnly1(ctx) {
		return false, nil
	}
	state := tlsStateOf(nc)
	used := state != nil && state.NegotiatedProtocol == "h2" && (isOurTLS(nc) || c.Protocols != nil)
	c.spoke1.Store(!used)
	switch {
	case !used && c.Protocols != nil && !c.Protocols.HTTP1():
		return false, errNoH2
	case used && !permitsH2(state, c.HTTP2 != nil && c.HTTP2.PermitProhibitedCipherSuites):
		return false, http2.ErrInadequateSecurity
	}
	return used, nil
}

// errNoH2 is returned if the server does not use HTTP/2, and the client must use nothing else.
var errNoH2 = errors.New("gallop: the server does not support HTTP/2, and Protocols lacks HTTP/1")

// errNeedsHTTP1 is returned if something needs an HTTP/1 connection, and Protocols does not permit it.
var errNeedsHTTP1 = fmt.Errorf("%w: this needs HTTP/1", ErrProtocols)

// only1Key marks the context of a call that needs an HTTP/1 connection.
type only1Key struct{}

func withOnly1(ctx context.Context) context.Context { return context.WithValue(ctx, only1Key{}, true) }

func isOnly1(ctx context.Context) bool { return ctx.Value(only1Key{}) != nil }

// h2Verdict says what an error of an attempt over HTTP/2 means for another attempt.
type h2Verdict struct {
	over2       bool // it was over HTTP/2. Such an attempt leaves no dead connection in the pool
	unprocessed bool // the server has not acted on the request
	wants1      bool // the server wants the request over HTTP/1 (HTTP_1_1_REQUIRED)
	wantsCalm   bool // the server wants fewer requests (ENHANCE_YOUR_CALM)
}

func h2VerdictOf(err error) (r h2Verdict) {
	var closed *ClosedError
	var stream *StreamError
	switch {
	case errors.As(err, &closed):
		r.over2, r.unprocessed = closed.overH2, closed.unprocessed
		if gone, ok := closed.Err.(*h2client.GoAwayError); ok {
			r.wants1, r.wantsCalm = gone.Code == http2.HTTP11Required, gone.Code == http2.EnhanceYourCalm
		}
	case errors.As(err, &stream):
		r.over2, r.unprocessed = true, stream.NotProcessed()
		r.wants1 = http2.Code(stream.Code) == http2.HTTP11Required
	}
	return r
}

// maxRetryPause is the longest pause before a request is sent again that the server has refused.
const maxRetryPause = time.Second

// pauseBefore waits before the retry with number n. The first retry follows at once, unless the server wants calm. pauseBefore
// reports whether there is time for the retry.
func (r h2Verdict) pauseBefore(ctx context.Context, deadline time.Time, n int) bool {
	pause := min(5*time.Millisecond<<n, maxRetryPause)
	switch {
	case r.wantsCalm:
		pause = maxRetryPause
	case n == 1:
		return true
	}
	if !deadline.IsZero() && time.Until(deadline) <= pause {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
