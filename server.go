package gallop

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gallop-http/gallop/internal/conn"
)

// Defaults of Server's fields. Each default applies if the field is zero.
const (
	// DefaultConcurrency is the default of Server.Concurrency.
	DefaultConcurrency = 256 * 1024

	// DefaultMaxRequestBodySize is the default of Server.MaxRequestBodySize, in bytes.
	DefaultMaxRequestBodySize = 4 << 20

	defaultName              = "gallop"
	defaultReadHeaderTimeout = 10 * time.Second
	defaultIdleTimeout       = 75 * time.Second
	defaultHandshakeTimeout  = 10 * time.Second
	defaultWriteProgress     = 30 * time.Second
	defaultMinBodyRate       = 240
	bodyRateGrace            = 5 * time.Second
	defaultReadBuffer        = 4 << 10
	defaultWriteBuffer       = 4 << 10
	defaultMaxTarget         = 16 << 10
	defaultMaxHeader         = 64 << 10
	defaultMaxFields         = 256
	defaultMaxFormArgs       = 10_000
	drainSize                = 256 << 10
	drainTime                = time.Second
)

// RequestHandler handles a request: it reads ctx.Request and fills ctx.Response.
//
// After the handler has returned, do not use ctx or any []byte that a method of ctx returned. Strings that the methods
// of ctx returned stay valid. A handler may block. The server can call the same handler on several goroutines at once.
type RequestHandler func(ctx *RequestCtx)

// ServeHandler serves the connection c. When the ServeHandler returns, the server closes c. See [Server.NextProto].
type ServeHandler func(c net.Conn) error

// RequestConfig contains settings for a single request. [Server.HeaderReceived] returns a RequestConfig. If a field is
// zero, negative or false, the Server field with the same name applies.
type RequestConfig struct {
	// ReadTimeout limits the time to read the rest of the request after the header.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write the response.
	WriteTimeout time.Duration

	// MaxRequestBodySize limits the body of the request, in bytes.
	MaxRequestBodySize int

	// StreamRequestBody makes the server call Handler as soon as the header has arrived, as Server.StreamRequestBody does
	// for all requests.
	StreamRequestBody bool
}

