package gallop

import (
	"cmp"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/clock"
	"github.com/gallop-http/gallop/internal/conn"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/http2"
)

// settings are the fields of a Server with their defaults filled in. A duration or
// number of 0 means none here.
type settings struct {
	conn.Settings

	head      http1.Limits
	chunks    http1.ChunkLimits
	bodyRate  int64 // bytes a second
	maxBody   int64
	maxArgs   int    // in a query or a form
	maxAtOnce int64  // requests; 0 means no limit
	server    string // value of the Server field
	plain     bool   // a response may be plain, see isPlain
	unusual   bool   // RequestCtx.beginUnusual has something to do
}

func (c *settings) resolve(s *Server) {
	c.head = http1.Limits{
		Target: orDefault(s.MaxRequestLineBytes, defaultMaxTarget),
		Head:   s.MaxHeaderBytes,
		Fields: orDefault(s.MaxHeaderFields, defaultMaxFields),
	}
	if c.head.Head <= 0 {
		c.head.Head = orDefault(s.ReadBufferSize, defaultMaxHeader)
		if s.MaxRequestLineBytes <= 0 {
			c.head.Target = max(c.head.Target, s.ReadBufferSize)
		}
	}
	c.chunks = serverChunkLimits
	c.First = orNone(s.ReadHeaderTimeout, defaultReadHeaderTimeout)
	c.Read = max(s.ReadTimeout, 0)
	c.Idle = orNone(cmp.Or(s.IdleTimeout, s.ReadTimeout), defaultIdleTimeout)
	c.Handshake = orNone(s.TLSHandshakeTimeout, clock.Shorter(defaultHandshakeTimeout, c.Read))
	c.Write = max(s.WriteTimeout, 0)
	if s.WriteTimeout == 0 {
		c.Progress = defaultWriteProgress
	}
	c.bodyRate = int64(orNone(s.MinBodyRate, defaultMinBodyRate))
	c.maxBody = int64(orDefault(s.MaxRequestBodySize, DefaultMaxRequestBodySize))
	c.unusual = s.DisableHeaderNamesNormalizing || s.NoDefaultContentType || s.BaseContext != nil || s.ConnContext != nil
	c.maxAtOnce = int64(max(s.MaxConcurrentRequests, 0))
	c.maxArgs = orNone(s.MaxFormArgs, defaultMaxFormArgs)
	c.ReadBuf = orDefault(s.ReadBufferSize, defaultReadBuffer)
	c.WriteBuf = orDefault(s.WriteBufferSize, defaultWriteBuffer)
	if !s.NoDefaultServerHeader {
		if c.server = defaultName; s.Name != "" && ascii.IsFieldValue(s.Name) {
			c.server = s.Name
		}
	}
	c.Poison = s.PoisonReleased || bufpool.Poisons
	c.MaxConns, c.MaxPerIP, c.PauseWhenFull = orDefault(s.Concurrency, DefaultConcurrency), s.MaxConnsPerIP, s.SleepWhenConcurrencyLimitsExceeded
	c.WorkerIdle = orDefault(s.MaxIdleWorkerDuration, 10*time.Second)
	c.Keepalive, c.KeepalivePeriod = s.TCPKeepalive, s.TCPKeepalivePeriod
	c.Predicts, c.HalfOpen = s.Dispatch == DispatchAuto, s.AllowHalfClose
	c.plain = !s.DisableKeepalive && s.MaxRequestsPerConn <= 0 && !s.NoDefaultDate && !s.NoDefaultContentType
}

// serverChunkLimits bound chunk lines, extensions and trailers of a request.
var serverChunkLimits = http1.ChunkLimits{Line: 4 << 10, Overhead: 16 << 10, Trailer: 8 << 10, Fields: defaultMaxFields}

const (
	defaultMaxStreams   = 100
	defaultStreamWindow = 64 << 10
	defaultConnWindow   = 1 << 20
	defaultEncoderTable = 512
)

// resolve sets the configuration of HTTP/2 connections.
func (l *h2Conns) resolve(s *Server) {
	from := s.HTTP2
	if from == nil {
		from = &HTTP2Config{}
	}
	list := min(s.set.head.Head, 1<<29) // so that the limits below are not too large for their types
	l.anyCipher = from.PermitProhibitedCipherSuites
	l.config = http2.Config{
		Role:                 http2.Server,
		MaxConcurrentStreams: uint32(orDefault(from.MaxConcurrentStreams, defaultMaxStreams)),
		StreamWindow:         uint32(within(from.MaxReceiveBufferPerStream, 1, maxH2Setting, defaultStreamWindow)),
		ConnWindow:           uint32(within(from.MaxReceiveBufferPerConnection, 64<<10, maxH2Setting, defaultConnWindow)),
		MaxFrameSize:         uint32(within(from.MaxReadFrameSize, 16<<10, 16<<20, defaultH2Frame)),
		MaxSendFrame:         64 << 10,
		HeaderTableSize:      within(from.MaxDecoderHeaderTableSize, 1, maxH2Setting, defaultDecoderTable),
		EncoderTableSize:     within(from.MaxEncoderHeaderTableSize, 1, maxH2Setting, defaultEncoderTable),
		MaxBlock:             2*list + 1,
		Header:               hpack.Limits{List: list, Fields: s.set.head.Fields, String: list},
		ExtendedConnect:      s.ExtendedConnect,
		Pauses:               true,
	}
}

// speaksH2 reports whether the server itself serves HTTP/2 on TLS connections.
func (s *Server) speaksH2() bool {
	return s.protos["h2"] == nil && (s.Protocols == nil || s.Protocols.HTTP2())
}

// speaksH1 reports whether the server serves HTTP/1.
func (s *Server) speaksH1() bool { return s.Protocols == nil || s.Protocols.HTTP1() }

// speaksH2C reports whether the server serves HTTP/2 without TLS.
func (s *Server) speaksH2C() bool { return s.Protocols != nil && s.Protocols.UnencryptedHTTP2() }

// EngineType selects whether connections are served by event loops or by goroutines. See [Server.Engine].
type EngineType int

const (
	// EngineAuto serves a connection on an event loop if event loops support the connection. EngineAuto serves all
	// other connections on goroutines, one for each connection.
	EngineAuto EngineType = iota

	// EngineLoop serves connections on event loops. There is one event loop for each processor. An idle connection needs
	// only its socket and a few hundred bytes of memory. Event loops are available on Linux for TCP and unix sockets.
	// EngineLoop serves all other connections on goroutines, one for each connection.
	EngineLoop

	// EngineGoroutine serves each connection on its own goroutine.
	EngineGoroutine
)

// DispatchType selects where an event loop calls handlers. See [Server.Dispatch]. Handlers may block with every
// DispatchType. The DispatchType affects only speed.
type DispatchType int

const (
	// DispatchAuto chooses between the loop and a separate goroutine. The handler is called on the loop if earlier calls
	// for the same method and path were short. All other calls run on separate goroutines. While a handler runs on the
	// loop, the loop's other connections wait. If the handler runs longer than two milliseconds, the loop serves its other
	// connections while the handler is still running.
	DispatchAuto DispatchType = iota

	// DispatchInline always calls the handler on the loop.
	DispatchInline

	// DispatchGoroutine always calls the handler on a separate goroutine.
	DispatchGoroutine
)

func (s *Server) logger() Logger {
	switch {
	case s.ErrorLog != nil:
		return LogTo(s.ErrorLog)
	case s.Logger != nil:
		return s.Logger
	}
	return defaultLogger
}
