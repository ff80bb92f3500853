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

// ServeHandler serves a whole connection, see [Server.NextProto]. It need not close c; the server closes c when
// the ServeHandler returns.
type ServeHandler func(c net.Conn) error

// RequestConfig contains limits for a single request. [Server.HeaderReceived] returns it. A field that is zero
// or negative leaves the limit of the server in force.
type RequestConfig struct {
	// ReadTimeout limits the time to read the rest of the request.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write the response.
	WriteTimeout time.Duration

	// MaxRequestBodySize limits the body of the request, in bytes.
	MaxRequestBodySize int
}

// Server serves HTTP/1.1 and HTTP/1.0. The zero value with a Handler is a server with safe limits: zero always
// means the default. A negative value turns a limit off, unless the comment on the field says otherwise.
//
// All methods may be called concurrently. Do not change fields once the server serves, and do not copy a
// Server.
type Server struct {
	noCopy noCopy

	// Handler is called for every request. It must not be nil unless NextProto has registered a handler. If
	// Handler panics, the panic is logged with its stack and the connection is closed. The client gets a 500
	// response if nothing was sent yet.
	Handler RequestHandler

	// ErrorHandler builds the response to a request that the server refuses before it calls Handler.
	// ctx.Response already has the status that RFC 9110 asks for. The connection is always closed afterwards,
	// except after ErrRequestLimit. By default the response is a line of text.
	//
	// err is the error that fasthttp would pass: ErrBodyTooLarge, ErrGetOnly, an *ErrSmallBuffer, an
	// ErrBrokenChunk, or a *net.OpError for a request that arrived too slowly. For all of them except the first
	// two, errors.As also finds a *ParseError with the status and the reason. It is ErrRequestLimit for a
	// request that exceeds MaxConcurrentRequests.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called when the head of a request has been read. It returns limits for the rest of the
	// request. Nil leaves the limits of the server in force.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides by the head whether to accept a request with Expect: 100-continue (RFC 9110
	// §10.1.1). False refuses it with 417 (Expectation Failed). If ContinueHandler is nil, 100 is sent when the
	// handler first reads the body. The handler can then refuse the body with any status by not reading it.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler does the same as ContinueHandler, but can choose the status. With 100 the request
	// continues. Any other status is sent with the rest of ctx.Response. ExpectHandler takes precedence over
	// ContinueHandler.
	ExpectHandler func(ctx *RequestCtx) int

	// BaseContext returns the parent context for requests on the connections of ln. Their RequestCtx has its
	// values and its deadline, and ends when it ends. Serve calls it once. It must not return nil. The default
	// is context.Background, which also applies to connections that were passed to ServeConn.
	BaseContext func(ln net.Listener) context.Context

	// ConnContext returns the parent context for requests on c. It is called once per connection, before its
	// first request and on the goroutine that serves it. ctx comes from BaseContext, and c is what
	// RequestCtx.Conn returns. The result must be ctx or a context derived from ctx. ConnContext must not
	// block. The default returns ctx.
	ConnContext func(ctx context.Context, c net.Conn) context.Context

	// ConnState is called when a connection changes its state. It is never called by two goroutines at once for
	// the same connection. It should return quickly, because the connection waits.
	ConnState func(c net.Conn, state ConnState)

	// OnListen is called by Serve, and by all methods that serve a listener, when the server is about to accept
	// connections. ln is the same listener that BaseContext gets. Use OnListen to learn the port that was
	// chosen for ":0", or to write a file that marks the server as ready. Clients that connect before OnListen
	// returns wait in the queue of the listener. OnListen must not wait for Shutdown or Close.
	OnListen func(ln net.Listener)

	// Protocols is the set of protocols that the server offers. Nil means the protocols that this version of
	// the module recommends. At present that is HTTP/1; see Protocols. For a set that this version does not
	// support, Serve and the Listen methods return an error that wraps ErrProtocols.
	Protocols *Protocols

	// HTTP2 configures HTTP/2 connections. Nil means the defaults. It has no effect unless Protocols includes
	// HTTP/2.
	HTTP2 *HTTP2Config

	// TLSConfig configures TLS for the methods that serve TLS, which use a copy of it. They always offer
	// HTTP/1.1. They offer "h2" of its NextProtos only if a handler of NextProto serves HTTP/2. The same
	// applies to configurations that GetConfigForClient returns.
	TLSConfig *tls.Config

	// FormValueFunc replaces the way in which RequestCtx.FormValue looks up a key. Nil means the order that
	// [RequestCtx.FormValue] describes.
	FormValueFunc FormValueFunc

	// ErrorLog receives error messages as structured records. If it is set, Logger is not used. Records about
	// clients and the network have the level slog.LevelWarn, all other records slog.LevelError. They have these
	// attributes where they apply:
	//
	//   - remote: address of the client
	//   - conn: RequestCtx.ConnID of the connection
	//   - status: status code of the response to a request or connection that was refused
	//   - err: reason, or the value of a panic
	//   - stack: stack of a panic
	//
	// No record contains bytes of a request, except those that RequestCtx.Logger writes. They also have the
	// attributes method and uri.
	ErrorLog *slog.Logger

	// Logger receives error messages if ErrorLog is nil. The default writes to standard error with the prefix
	// "gallop: ".
	Logger Logger

	// Name is the value of the Server header. The default is "gallop", which also replaces a Name that is not a
	// valid header value.
	Name string

	// Concurrency limits the connections that are open at the same time. A further connection gets a 503
	// response and is closed. Zero or a negative value means DefaultConcurrency.
	Concurrency int

	// MaxConnsPerIP limits the open connections of one client, which is an IPv4 address or the /64 network of
	// an IPv6 address. A further connection gets a 429 response and is closed. Zero or a negative value means
	// no limit.
	MaxConnsPerIP int

	// MaxConcurrentRequests limits the requests that run in Handler at the same time, on all connections
	// together. A further request gets a 503 response, and its connection stays open. Zero or a negative value
	// means no limit. Concurrency still limits the requests, since an HTTP/1 connection carries one request at
	// a time.
	MaxConcurrentRequests int

	// MaxRequestsPerConn is how many requests are served on a connection before it is closed. Zero or a
	// negative value means no limit.
	MaxRequestsPerConn int

	// ReadHeaderTimeout limits the time from the first byte of a request to the end of its head. For the first
	// request on a connection the time starts as soon as the client could send it. Zero means 10 seconds. A
	// negative value means no limit.
	ReadHeaderTimeout time.Duration

	// ReadTimeout limits the time from the first byte of a request to the end of its body. Zero or a negative
	// value means no limit. MinBodyRate still ends bodies that arrive too slowly.
	ReadTimeout time.Duration

	// MinBodyRate is the minimum average rate of a request body, in bytes per second. It applies once five
	// seconds have passed. Zero means 240. A negative value means no minimum.
	MinBodyRate int

	// WriteTimeout limits the time to write a response. With zero there is no such limit, but the client must
	// accept some data every 30 seconds. A negative value turns both limits off.
	WriteTimeout time.Duration

	// IdleTimeout is how long a connection may wait for its next request. Zero means ReadTimeout if that is
	// set, and 75 seconds otherwise. A negative value means no limit.
	IdleTimeout time.Duration

	// TLSHandshakeTimeout limits a TLS handshake. Zero means 10 seconds, or ReadTimeout if that is shorter. A
	// negative value means no limit.
	TLSHandshakeTimeout time.Duration

	// ReadBufferSize is the initial size of the read buffer of a connection, in bytes. The buffer grows up to
	// MaxHeaderBytes for a large head, and is released while the connection is idle. Zero or a negative value
	// means 4 KiB. If ReadBufferSize is set and MaxHeaderBytes is not, it also limits request heads.
	ReadBufferSize int

	// WriteBufferSize is how many bytes of responses to pipelined requests are collected before they are
	// written. Zero or a negative value means 4 KiB.
	WriteBufferSize int

	// MaxRequestLineBytes limits the request target, in bytes. A longer one gets a 414 response. Zero or a
	// negative value means 16 KiB, or ReadBufferSize if that limits request heads and is larger.
	MaxRequestLineBytes int

	// MaxHeaderBytes limits the head of a request, in bytes. A larger one gets a 431 response. Zero or a
	// negative value means ReadBufferSize if that is set, and 64 KiB otherwise.
	MaxHeaderBytes int

	// MaxHeaderFields limits the header lines of a request. A request with more lines gets a 431 response. Zero
	// or a negative value means 256.
	MaxHeaderFields int

	// MaxFormArgs limits how many arguments of a query, or of a form in the body, are parsed. If there are
	// more, QueryArgs and PostArgs contain the first ones, and Args.Err returns ErrTooManyArgs. Zero means
	// 10,000. A negative value means no limit.
	//
	// It also limits the parts of a multipart form. If there are more, RequestCtx.MultipartForm returns
	// ErrTooManyArgs. A multipart body never has more than 1000 parts, regardless of this field.
	MaxFormArgs int

	// MaxRequestBodySize limits request bodies that are read into memory, in bytes. A larger one gets a 413
	// response. With StreamRequestBody it does not limit what the handler reads from the stream. Zero or a
	// negative value means 4 MiB.
	MaxRequestBodySize int

	// LameDuck is how long Shutdown continues to accept connections and to serve requests before it closes
	// listeners and idle connections. Each response in that time is the last one on its connection. Load
	// balancers and keep-alive clients can thus move away without losing a request. Zero or a negative value
	// means that Shutdown does not wait.
	LameDuck time.Duration

	// ShutdownTimeout is how long Run and RunTLS wait for in-flight requests after their context has ended and
	// the time of LameDuck has passed. Connections that are left are closed then. Zero or a negative value
	// means that they wait without a limit, as Shutdown does.
	ShutdownTimeout time.Duration

	// Engine chooses what serves connections. The default is EngineAuto: event loops on Linux for TCP and unix
	// sockets, and a goroutine per connection elsewhere. Event loops also serve TLS, through the methods of
	// Server that serve TLS and through listeners of crypto/tls.
	Engine EngineType

	// Dispatch chooses where an event loop calls Handler. The default is DispatchAuto. It has no effect without
	// event loops.
	Dispatch DispatchType

	// TCPKeepalivePeriod is the interval of TCP keep-alive probes if TCPKeepalive is set. Zero or a negative
	// value leaves the interval of the system unchanged.
	TCPKeepalivePeriod time.Duration

	// SleepWhenConcurrencyLimitsExceeded is how long the server stops accepting connections after it has
	// refused one because of Concurrency. Zero or a negative value means that it does not stop.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// MaxIdleWorkerDuration is how long a goroutine that has served a connection waits for another one before
	// it ends. On event loops it may take up to twice as long. Zero or a negative value means 10 seconds.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalive turns on TCP keep-alive probes for accepted connections.
	TCPKeepalive bool

	// AllowHalfClose supports clients that send a request, close their side of the connection, and wait for the
	// response. They always get a response. By default the context of the request ends when they close their
	// side, since a killed client looks the same. With AllowHalfClose the context continues. A failed write
	// still ends it, and on Linux so does a reset.
	AllowHalfClose bool

	// DisableKeepalive closes every connection after its first response.
	DisableKeepalive bool

	// GetOnly refuses all methods except GET and HEAD with 405 (Method Not Allowed).
	GetOnly bool

	// AllowTrace passes TRACE requests to Handler. By default they are refused with 405. A handler that echoes
	// them would reveal headers that scripts must not see (RFC 9110 §9.3.8).
	AllowTrace bool

	// StreamRequestBody calls Handler as soon as the head of a request has arrived. The handler reads the body
	// from RequestCtx.RequestBodyStream, or with methods that need all of it, such as PostBody. The server
	// reads and drops the rest of the body, or closes the connection.
	StreamRequestBody bool

	// DisablePreParseMultipartForm has no effect.
	//
	// Deprecated: forms are parsed when a handler asks for them.
	DisablePreParseMultipartForm bool

	// ReduceMemoryUsage has no effect.
	//
	// Deprecated: an idle connection holds no buffer.
	ReduceMemoryUsage bool

	// DisableHeaderNamesNormalizing calls DisableNormalizing on the headers of requests and responses. Names
	// that handlers set are then sent unchanged, and loops show names as they were received.
	DisableHeaderNamesNormalizing bool

	// LogAllErrors also logs clients that disconnected or were too slow.
	LogAllErrors bool

	// SecureErrorLogMessage has no effect.
	//
	// Deprecated: errors and log lines never contain bytes of a request.
	SecureErrorLogMessage bool

	// NoDefaultServerHeader omits the Server header from responses for which the handler has set none.
	NoDefaultServerHeader bool

	// NoDefaultDate omits the Date header from responses for which the handler has set none.
	NoDefaultDate bool

	// NoDefaultContentType omits the Content-Type header from responses for which the handler has set none.
	NoDefaultContentType bool

	// KeepHijackedConns leaves it to the HijackHandler to close its connection. By default the connection is
	// closed when the HijackHandler returns.
	KeepHijackedConns bool

	// CloseOnShutdown has no effect.
	//
	// Deprecated: responses during Shutdown always close the connection.
	CloseOnShutdown bool

	// PoisonReleased overwrites the bytes that a handler was given with 0xDB when it has returned. Views that
	// were kept too long then show up in tests. Race builds always do this.
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

// Serve accepts connections from ln and serves them until ln fails or the server is shut down. It closes ln
// exactly once. It returns nil after Shutdown or Close, after the program has closed ln, and when Accept
// returns io.EOF.
//
// If ln is a listener of crypto/tls whose configuration lists "h2", HTTP/2 is not offered unless a handler of
// NextProto serves it. The configuration is then copied, and also if it has GetConfigForClient. Later calls of
// its SetSessionTicketKeys have no effect on a copy.
//
// If this version does not support the set in Protocols, Serve serves nothing and returns an error that wraps
// ErrProtocols.
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

// ServeConn serves c until it ends, and closes it. It returns nil if the connection ended in a normal way.
// Otherwise the error says why the connection failed, or why the server refused a request and closed the
// connection.
//
// If c is neither a socket nor TLS over one, it may return io.EOF after a request without ending the context of
// the request. On sockets io.EOF ends the context, see AllowHalfClose. Any other error ends it too.
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