// Server serves HTTP/1.1, HTTP/1.0, and HTTP/2 over TLS. The field Protocols turns protocols on and off. If you set only
// Handler, all limits have safe defaults. In every field, zero means the default. A negative value turns a limit off,
// unless the comment on the field says something else.
//
// Over HTTP/2, one connection carries many requests at once. If the server refuses a request or a handler fails, the
// comments on some fields say that the server closes the connection. Over HTTP/2, the server ends only the stream of
// this request instead.
//
// All methods may be called concurrently. Do not change fields once the server has started, and do not copy a Server.
type Server struct {
	noCopy noCopy

	// Handler is called for every request. Handler may be nil only if you have registered a handler with NextProto. If
	// Handler panics, the server logs the panic with its stack and closes the connection. If no part of the response was
	// sent before the panic, the client gets a 500 response. If Handler calls runtime.Goexit, the server logs nothing and
	// closes the connection without completing the response.
	Handler RequestHandler

	// ErrorHandler builds the response to a request that the server refuses without calling Handler. When ErrorHandler
	// is called, ctx.Response already has the status that RFC 9110 requires. Unless err is ErrRequestLimit, the server
	// closes the connection after the response. If ErrorHandler is nil, the response body is one line of text.
	//
	// In most cases, err is the error that fasthttp uses: ErrBodyTooLarge, ErrGetOnly, an *ErrSmallBuffer or an
	// ErrBrokenChunk. For a request that arrived too slowly, err is a *net.OpError. For a request beyond
	// MaxConcurrentRequests, err is ErrRequestLimit. For all errors except ErrBodyTooLarge, ErrGetOnly and
	// ErrRequestLimit, errors.As finds a *ParseError with the status and the reason.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called after the header of a request was read. The function returns the settings for the rest of
	// the request. If HeaderReceived is nil, the Server's own settings apply.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides from the header whether to accept a request with Expect: 100-continue (RFC 9110 §10.1.1). If
	// ContinueHandler returns false, the client gets 417 (Expectation Failed). If ContinueHandler is nil, the server sends
	// 100 (Continue) when Handler first reads the body. To refuse the body, Handler returns without reading the body.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler does the same as ContinueHandler, but returns a status. If the status is 100, the server accepts the
	// request. For any other status, the server sends ctx.Response with that status. If ExpectHandler is set,
	// ContinueHandler is not called.
	ExpectHandler func(ctx *RequestCtx) int

	// BaseContext returns the parent context for requests on connections from ln. Each RequestCtx has the values and the
	// deadline of its parent context. When the parent context is done, the RequestCtx is done too. Each call of Serve
	// calls BaseContext once. BaseContext must not return nil. If BaseContext is not set, the parent context is
	// context.Background(). ServeConn always uses context.Background().
	BaseContext func(ln net.Listener) context.Context

	// ConnContext returns the parent context for requests on c. ConnContext is called once for each connection, before the
	// first request, on the goroutine that serves the connection. The argument ctx is the context that BaseContext
	// returned. The argument c is the value that RequestCtx.Conn returns. The returned context must be ctx or derived from
	// ctx. ConnContext must not block. If ConnContext is nil, ctx is the parent context.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	// ConnState is called when the state of a connection changes. Calls for the same connection never overlap.
	// ConnState should return quickly, because the server does not serve the connection until ConnState returns.
	ConnState func(c net.Conn, state ConnState)

	// OnListen is called when the server is about to accept connections. Serve and all other methods that serve a listener
	// call OnListen. The argument ln is the same listener that BaseContext gets. For example, OnListen can find out which
	// port the system has chosen for the address ":0". If clients connect before OnListen returns, their connections wait
	// in the listener's queue. OnListen must not wait for Shutdown or Close.
	OnListen func(ln net.Listener)

	// Protocols is the set of protocols that the server offers. Nil means HTTP/1, and HTTP/2 over TLS. To turn HTTP/2
	// off, use a set that contains only HTTP/1. To accept HTTP/2 without TLS, add UnencryptedHTTP2 to the set. If the set
	// is empty, Serve and the Listen methods return an error that wraps ErrProtocols.
	Protocols *Protocols

	// HTTP2 configures HTTP/2 connections. Nil means the defaults. HTTP/1 connections ignore the HTTP2 field.
	HTTP2 *HTTP2Config

	// ExtendedConnect allows clients to open WebSockets and other protocols over HTTP/2 with an extended CONNECT (RFC
	// 8441). The handler gets the protocol from RequestCtx.Upgrade and accepts the request with RequestCtx.AcceptStream.
	// If ExtendedConnect is false, browsers open a separate HTTP/1.1 connection for each WebSocket. Do not set
	// ExtendedConnect if a WebSocket library of your program hijacks connections: browsers would then use HTTP/2, where
	// hijacking fails.
	ExtendedConnect bool

	// TLSConfig configures TLS for ServeTLS and the other methods that serve TLS. The server uses a copy of TLSConfig. In
	// TLS handshakes, the server offers the protocols in TLSConfig.NextProtos. If "h2" or "http/1.1" is missing there, the
	// server adds it, unless Server.Protocols lacks the protocol. If GetConfigForClient returns a configuration, the
	// server offers the protocols in the NextProtos of that configuration. The protocol "h2" is offered only if
	// Server.Protocols contains HTTP/2, or if a handler for "h2" was registered with Server.NextProto.
	TLSConfig *tls.Config

	// FormValueFunc looks up keys for RequestCtx.FormValue. Nil means the search order that [RequestCtx.FormValue]
	// describes.
	FormValueFunc FormValueFunc

	// ErrorLog receives error messages as structured records. If ErrorLog is set, Logger is not used. Records about
	// clients and the network have the level slog.LevelWarn. All other records have the level slog.LevelError. A record
	// can have the following attributes:
	//
	//   - remote: address of the client
	//   - conn: RequestCtx.ConnID of the connection
	//   - status: status code with which the server refused a request or a connection
	//   - err: error, or the value of a panic
	//   - stack: stack of a panic
	//
	// Records from the server itself contain no bytes of a request. Records that handlers write with RequestCtx.Logger
	// also have the attributes method and uri.
	ErrorLog *slog.Logger

	// Logger receives error messages if ErrorLog is nil. The default writes to standard error with the prefix
	// "gallop: ".
	Logger Logger

	// Name is the value of the Server header. If Name is empty or not a valid header value, the server uses "gallop".
	Name string

	// Concurrency limits how many connections are open at the same time. On each additional connection, the server
	// sends a 503 response and closes the connection. Zero or a negative value means DefaultConcurrency.
	Concurrency int

	// MaxConnsPerIP limits the open connections of one client. A client is identified by its IPv4 address, or by the
	// /64 network of its IPv6 address. On each additional connection, the server sends a 429 response and closes the
	// connection. Zero or a negative value means no limit.
	MaxConnsPerIP int

	// MaxConcurrentRequests limits how many requests Handler may process at the same time, over all connections.
	// Additional requests get a 503 response, and their connections stay open. Zero or a negative value means no limit.
	// Concurrency also limits concurrent requests over HTTP/1, because an HTTP/1 connection carries one request at a time.
	MaxConcurrentRequests int

	// MaxConcurrentHandlers limits how many calls of Handler run at the same time for all HTTP/2 connections. One HTTP/2
	// connection can carry many requests, so Concurrency does not limit these calls. Additional requests wait until other
	// calls have returned. If a request has waited for 10 seconds, the server resets its stream with the error code
	// REFUSED_STREAM, and the client can safely repeat the request. Zero means the value of Concurrency. A negative value
	// means no limit.
	MaxConcurrentHandlers int

	// MaxRequestsPerConn is how many requests the server serves on a connection before closing the connection. Over
	// HTTP/2, the server then sends a GOAWAY frame, and still serves the streams that the client has already opened. Zero
	// or a negative value means no limit.
	MaxRequestsPerConn int

	// ReadHeaderTimeout limits the time from the first byte of a request to the end of its header. For the first
	// request on a connection, the time starts when the connection is accepted. With TLS, the time starts when the
	// handshake is complete. Over HTTP/2, the client must also acknowledge the server's settings within
	// ReadHeaderTimeout, and a timeout ends the connection. Zero means 10 seconds. A negative value means no limit.
	ReadHeaderTimeout time.Duration

	// ReadTimeout limits the time from the first byte of a request to the end of its body. Zero or a negative value
	// means no limit. MinBodyRate applies even without a ReadTimeout.
	ReadTimeout time.Duration

	// MinBodyRate is the minimum average rate of a request body, in bytes per second. The server does not check the
	// rate during the first five seconds. Zero means 240. A negative value means no minimum. Over HTTP/2, streams of gRPC and
	// Connect are exempt if StreamRequestBody is set, because their clients may pause between messages.
	MinBodyRate int

	// WriteTimeout limits the time to write a response. Zero means that the total time is unlimited, but the client must
	// accept some data every 30 seconds. Over HTTP/2, a client may also keep its flow-control window closed for 30 seconds,
	// and for another 30 seconds for each KiB that it has not given credit for, up to an hour. A negative value means no
	// limit at all.
	WriteTimeout time.Duration

	// IdleTimeout limits how long a connection waits for its next request. Zero means the value of ReadTimeout, or 75
	// seconds if ReadTimeout is zero too. A negative value means no limit.
	IdleTimeout time.Duration

	// TLSHandshakeTimeout limits a TLS handshake. Zero means 10 seconds, or ReadTimeout if ReadTimeout is set to less
	// than 10 seconds. A negative value means no limit.
	TLSHandshakeTimeout time.Duration

	// ReadBufferSize is the initial size of a connection's read buffer, in bytes. For a large header, the buffer grows up
	// to MaxHeaderBytes. An idle connection has no read buffer. Zero or a negative value means 4 KiB. If ReadBufferSize is
	// set and MaxHeaderBytes is unset, ReadBufferSize also limits the size of request headers.
	ReadBufferSize int

	// WriteBufferSize is the size of the write buffer, in bytes. The write buffer collects the responses to pipelined
	// requests, so that they are sent together. Zero or a negative value means 4 KiB.
	WriteBufferSize int

	// MaxRequestLineBytes limits the request target, in bytes. If a request target exceeds the limit, the response is a
	// 414. Zero or a negative value means 16 KiB. If ReadBufferSize is more than 16 KiB and MaxHeaderBytes is unset, the
	// default is ReadBufferSize.
	MaxRequestLineBytes int

	// MaxHeaderBytes limits the size of a request's header in bytes, including the request line. If a header exceeds the
	// limit, the response is a 431. Over HTTP/2, each header line counts as 32 bytes more than its name and value (RFC
	// 9113 §6.5.2). An HTTP/2 header several times larger than the limit ends the connection. Zero or a negative value
	// means the value of ReadBufferSize, or 64 KiB if ReadBufferSize is unset too.
	MaxHeaderBytes int

	// MaxHeaderFields limits the number of header lines in a request. If a request has more header lines than
	// MaxHeaderFields, the response is a 431. Zero or a negative value means 256.
	MaxHeaderFields int

	// MaxFormArgs limits how many arguments are parsed from a query, or from a form in the body. If a query or form
	// exceeds the limit, the Args contains only the first MaxFormArgs arguments. Args.Err then returns ErrTooManyArgs.
	// Zero means 10,000. A negative value means no limit.
	//
	// MaxFormArgs also limits the parts of a multipart form. If a form has more parts than MaxFormArgs,
	// RequestCtx.MultipartForm returns ErrTooManyArgs. Regardless of MaxFormArgs, a multipart form may have at most 1000
	// parts.
	MaxFormArgs int

	// MaxRequestBodySize limits the size of request bodies that are read into memory, in bytes. If a body exceeds the
	// limit, the response is a 413. The limit does not apply to bodies that the handler reads as a stream (see
	// StreamRequestBody). Zero or a negative value means 4 MiB.
	MaxRequestBodySize int

	// MaxRequestBodyMemory limits the memory for request bodies of all HTTP/2 connections together, in bytes. The limit
	// applies to bodies that the server or PostBody reads into memory. In addition, each connection may use
	// MaxReceiveBufferPerConnection bytes for the first MaxReceiveBufferPerStream bytes of each body (see HTTP2). If a
	// handler reads a stream as fast as the stream arrives, the server enlarges the flow-control window of the stream. The
	// limit applies to the additional bytes of the window.
	//
	// Before a client may send the rest of a larger body, the server reserves memory for the whole body. Without a
	// Content-Length, the server reserves 4 MiB, and more as the body grows. One connection gets at most half of the
	// memory. If there is not enough memory, the client has to wait. After 30 seconds, the request gets a 503 response. A
	// body that is larger than the limit is accepted if no other body uses memory. If there is not even memory for the
	// first bytes of a body, the request gets a 503 response at once.
	//
	// Zero means a quarter of GOMEMLIMIT, or 256 MiB if GOMEMLIMIT is not set. A negative value means no limit.
	MaxRequestBodyMemory int

	// LameDuck is how long the server continues to accept connections and requests after Shutdown was called. During the
	// LameDuck time, the server closes each connection after its next response. Load balancers and clients can then switch
	// to another server without losing a request. When the LameDuck time has passed, Shutdown closes the listeners and the
	// idle connections. If LameDuck is zero or negative, Shutdown closes the listeners and the idle connections at once.
	LameDuck time.Duration

	// ShutdownTimeout is how long Run and RunTLS wait for in-flight requests during a shutdown. The time starts when
	// the LameDuck time has passed. When ShutdownTimeout has passed, Run and RunTLS close the remaining connections.
	// Zero or a negative value means no time limit.
	ShutdownTimeout time.Duration

	// Engine selects how connections are served. The default is EngineAuto. On Linux, EngineAuto serves TCP and unix
	// sockets on event loops, with and without TLS. TLS connections can come from the TLS methods of Server or from a
	// listener of crypto/tls. All other connections are served by goroutines, one for each connection.
	Engine EngineType

	// Dispatch selects where an event loop calls Handler. The default is DispatchAuto. Dispatch has no effect on
	// connections that are served by goroutines.
	Dispatch DispatchType

	// TCPKeepalivePeriod is the interval of TCP keep-alive probes if TCPKeepalive is set. Zero or a negative value
	// keeps the system's interval.
	TCPKeepalivePeriod time.Duration

	// SleepWhenConcurrencyLimitsExceeded is how long the server pauses accepting after it has refused a connection because
	// of the Concurrency limit. Zero or a negative value means no pause.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// MaxIdleWorkerDuration is how long an idle goroutine of the server waits for new work before it exits. The
	// goroutine can wait up to twice as long. Zero or a negative value means 10 seconds.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalive turns on TCP keep-alive probes for accepted connections.
	TCPKeepalive bool

	// AllowHalfClose keeps the context of a request alive if the client closes only its sending side and waits for the
	// response. By default, the server cancels the context when the client closes its sending side. To the server, a
	// client that waits looks the same as a client that has exited. The server sends the response regardless of
	// AllowHalfClose. Even if AllowHalfClose is set, a failed write cancels the context. On Linux, a connection reset
	// cancels the context too.
	//
	// AllowHalfClose has no effect on HTTP/2 connections. An HTTP/2 client ends a request with the flag END_STREAM (RFC 9113
	// §5.1), which never cancels the context. If the client closes the sending side of the connection itself, it can neither
	// acknowledge frames nor open windows. The server then ends the connection and cancels the contexts of its requests.
	AllowHalfClose bool

	// DisableKeepalive makes the server close every connection after its first response. Over HTTP/2, the server sends a
	// GOAWAY frame with the first response, and still serves the streams that the client has already opened.
	DisableKeepalive bool

	// GetOnly makes the server refuse all methods except GET and HEAD with 405 (Method Not Allowed).
	GetOnly bool

	// AllowTrace passes TRACE requests to Handler. By default, TRACE requests are refused with 405. If a handler echoes a
	// TRACE request (RFC 9110 §9.3.8), scripts in the browser could read secret headers, such as cookies.
	AllowTrace bool

	// StreamRequestBody makes the server call Handler as soon as the header of a request has arrived. The handler reads
	// the body from RequestCtx.RequestBodyStream, or calls a method that reads the whole body, such as PostBody. If the
	// handler leaves part of the body unread, the server either discards the rest or closes the connection.
	StreamRequestBody bool

	// DisablePreParseMultipartForm has no effect.
	//
	// Deprecated: forms are parsed when a handler asks for them.
	DisablePreParseMultipartForm bool

	// ReduceMemoryUsage has no effect.
	//
	// Deprecated: idle connections never hold a buffer.
	ReduceMemoryUsage bool

	// DisableHeaderNamesNormalizing turns off the normalization of header names. The server sends each header name exactly
	// as the handler has set it. Iterators return the names of received headers unchanged. The server calls
	// DisableNormalizing on the headers of each request and response.
	DisableHeaderNamesNormalizing bool

	// LogAllErrors makes the server also log errors of clients that disconnect or are too slow.
	LogAllErrors bool

	// SecureErrorLogMessage has no effect.
	//
	// Deprecated: the server's errors and log lines never contain bytes of a request.
	SecureErrorLogMessage bool

	// NoDefaultServerHeader omits the Server header unless the handler sets one.
	NoDefaultServerHeader bool

	// NoDefaultDate omits the Date header unless the handler sets one.
	NoDefaultDate bool

	// NoDefaultContentType omits the Content-Type header unless the handler sets one.
	NoDefaultContentType bool

	// KeepHijackedConns keeps a hijacked connection open when its HijackHandler returns. If KeepHijackedConns is set, the
	// program must close the connection. By default, the server closes the connection when the HijackHandler returns.
	KeepHijackedConns bool

	// CloseOnShutdown has no effect.
	//
	// Deprecated: during Shutdown, each connection is always closed after its response.
	CloseOnShutdown bool

	// PoisonReleased overwrites the memory of a request with 0xDB after its handler has returned. Tests can then detect
	// the use of a byte slice that is no longer valid. Builds with the race detector always overwrite the memory of a
	// request.
	PoisonReleased bool

	// MaxKeepaliveDuration has no effect.
	//
	// Deprecated: use IdleTimeout.
	MaxKeepaliveDuration time.Duration

	keepAlives keepAlives
	onShutdown onShutdown

	once         sync.Once
	set          settings
	conns        conn.Server
	protos       map[string]ServeHandler
	spare        sync.Pool // of *exchange
	spareStreams sync.Pool // of *h2Stream
	h2           h2Conns
	starts       headStarts
	retired      sync.Pool     // of *serverConn
	vacant       sync.Pool     // of *serverConn, with what they have for the next connection of a loop
	running      atomic.Int64  // requests that are being handled, with MaxConcurrentRequests
	busy         atomic.Uint64 // requests that were refused because of MaxConcurrentRequests
}

