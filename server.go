package gallop

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of Server. Each holds where its field is zero.
const (
	DefaultConcurrency        = 256 * 1024
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

// RequestHandler answers a request: it reads ctx.Request and fills ctx.Response.
//
// ctx and all byte slices that come from it are the server's and may not be used
// once the handler has returned; strings may. A handler may block. It may be called
// by many goroutines at once.
type RequestHandler func(ctx *RequestCtx)

// ServeHandler serves a whole connection, see Server.NextProto. It closes nothing;
// the server closes c when it returns.
type ServeHandler func(c net.Conn) error

// RequestConfig are limits for one request, see Server.HeaderReceived. A zero
// field leaves the server's setting in force.
type RequestConfig struct {
	ReadTimeout        time.Duration // for the rest of the request
	WriteTimeout       time.Duration // for the response
	MaxRequestBodySize int           // bytes
}

// Logger is where a Server writes what went wrong.
type Logger interface {
	// Printf must have the same semantics as log.Printf.
	Printf(format string, args ...any)
}

// Server serves HTTP/1.1 and HTTP/1.0. The zero value with a Handler is a server
// with safe limits: in every field zero means the default, and where nothing else
// is said a negative value means none.
//
// Fields may not be changed once the server serves. Methods may be called by many
// goroutines. A Server must not be copied.
type Server struct {
	noCopy noCopy

	// Handler answers every request, and may not be nil, unless NextProto has others
	// that do. If it panics, the panic is logged with its
	// stack, the client is answered 500 if nothing was sent yet, and the connection
	// is closed.
	Handler RequestHandler

	// ErrorHandler builds the response to a request that was refused before Handler
	// saw it. ctx.Response already has the status that RFC 9110 asks for. The
	// connection is always closed afterwards, except after ErrRequestLimit.
	//
	// The error is the one that fasthttp has: ErrBodyTooLarge, ErrGetOnly, an
	// *ErrSmallBuffer, an ErrBrokenChunk, or a *net.OpError for a request that came too slowly.
	// For all but the first two, errors.As finds a *ParseError with the status and the reason. It is ErrRequestLimit for a request beyond
	// MaxConcurrentRequests.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called when the head of a request has been read, and sets
	// limits for the rest of it.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides about a request with Expect: 100-continue by its head
	// (RFC 9110 §10.1.1); false refuses it with 417. When it is nil, 100 is sent
	// when the handler first reads the body, so that a handler can refuse with any
	// status by not reading it.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler decides as ContinueHandler does, with any status: 100 goes on,
	// any other is the answer, with what else is in ctx.Response. It is asked before
	// ContinueHandler.
	ExpectHandler func(ctx *RequestCtx) int

	// BaseContext returns the context that the requests on connections of a listener descend from: a RequestCtx has its values
	// and its deadline, and ends when it ends. Serve calls it once. It must not return nil. The default is
	// context.Background, which is also that of connections that ServeConn was given.
	BaseContext func(ln net.Listener) context.Context

	// ConnContext returns the context that the requests on c descend from instead. It is called once for each connection, before the
	// first request is served, on the goroutine that serves it; c is what RequestCtx.Conn returns. It must return ctx,
	// which is from BaseContext, or a context that descends from ctx, and must not wait.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	// ConnState is called when a connection changes its state. It is never called by two goroutines at once for the same connection.
	// It should return quickly, because the connection waits.
	ConnState func(c net.Conn, state ConnState)

	// OnListen is called by Serve, and so by all methods that serve a listener, when the server is about to accept connections from
	// ln. ln is what BaseContext is given. Use OnListen to learn the port that was chosen for ":0" or to write a file that says that
	// the server is ready. Clients that connect before OnListen returns wait in the listener's queue. OnListen must not wait for
	// Shutdown or Close.
	OnListen func(ln net.Listener)

	// Protocols is the set of protocols that the server speaks. Nil means those that this version of the module recommends, which is
	// HTTP/1 now; see Protocols. Serve and the Listen methods return an error that wraps ErrProtocols for a set that this version does
	// not support.
	Protocols *Protocols

	// HTTP2 configures HTTP/2 connections. Nil means the defaults. It has no effect unless Protocols includes HTTP/2.
	HTTP2 *HTTP2Config

	// TLSConfig is used, as a copy, by the methods that serve TLS. They always offer
	// HTTP/1.1. They offer "h2" of its NextProtos only if a handler of NextProto serves
	// HTTP/2. The same holds for the configurations that GetConfigForClient returns.
	TLSConfig *tls.Config

	// FormValueFunc replaces how RequestCtx.FormValue looks a key up.
	FormValueFunc FormValueFunc

	// ErrorLog takes error messages as structured records. If it is set, Logger is not used. Records are of level slog.LevelWarn for what
	// clients and the network do, and of slog.LevelError for the rest. They have these attributes where they apply:
	//
	//   - remote: address of the client
	//   - conn: RequestCtx.ConnID of the connection
	//   - status: status code of the response to a request or connection that was refused
	//   - err: reason, or the value of a panic
	//   - stack: stack of a panic
	//
	// No record holds bytes of a request, except those written by RequestCtx.Logger, which add the attributes method and uri.
	ErrorLog *slog.Logger

	// Logger takes error messages if ErrorLog is nil. The default is the standard logger.
	Logger Logger

	// Name is the value of the Server field. The default is "gallop", also in the place
	// of what cannot be a value.
	Name string

	// Concurrency is how many connections are served at once; one more is answered
	// 503 and closed. The default is DefaultConcurrency; it cannot be negative.
	Concurrency int

	// MaxConnsPerIP is how many connections one client may have: an IPv4 address, or
	// the /64 network of an IPv6 address. One more is answered 429 and closed. The
	// default is no limit.
	MaxConnsPerIP int

	// MaxConcurrentRequests is how many requests are handled at once, on all connections together. One more is answered 503 (Service
	// Unavailable), and its connection goes on. A request counts while Handler runs. The default is no limit other than Concurrency:
	// an HTTP/1 connection has one request at a time.
	MaxConcurrentRequests int

	// MaxRequestsPerConn is how many requests are served on a connection before it
	// is closed. The default is no limit.
	MaxRequestsPerConn int

	// ReadHeaderTimeout bounds the time from the first byte of a request to the end
	// of its head; for the first request on a connection, from the time when it could
	// have been sent. The default is 10 s.
	ReadHeaderTimeout time.Duration

	// ReadTimeout bounds the time from the first byte of a request to the end of its
	// body. The default is no bound: MinBodyRate ends what dribbles.
	ReadTimeout time.Duration

	// MinBodyRate is how many bytes a second a request body must bring on average,
	// once five seconds have passed. The default is 240.
	MinBodyRate int

	// WriteTimeout bounds the time to write a response. The default is no bound as
	// long as the client takes anything within 30 s.
	WriteTimeout time.Duration

	// IdleTimeout is how long a connection may wait for its next request. The default
	// is ReadTimeout if that is set, else 75 s.
	IdleTimeout time.Duration

	// TLSHandshakeTimeout bounds a TLS handshake. The default is 10 s, or ReadTimeout if that
	// is shorter.
	TLSHandshakeTimeout time.Duration

	// ReadBufferSize is the size of a connection's read buffer at first, in bytes. It
	// grows up to MaxHeaderBytes while a head is read, and is given back while
	// the connection idles. The default is 4 KiB; it cannot be negative. If it is set, and
	// MaxHeaderBytes is not, it is the size of the largest request head, too.
	ReadBufferSize int

	// WriteBufferSize is how many bytes of answers to pipelined requests are gathered
	// before they are written. The default is 4 KiB; it cannot be negative.
	WriteBufferSize int

	// MaxRequestLineBytes is the length of the longest request target; a longer one
	// is answered 414. The default is 16 KiB, or more if ReadBufferSize limits heads and is
	// more; it cannot be negative.
	MaxRequestLineBytes int

	// MaxHeaderBytes is the size of the largest request head; a larger one is
	// answered 431. The default is ReadBufferSize if that is set, else 64 KiB; it cannot be
	// negative.
	MaxHeaderBytes int

	// MaxHeaderFields is how many field lines a request may have; with more it is
	// answered 431. The default is 256; it cannot be negative.
	MaxHeaderFields int

	// MaxFormArgs is how many arguments of a query, of a form in the body, or parts of a multipart
	// form are parsed. With more, Args.Err, or RequestCtx.MultipartForm, returns ErrTooManyArgs.
	// QueryArgs and PostArgs then have the first ones. The default is 10,000; a negative value turns
	// the limit off.
	MaxFormArgs int

	// MaxRequestBodySize is the size of the largest request body that is read into
	// memory; a larger one is answered 413. With StreamRequestBody it does not bound
	// what the handler reads from the stream. The default is 4 MiB; it cannot be
	// negative.
	MaxRequestBodySize int

	// LameDuck is how long Shutdown goes on accepting connections and serving
	// requests, each the last one on its connection, before it closes listeners and
	// idle connections. It lets balancers and keep-alive clients move away without a
	// request lost. The default is not at all.
	LameDuck time.Duration

	// ShutdownTimeout is how long Run and RunTLS wait for in-flight requests after their context has ended and the time of LameDuck has
	// passed. Connections that are left are closed then. The default is to wait without a limit, as Shutdown does.
	ShutdownTimeout time.Duration

	// Engine says what serves connections. The default is EngineAuto: event loops on Linux for TCP and unix sockets, including
	// TLS by the methods of Server that serve TLS, and a goroutine for each connection elsewhere.
	Engine EngineType

	// Dispatch is where an event loop calls Handler.
	Dispatch DispatchType

	// TCPKeepalivePeriod is the interval of TCP keep-alive probes with TCPKeepalive.
	// The default is the system's.
	TCPKeepalivePeriod time.Duration

	// SleepWhenConcurrencyLimitsExceeded is how long accepting pauses when
	// Concurrency is reached. The default is not at all.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// MaxIdleWorkerDuration is how long a goroutine waits for another connection
	// before it ends. The default is 10 s; it cannot be negative.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalive switches TCP keep-alive probes on for accepted connections.
	TCPKeepalive bool

	// AllowHalfClose is for clients that send a request, close their side of the connection, and wait for the
	// response. They get one by default, too, but the request's context ends when they close, since a client that was
	// killed looks the same. With AllowHalfClose the context goes on. A failed write still ends it, and so does
	// a reset if the system is Linux.
	AllowHalfClose bool

	// DisableKeepalive closes every connection after its first response.
	DisableKeepalive bool

	// GetOnly refuses all methods but GET and HEAD with 405.
	GetOnly bool

	// AllowTrace hands TRACE requests to Handler. They are refused with 405
	// otherwise, since a handler that echoes one gives away what scripts may not
	// see (RFC 9110 §9.3.8).
	AllowTrace bool

	// StreamRequestBody calls Handler as soon as the head is there; the body is read
	// from RequestCtx.RequestBodyStream, or by the methods that want all of it. What
	// the handler leaves is read and dropped, or the connection is closed.
	StreamRequestBody bool

	// DisablePreParseMultipartForm has no effect.
	//
	// Deprecated: forms are parsed when a handler asks for them.
	DisablePreParseMultipartForm bool

	// ReduceMemoryUsage has no effect.
	//
	// Deprecated: an idle connection holds no buffer.
	ReduceMemoryUsage bool

	// DisableHeaderNamesNormalizing calls DisableNormalizing on the headers of requests
	// and responses: names that handlers set are sent as they are given, and loops show the names
	// that were received as they came.
	DisableHeaderNamesNormalizing bool

	// LogAllErrors also logs clients that went away or were too slow.
	LogAllErrors bool

	// SecureErrorLogMessage has no effect.
	//
	// Deprecated: errors and log lines never contain bytes of a request.
	SecureErrorLogMessage bool

	// NoDefaultServerHeader leaves out Server, NoDefaultDate leaves out Date and
	// NoDefaultContentType leaves out Content-Type where the handler set none.
	NoDefaultServerHeader bool
	NoDefaultDate         bool
	NoDefaultContentType  bool

	// KeepHijackedConns leaves it to the hijack handler to close the connection.
	KeepHijackedConns bool

	// CloseOnShutdown has no effect.
	//
	// Deprecated: responses during Shutdown always close the connection.
	CloseOnShutdown bool

	// PoisonReleased overwrites the bytes that a handler was given with 0xDB when
	// it has returned, so that views kept too long show. Race builds always do.
	PoisonReleased bool

	// MaxKeepaliveDuration has no effect.
	//
	// Deprecated: use IdleTimeout.
	MaxKeepaliveDuration time.Duration

	keepAlives keepAlives
	onShutdown onShutdown

	stopping atomic.Bool // every response is the last one on its connection
	ending   atomic.Bool // idle connections end

	once    sync.Once
	set     settings
	conns   connTable
	away    turnedAwayConns
	stop    context.CancelFunc
	stopped context.Context // done once Shutdown or Close was called
	certs   certStore
	protos  map[string]ServeHandler
	log     limitedLog
	connIDs atomic.Uint64
	ctxs    sync.Pool // of *RequestCtx
	starts  headStarts
	retired sync.Pool // of *serverConn
	workers workerPool
	loops   loopGroup
	branch  predictor
	counts  [countShards]serverCounts
	running atomic.Int64  // requests that are being handled, with MaxConcurrentRequests
	busy    atomic.Uint64 // requests that were refused because of MaxConcurrentRequests
}

// prepare resolves the settings. Every way into the server calls it first.
func (s *Server) prepare() {
	s.once.Do(func() {
		s.set.resolve(s)
		s.stopped, s.stop = context.WithCancel(context.Background())
		s.conns.init(s.MaxConnsPerIP)
		s.log.to, s.log.structured = s.logger(), s.ErrorLog
		s.workers.idle = orDefault(s.MaxIdleWorkerDuration, 10*time.Second)
		s.workers.serve = s.serveAccepted
	})
}

// prepareToServe is prepare for the methods that serve. It returns why they cannot.
func (s *Server) prepareToServe() error {
	s.prepare()
	if s.Handler == nil && s.protos == nil {
		return errNoHandler
	}
	return s.Protocols.check()
}

// Serve serves the connections that ln accepts, see Engine, until ln fails or the
// server is shut down. It closes ln once, whatever its type. It returns nil after Shutdown or
// Close, after the program has closed ln, and if Accept returns io.EOF, as listeners may that
// have an end.
//
// It returns an error that wraps ErrProtocols, and serves nothing, if this version does not support the set in Protocols.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.prepareToServe(); err != nil {
		ln.Close()
		return err
	}
	served := s.conns.addListener(ln)
	if served == nil {
		ln.Close()
		return nil
	}
	defer served.drop()
	served.base = s.baseContext(ln)
	if s.OnListen != nil {
		s.OnListen(ln)
	}
	if s.Engine != EngineGoroutine {
		if done, err := s.serveOnLoops(served); done {
			return err
		}
	}
	return s.acceptLoop(served)
}

// ServeConn serves c until it ends, and closes it. It returns nil when the
// connection ended as connections do, and otherwise what was wrong, with it or with the
// request that was refused and ended it.
//
// A c that is no socket, nor TLS over one, may return io.EOF behind a request: that does not end the request's context, as
// it does on sockets (see AllowHalfClose). Any other error does.
func (s *Server) ServeConn(c net.Conn) error { return s.serveOne(c, nil) }

// serveOne serves one connection, from a listener if that is not nil.
func (s *Server) serveOne(c net.Conn, of *servedListener) error {
	if err := s.prepareToServe(); err != nil {
		c.Close()
		return err
	}
	if err := s.admit(); err != nil {
		s.turnAway(c, StatusServiceUnavailable, err, false)
		return err
	}
	_, err := s.serveConn(c, of)
	if answered, ok := err.(answeredError); ok {
		return answered.error
	}
	return err
}

// Serve serves the connections of ln with a Server of default settings.
func Serve(ln net.Listener, handler RequestHandler) error {
	return (&Server{Handler: handler}).Serve(ln)
}

// ServeConn serves c with a Server of default settings.
func ServeConn(c net.Conn, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeConn(c)
}
