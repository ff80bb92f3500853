package gallop

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/field"
)

// RequestCtx holds a request and its response. A RequestCtx also implements context.Context for the request.
//
// A RequestCtx belongs to the server. Do not copy a RequestCtx. After the handler has returned, do not use the
// RequestCtx or any byte slice that one of its methods returned. You may keep strings that the methods of a RequestCtx
// returned. Several goroutines may call the methods of context.Context at the same time. Concurrent calls of any other
// method are allowed only if the method's comment says so.
type RequestCtx struct {
	noCopy noCopy

	// Request is the request that the client sent.
	Request Request

	// Response is the response that the server sends after the handler has returned.
	Response Response

	ex   *exchange // nil unless a server serves this request
	life lifetime

	time       time.Time
	connID     uint64
	requestNum uint64

	stream           atomic.Pointer[ResponseStream] // nil until it is needed, see output
	hijackHandler    HijackHandler
	hijackNoResponse bool
	mayHijack        bool                        // InitHijack was called
	openStream       func() (FlushWriter, error) // what InitStream was given
	timeout          timeoutAnswer

	fakeRemote net.Addr // what SetRemoteAddr or Init said
	fakeConn   net.Conn
	log        Logger
	logFor     ctxLogger
}

// recycle ends the request, and reports whether ctx is ready for another one. If it is not, somebody may still call its methods
// of context.Context, or a handler that has ended its goroutine has left a ResponseStream open.
func (ctx *RequestCtx) recycle(poison bool) (again bool) {
	// The values come first: they may be closed, and look at the request.
	if again = ctx.life.end() && !ctx.streams(); again {
		ctx.Request.ResetUserValues()
	} else {
		ctx.Request.values.close()
	}
	ctx.letGo(poison)
	return again
}

// letGo is recycle for all but the values.
func (ctx *RequestCtx) letGo(poison bool) {
	if poison {
		ctx.Request.poison()
		ctx.Response.Header.poison()
		ctx.Response.body.poison()
	}
	ctx.Request.resetButValues()
	ctx.Response.Reset()
	ctx.hijackHandler, ctx.hijackNoResponse = nil, false
	ctx.fakeRemote = nil
	if s := ctx.stream.Load(); s != nil && s.given {
		ctx.stream.Store(nil)
	}
}

// cleanUp lets go of what would stay behind in a request that was left to its
// handlers, when they are gone.
func (ctx *RequestCtx) cleanUp() {
	ctx.Request.RemoveMultipartFormFiles()
	ctx.Response.CloseBodyStream()
	ctx.Request.values.close()
}

// config returns the server of ctx, or one of default settings without it.
func (ctx *RequestCtx) config() *Server {
	if ctx.ex != nil {
		return ctx.ex.server
	}
	return &noServer
}

var noServer Server

// Init prepares ctx for tests that call a handler without a server. ctx.Request becomes a copy of req. remoteAddr and
// logger may be nil.
func (ctx *RequestCtx) Init(req *Request, remoteAddr net.Addr, logger Logger) {
	ctx.Init2(nil, logger, true)
	ctx.fakeRemote = remoteAddr
	if req != nil {
		req.CopyTo(&ctx.Request)
	}
}

// Init2 prepares ctx for programs that serve requests without a Server. The request in ctx is empty. LocalAddr and
// RemoteAddr return the addresses of conn. conn and logger may be nil. The last argument has no effect.
func (ctx *RequestCtx) Init2(conn net.Conn, logger Logger, _ bool) {
	if !ctx.recycle(false) {
		ctx.Request.values = nil // recycle has closed them
		ctx.life = lifetime{}
	}
	ctx.timeout.Store(nil)
	ctx.ex = nil
	ctx.fakeConn, ctx.log, ctx.mayHijack = conn, logger, false
	ctx.openStream = nil
	ctx.time = time.Now()
}

// InitContext makes parent the parent context of ctx. InitContext is meant for programs that serve requests without a
// Server. Afterwards, ctx has the deadline of parent. When parent is done, ctx is done too. ctx.Value first looks for a user
// value of ctx, and then calls parent.Value.
func (ctx *RequestCtx) InitContext(parent context.Context) {
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used.Store(true)
	l.parent = parent
}

// Parent returns the parent context of ctx. Server.ConnContext, Server.BaseContext or InitContext sets the parent. The
// default is context.Background. The parent context outlives the request. Work that continues after the handler has
// returned can use the parent context instead of ctx.
func (ctx *RequestCtx) Parent() context.Context {
	l := &ctx.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.parent == nil {
		return context.Background()
	}
	return l.parent
}

// Conn returns the request's connection. Use the connection only to get information such as addresses and the TLS
// state. Do not read from the returned connection, write to it or close it. To read, write or close, use the connection
// that HijackConn returns. To set deadlines, call ctx.SetReadDeadline and ctx.SetWriteDeadline. Over HTTP/2, Conn
// returns the same value for all requests on a connection. The methods of this value that read, write, close or set
// deadlines fail with errors.ErrUnsupported. If the request is not served by a Server, Conn returns nil.
func (ctx *RequestCtx) Conn() net.Conn {
	if ctx.ex != nil {
		return ctx.ex.netConn()
	}
	return ctx.fakeConn
}

// ConnID returns a number that identifies the connection. A Server never uses the same number for two connections.
func (ctx *RequestCtx) ConnID() uint64 { return ctx.connID }

// ConnRequestNum returns the number of the request on its connection. The server counts requests from 1, in the order
// of their arrival. The number is not an HTTP/2 stream ID.
func (ctx *RequestCtx) ConnRequestNum() uint64 { return ctx.requestNum }