// prepare resolves the settings. Every way into the server calls it first.
func (s *Server) prepare() {
	s.once.Do(func() {
		s.set.resolve(s)
		s.h2.resolve(s)
		s.h2.resolveLimits(s)
		s.h2.health.resolve(s.HTTP2)
		s.conns.Init(&s.set.Settings, s.connHooks())
		s.conns.Log.To, s.conns.Log.Structured = s.logger(), s.ErrorLog
	})
}

// Hooks returns what connections call.
func (s *Server) connHooks() conn.Hooks {
	hooks := conn.Hooks{Serve: s.serveAccepted, Reject: rejection}
	if s.ConnState != nil {
		hooks.State = func(c net.Conn, state conn.State) { s.ConnState(c, ConnState(state)) }
	}
	if s.ConnContext != nil {
		hooks.Context = func(ctx context.Context, c net.Conn) context.Context {
			if ctx = s.ConnContext(ctx, c); ctx == nil {
				panic("gallop: ConnContext returned nil")
			}
			return ctx
		}
	}
	return hooks
}

// prepareToServe is prepare for the methods that serve. It returns why they cannot.
func (s *Server) prepareToServe() error {
	s.prepare()
	if s.Handler == nil && s.protos == nil {
		return errNoHandler
	}
	return s.Protocols.checkServer()
}

