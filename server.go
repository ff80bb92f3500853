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

// Defaults of Server's fields. A default applies if its field is zero.
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
// ctx and all byte slices that come from it belong to the server. Do not use them after the handler has
// returned; strings may be kept. A handler may block. It may be called by several goroutines at once.
type RequestHandler func(ctx *RequestCtx)

// ServeHandler serves a whole connection. See [Server.NextProto]. A ServeHandler need not close c, because the server
// closes c when the ServeHandler returns.
type ServeHandler func(c net.Conn) error

// RequestConfig contains limits for a single request. [Server.HeaderReceived] returns it. If a field is zero or
// negative, the corresponding limit of the Server applies.
type RequestConfig struct {
	// ReadTimeout limits the time to read the rest of the request.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write the response.
	WriteTimeout time.Duration

	// MaxRequestBodySize limits the body of the request, in bytes.
	MaxRequestBodySize int
}

// Server serves HTTP/1.1 and HTTP/1.0. A Server with only its Handler set has safe limits, because zero always means
// the default. A negative value turns a limit off, unless the comment on the field says otherwise.
//
// All methods may be called concurrently. Do not change fields once the server has started, and do not copy a Server.
type Server struct {
	noCopy noCopy

	// Handler is called for every request. It must not be nil unless NextProto has registered a handler. If Handler
	// panics, the panic is logged with its stack and the connection is closed. The client gets a 500 response if
	// nothing has been sent yet.
	Handler RequestHandler

	// ErrorHandler builds the response to a request that the server refuses without calling Handler. ctx.Response
	// already has the status that RFC 9110 requires. The connection is always closed afterwards, except after
	// ErrRequestLimit. By default the response is a line of text.
	//
	// err is the error that fasthttp would pass: ErrBodyTooLarge, ErrGetOnly, an *ErrSmallBuffer, an ErrBrokenChunk,
	// or a *net.OpError for a request that arrived too slowly. Except for ErrBodyTooLarge and ErrGetOnly, errors.As
	// also finds a *ParseError with the status and the reason. If a request exceeds MaxConcurrentRequests, err is
	// ErrRequestLimit.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called when the header of a request has been read. It returns limits for the rest of the
	// request. If HeaderReceived is nil, the server's limits apply.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides from the header whether to accept a request with Expect: 100-continue (RFC 9110
	// §10.1.1). If ContinueHandler returns false, the client gets 417 (Expectation Failed). If ContinueHandler is
	// nil, the server sends 100 when the handler first reads the body. The handler can then refuse the body by
	// responding with any status and not reading the body.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler does the same as ContinueHandler, but returns a status. If the status is 100, the request
	// continues. Any other status is sent with the rest of ctx.Response. ExpectHandler takes precedence over
	// ContinueHandler.
	ExpectHandler func(ctx *RequestCtx) int

	// BaseContext returns the parent context for requests on connections from ln. Each RequestCtx has the parent's
	// values and deadline, and is done when the parent is. Serve calls BaseContext once. The result must not be nil.
	// The default is context.Background. Connections that are passed to ServeConn always use the default.
	BaseContext func(ln net.Listener) context.Context

	// ConnContext returns the parent context for requests on c. It is called once per connection, before the first
	// request, on the goroutine that serves the connection. ctx comes from BaseContext, and c is what RequestCtx.Conn
	// returns. The result must be ctx or a context derived from ctx. ConnContext must not block. The default returns
	// ctx.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	// ConnState is called when the state of a connection changes. It is never called by two goroutines at once for
	// the same connection. It should return quickly, because the connection waits for it.
	ConnState func(c net.Conn, state ConnState)

	// OnListen is called by Serve, and by all methods that serve a listener, when the server is about to accept
	// connections. ln is the same listener that BaseContext gets. Use OnListen to learn the port that was chosen for
	// ":0", or to write a file that marks the server as ready. Clients that connect before OnListen returns wait in
	// the listener's queue. OnListen must not wait for Shutdown or Close.
	OnListen func(ln net.Listener)

	// Protocols is the set of protocols that the server offers. Nil means the protocols that this version of the
	// module recommends. At present this is HTTP/1; see [Protocols]. If this version does not support the set, Serve
	// and the Listen methods return an error that wraps ErrProtocols.
	Protocols *Protocols

	// HTTP2 configures HTTP/2 connections. Nil means the defaults. The configuration has no effect unless Protocols
	// includes HTTP/2.
	HTTP2 *HTTP2Config

	// TLSConfig configures TLS for ServeTLS and the other methods that serve TLS. These methods use a copy of
	// TLSConfig and always offer HTTP/1.1. If its NextProtos lists "h2", they offer HTTP/2 only if a handler for "h2"
	// is registered with Server.NextProto. The same rules apply to configurations that GetConfigForClient returns.
	TLSConfig *tls.Config

	// FormValueFunc looks up keys for RequestCtx.FormValue. Nil means the order that [RequestCtx.FormValue]
	// describes.
	FormValueFunc FormValueFunc

	// ErrorLog receives error messages as structured records. If ErrorLog is set, Logger is not used. Records about
	// clients and the network have the level slog.LevelWarn; all other records have slog.LevelError. Each record has
	// the following attributes, where applicable:
	//
	//   - remote: address of the client
	//   - conn: RequestCtx.ConnID of the connection
	//   - status: status code of the response to a request or connection that was refused
	//   - err: reason, or the value of a panic
	//   - stack: stack of a panic
	//
	// Records contain no bytes of a request, with one exception: records written by RequestCtx.Logger. These records
	// also have the attributes method and uri.
	ErrorLog *slog.Logger

	// Logger receives error messages if ErrorLog is nil. The default writes to standard error with the prefix
	// "gallop: ".
	Logger Logger

	// Name is the value of the Server header. The default is "gallop", which is also used if Name is not a valid
	// header value.
	Name string

	// Concurrency limits how many connections are open at the same time. Additional connections get a 503 response
	// and are closed. Zero or a negative value means DefaultConcurrency.
	Concurrency int

	// MaxConnsPerIP limits the open connections of one client, which is an IPv4 address or the /64 network of an IPv6
	// address. Additional connections get a 429 response and are closed. Zero or a negative value means no limit.
	MaxConnsPerIP int

	// MaxConcurrentRequests limits how many requests Handler processes at the same time, across all connections.
	// Additional requests get a 503 response, and their connections stay open. Zero or a negative value means no
	// limit. Concurrency still limits concurrent requests, because an HTTP/1 connection carries one request at a
	// time.
	MaxConcurrentRequests int

	// MaxRequestsPerConn is how many requests the server serves on a connection before closing the connection. Zero
	// or a negative value means no limit.
	MaxRequestsPerConn int

	// ReadHeaderTimeout limits the time from the first byte of a request to the end of its header. For the first
	// request on a connection, the time starts as soon as the client is able to send the request. Zero means 10
	// seconds. A negative value means no limit.
	ReadHeaderTimeout time.Duration

	// ReadTimeout limits the time from the first byte of a request to the end of its body. Zero or a negative value
	// means no limit. Even without this limit, MinBodyRate limits how slowly a body may arrive.
	ReadTimeout time.Duration

	// MinBodyRate is the minimum average rate of a request body, in bytes per second. The minimum applies once five
	// seconds have passed. Zero means 240. A negative value means no minimum.
	MinBodyRate int

	// WriteTimeout limits the time to write a response. Zero means that a response may take any time as long as the
	// client accepts some data every 30 seconds. A negative value means no limit at all.
	WriteTimeout time.Duration

	// IdleTimeout is how long a connection may wait for its next request. Zero means ReadTimeout if ReadTimeout is
	// set, and 75 seconds otherwise. A negative value means no limit.
	IdleTimeout time.Duration

	// TLSHandshakeTimeout limits a TLS handshake. Zero means 10 seconds, or ReadTimeout if that is shorter. A
	// negative value means no limit.
	TLSHandshakeTimeout time.Duration

	// ReadBufferSize is the initial size of a connection's read buffer, in bytes. The buffer grows up to
	// MaxHeaderBytes for a large header, and is released while the connection is idle. Zero or a negative value means
	// 4 KiB. If ReadBufferSize is set and MaxHeaderBytes is not, ReadBufferSize also limits request headers.
	ReadBufferSize int

	// WriteBufferSize is the size in bytes of the buffer that collects responses to pipelined requests before they
	// are written. Zero or a negative value means 4 KiB.
	WriteBufferSize int

	// MaxRequestLineBytes limits the request target, in bytes. A request with a longer target gets a 414 response.
	// Zero or a negative value means 16 KiB, or ReadBufferSize if that is larger and limits request headers.
	MaxRequestLineBytes int

	// MaxHeaderBytes limits the header of a request including the request line, in bytes. A request with a larger
	// header gets a 431 response. Zero or a negative value means ReadBufferSize if ReadBufferSize is set, and 64 KiB
	// otherwise.
	MaxHeaderBytes int

	// MaxHeaderFields limits the number of header lines in a request. A request with more header lines gets a 431
	// response. Zero or a negative value means 256.
	MaxHeaderFields int

	// MaxFormArgs limits how many arguments are parsed from a query, or from a form in the body. If there are more,
	// QueryArgs and PostArgs contain only the arguments up to the limit, and Args.Err returns ErrTooManyArgs. Zero
	// means 10,000. A negative value means no limit.
	//
	// MaxFormArgs also limits the parts of a multipart form. If there are more, RequestCtx.MultipartForm returns
	// ErrTooManyArgs. A multipart body never has more than 1000 parts, regardless of this field.
	MaxFormArgs int

	// MaxRequestBodySize limits request bodies that are read into memory, in bytes. A request with a larger body gets
	// a 413 response. With StreamRequestBody, the limit does not apply to what the handler reads from the stream.
	// Zero or a negative value means 4 MiB.
	MaxRequestBodySize int

	// LameDuck is how long Shutdown continues to accept connections and to serve requests before it closes listeners
	// and idle connections. During that time, a connection is closed after its next response. Load balancers and
	// keep-alive clients can then switch to another server without losing a request. Zero or a negative value means
	// that Shutdown does not wait.
	LameDuck time.Duration

	// ShutdownTimeout is how long Run and RunTLS wait for in-flight requests once their context is done and the
	// LameDuck time has passed. Any remaining connections are then closed. Zero or a negative value means no time
	// limit, as with Shutdown.
	ShutdownTimeout time.Duration

	// Engine selects how connections are served. The default is EngineAuto: event loops on Linux for TCP and unix
	// sockets, and a goroutine per connection elsewhere. Event loops also serve TLS, both for Server's TLS methods
	// and for listeners of crypto/tls.
	Engine EngineType

	// Dispatch selects where an event loop calls Handler. The default is DispatchAuto. Dispatch has no effect without
	// event loops.
	Dispatch DispatchType

	// TCPKeepalivePeriod is the interval of TCP keep-alive probes if TCPKeepalive is set. Zero or a negative value
	// keeps the system's interval.
	TCPKeepalivePeriod time.Duration

	// SleepWhenConcurrencyLimitsExceeded is how long the server stops accepting connections after it has refused a
	// connection because of Concurrency. Zero or a negative value means no pause.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// MaxIdleWorkerDuration is how long a goroutine that has served a connection waits for another connection before
	// it exits. On event loops, it may wait up to twice as long. Zero or a negative value means 10 seconds.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalive turns on TCP keep-alive probes for accepted connections.
	TCPKeepalive bool

	// AllowHalfClose keeps the request's context alive for clients that send a request, close their side of the
	// connection, and wait for the response. By default, the context ends when such a client closes its side, because
	// a killed client looks the same. The client gets its response in either case. With AllowHalfClose, a failed
	// write still ends the context, and so does a reset on Linux.
	AllowHalfClose bool

	// DisableKeepalive closes every connection after its first response.
	DisableKeepalive bool

	// GetOnly refuses all methods except GET and HEAD with 405 (Method Not Allowed).
	GetOnly bool

	// AllowTrace passes TRACE requests to Handler. By default, TRACE requests are refused with 405. A handler that
	// echoes a TRACE request would reveal headers that scripts must not see (RFC 9110 §9.3.8).
	AllowTrace bool

	// StreamRequestBody calls Handler as soon as the header of a request has arrived. The handler reads the body from
	// RequestCtx.RequestBodyStream, or calls a method that reads the whole body, such as PostBody. If the handler
	// leaves part of the body unread, the server reads and discards the rest, or closes the connection.
	StreamRequestBody bool

	// DisablePreParseMultipartForm has no effect.
	//
	// Deprecated: forms are parsed when a handler asks for them.
	DisablePreParseMultipartForm bool

	// ReduceMemoryUsage has no effect.
	//
	// Deprecated: an idle connection holds no buffer.
	ReduceMemoryUsage bool

	// DisableHeaderNamesNormalizing calls DisableNormalizing on the headers of requests and responses. Header names
	// that handlers set are then sent unchanged, and iterators return names as they were received.
	DisableHeaderNamesNormalizing bool

	// LogAllErrors also logs clients that disconnected or were too slow.
	LogAllErrors bool

	// SecureErrorLogMessage has no effect.
	//
	// Deprecated: errors and log lines never contain bytes of a request.
	SecureErrorLogMessage bool

	// NoDefaultServerHeader omits the Server header unless the handler sets one.
	NoDefaultServerHeader bool

	// NoDefaultDate omits the Date header unless the handler sets one.
	NoDefaultDate bool

	// NoDefaultContentType omits the Content-Type header unless the handler sets one.
	NoDefaultContentType bool

	// KeepHijackedConns makes the HijackHandler responsible for closing its connection. By default the connection is
	// closed when the HijackHandler returns.
	KeepHijackedConns bool

	// CloseOnShutdown has no effect.
	//
	// Deprecated: responses during Shutdown always close the connection.
	CloseOnShutdown bool

	// PoisonReleased overwrites a request's memory with 0xDB once the handler has returned. Tests then notice views
	// that were kept too long. Race builds always do this.
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

// Serve accepts connections from ln and serves them until ln fails or the server is shut down. It closes ln exactly
// once. It returns nil after Shutdown or Close, if the program closes ln, and if Accept returns io.EOF.
//
// If ln is a listener of crypto/tls whose configuration lists "h2", HTTP/2 is not offered unless a handler for "h2"
// is registered with NextProto. Serve copies the configuration in that case, and also when GetConfigForClient is set.
// Calling SetSessionTicketKeys on the original then has no effect on the copy.
//
// If this version does not support the set in Protocols, Serve returns an error that wraps ErrProtocols without
// serving any connection.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.prepareToServe(); err != nil {
		ln.Close()
		return err
	}
	served := s.conns.addListener(s.withTLS(ln))
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

// ServeConn serves the connection c until it ends, and then closes it. It returns nil if the connection ended
// normally. Otherwise the error says why the connection failed, or why the server refused a request and closed the
// connection.
//
// If c is neither a socket nor TLS over a socket, reading io.EOF from c after a request does not end the request's
// context. On sockets, io.EOF ends the context; see AllowHalfClose. Any other read error always ends the context.
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

// Serve accepts connections from ln and serves them with a Server that has default settings. See
// [Server.Serve].
func Serve(ln net.Listener, handler RequestHandler) error {
	return (&Server{Handler: handler}).Serve(ln)
}

// ServeConn serves c with a Server that has default settings. See [Server.ServeConn].
func ServeConn(c net.Conn, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeConn(c)
}