// ConnTime returns the time at which the server started to serve the connection.
func (ctx *RequestCtx) ConnTime() time.Time {
	if ctx.ex != nil {
		return ctx.ex.connBegan()
	}
	return ctx.time
}

// ID returns a number that identifies the request. A Server never uses the same number for two requests. The structure
// of the number can change between versions.
func (ctx *RequestCtx) ID() uint64 { return ctx.connID<<32 | ctx.requestNum&(1<<32-1) }

// Time returns when the server received the request. More precisely, the result is the time of the last read from the
// connection before the handler was called.
func (ctx *RequestCtx) Time() time.Time { return ctx.time }

// LocalAddr returns the local address of the connection. The result is never nil.
func (ctx *RequestCtx) LocalAddr() net.Addr {
	if c := ctx.Conn(); c != nil {
		if a := c.LocalAddr(); a != nil {
			return a
		}
	}
	return zeroAddr
}

// RemoteAddr returns the client's address, or the address that SetRemoteAddr has set. The result is never nil.
func (ctx *RequestCtx) RemoteAddr() net.Addr {
	if ctx.fakeRemote != nil {
		return ctx.fakeRemote
	}
	if c := ctx.Conn(); c != nil {
		if a := c.RemoteAddr(); a != nil {
			return a
		}
	}
	return zeroAddr
}

var zeroAddr = &net.TCPAddr{IP: net.IPv4zero}

// SetRemoteAddr sets the address that RemoteAddr and RemoteIP return for this request. For example, pass the client
// address that a proxy has reported.
func (ctx *RequestCtx) SetRemoteAddr(a net.Addr) { ctx.fakeRemote = a }

// LocalIP returns the IP address in LocalAddr. If LocalAddr has no IP address, the result is 0.0.0.0.
func (ctx *RequestCtx) LocalIP() net.IP { return addrIP(ctx.LocalAddr()) }

// RemoteIP returns the IP address in RemoteAddr. If RemoteAddr has no IP address, the result is 0.0.0.0.
func (ctx *RequestCtx) RemoteIP() net.IP { return addrIP(ctx.RemoteAddr()) }

func addrIP(a net.Addr) net.IP {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP
	}
	return net.IPv4zero
}

// tlsStater is a *tls.Conn, or a connection that embeds one.
type tlsStater interface{ ConnectionState() tls.ConnectionState }

// IsTLS reports whether the request arrived over TLS, that is, whether the connection is a *tls.Conn or embeds a
// *tls.Conn. The result can be true before the handshake is complete.
func (ctx *RequestCtx) IsTLS() bool {
	_, ok := ctx.Conn().(tlsStater)
	return ok
}

// TLSConnectionState returns a copy of the connection's TLS state, or nil if the connection does not use TLS.
func (ctx *RequestCtx) TLSConnectionState() *tls.ConnectionState {
	tc, ok := ctx.Conn().(tlsStater)
	if !ok {
		return nil
	}
	state := tc.ConnectionState()
	return &state
}

// Logger returns a logger that adds a description of the request to each message. The messages go to Server.ErrorLog,
// or to Server.Logger if ErrorLog is nil. Do not use the logger after the handler has returned.
func (ctx *RequestCtx) Logger() Logger {
	ctx.logFor.ctx = ctx
	return &ctx.logFor
}

type ctxLogger struct{ ctx *RequestCtx }

func (l *ctxLogger) Printf(format string, args ...any) {
	ctx, to := l.ctx, l.ctx.log
	if structured := ctx.config().ErrorLog; to == nil && structured != nil {
		structured.LogAttrs(context.Background(), slog.LevelError, fmt.Sprintf(format, args...),
			slog.String("remote", ctx.RemoteAddr().String()), slog.Uint64("conn", ctx.ConnID()),
			slog.String("method", string(ctx.Method())), slog.String("uri", string(ctx.URI().FullURI())))
		return
	}
	if to == nil {
		to = ctx.config().logger()
	}
	to.Printf("%s - %s", ctx.String(), fmt.Sprintf(format, args...))
}

// String returns a one-line description of the request for logs. The URI in the description is escaped and contains no
// user name or password.
func (ctx *RequestCtx) String() string {
	return fmt.Sprintf("#%016X - %v<->%v - %s %s", ctx.ID(), ctx.LocalAddr(), ctx.RemoteAddr(), ctx.Method(), ctx.URI().FullURI())
}

// EarlyHints sends the Link headers of ctx.Response in a 103 response (RFC 8297). The client can then load the linked
// resources while the handler works. EarlyHints does nothing if the client uses HTTP/1.0, or if ctx.Response has no
// Link header.
func (ctx *RequestCtx) EarlyHints() error {
	if !ctx.Response.Header.head.Fields.Has(field.Link) {
		return nil
	}
	return ctx.WriteInterim(StatusEarlyHints)
}

// WriteInterim sends an interim response (RFC 9110 §15.2) with the current headers of ctx.Response. The final response also
// has these headers, unless the handler removes them from ctx.Response. The status must be 100 or in the range 102 to 199.
// If the client uses HTTP/1.0, WriteInterim sends nothing.
//
// WriteInterim sends status 100 only if the client is waiting for this status before it sends the body. The server also
// sends status 100 when the handler starts to read the body.
func (ctx *RequestCtx) WriteInterim(status int) error {
	if status < StatusContinue || status == StatusSwitchingProtocols || status > 199 {
		return errInterimStatus
	}
	if ctx.ex == nil || ctx.ex.isHTTP10() {
		return nil
	}
	s := ctx.output()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ex != nil {
		return errStreamOther
	}
	x, err := ctx.owned(s)
	if err != nil {
		return err
	}
	if status == StatusContinue {
		if !x.awaits100 {
			return nil
		}
		x.awaits100 = false
	}
	return x.writeInterim(status)
}