// Serve accepts connections from ln and serves them until ln fails or the server is shut down. Serve closes ln before
// it returns. Serve returns nil if Shutdown or Close was called, if the program closed ln, or if Accept returned
// io.EOF.
//
// ln may be a listener of crypto/tls. The server serves HTTP/2 on such a listener only if the NextProtos of its TLS
// configuration contain "h2". If the server does not serve HTTP/2, it uses a copy of the configuration without "h2". The
// server also uses a copy if the TLS configuration of ln sets GetConfigForClient. Calls of SetSessionTicketKeys on the
// original configuration do not change the copy.
//
// If s.Protocols is an empty set, Serve serves no connection and returns an error that wraps ErrProtocols.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.prepareToServe(); err != nil {
		ln.Close()
		return err
	}
	served := s.conns.Table.AddListener(s.withTLS(ln))
	if served == nil {
		ln.Close()
		return nil
	}
	defer served.Drop()
	served.Base = s.baseContext(ln)
	if s.OnListen != nil {
		s.OnListen(ln)
	}
	if s.Engine != EngineGoroutine {
		if done, err := s.conns.ServeOnLoops(served, s.loopHandler()); done {
			return err
		}
	}
	return s.conns.AcceptLoop(served)
}

// ServeConn serves requests on the connection c until the client or the server closes c. ServeConn closes c before it
// returns, unless a handler has hijacked c. ServeConn returns an error if the connection failed, or if the server
// refused a request and closed c.
//
// If a read from c returns io.EOF after a request, the client has closed its sending side. If c is a socket, or TLS
// over a socket, io.EOF cancels the request's context unless AllowHalfClose is set. If c is any other connection,
// io.EOF does not cancel the context. Read errors other than io.EOF always cancel the context.
func (s *Server) ServeConn(c net.Conn) error { return s.serveOne(c, nil) }

// serveOne serves one connection, from a listener if that is not nil.
func (s *Server) serveOne(c net.Conn, of *conn.Listener) error {
	if err := s.prepareToServe(); err != nil {
		c.Close()
		return err
	}
	if err := s.conns.Admit(); err != nil {
		s.conns.TurnAway(c, err, false)
		return err
	}
	_, err := s.serveConn(c, of)
	if answered, ok := err.(answeredError); ok {
		return answered.error
	}
	return err
}

// Serve accepts connections from ln and serves them with a Server that has default settings. See
// [Server.Serve].
func Serve(ln net.Listener, handler RequestHandler) error {
	return (&Server{Handler: handler}).Serve(ln)
}

// ServeConn serves c with a Server that has default settings. See [Server.ServeConn].
func ServeConn(c net.Conn, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeConn(c)
}
