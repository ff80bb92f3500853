package gallop

import (
	"cmp"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/http1"
)

// settings are the fields of a Server with their defaults filled in. A duration or
// number of 0 means none here.
type settings struct {
	head      http1.Limits
	chunks    http1.ChunkLimits
	readHead  time.Duration
	read      time.Duration
	idle      time.Duration
	handshake time.Duration
	write     time.Duration
	progress  time.Duration // of writing, where write is not set
	bodyRate  int64         // bytes a second
	maxBody   int64
	maxArgs   int   // in a query or a form
	maxAtOnce int64 // requests; 0 means no limit
	readBuf   int
	writeBuf  int
	server    string // value of the Server field
	poison    bool
	plain     bool // a response may be plain, see isPlain
	unusual   bool // RequestCtx.beginUnusual has something to do
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
	c.readHead = orNone(s.ReadHeaderTimeout, defaultReadHeaderTimeout)
	c.read = max(s.ReadTimeout, 0)
	c.idle = orNone(cmp.Or(s.IdleTimeout, s.ReadTimeout), defaultIdleTimeout)
	c.handshake = orNone(s.TLSHandshakeTimeout, shorter(defaultHandshakeTimeout, c.read))
	c.write = max(s.WriteTimeout, 0)
	if s.WriteTimeout == 0 {
		c.progress = defaultWriteProgress
	}
	c.bodyRate = int64(orNone(s.MinBodyRate, defaultMinBodyRate))
	c.maxBody = int64(orDefault(s.MaxRequestBodySize, DefaultMaxRequestBodySize))
	c.unusual = s.DisableHeaderNamesNormalizing || s.NoDefaultContentType || s.BaseContext != nil || s.ConnContext != nil
	c.maxAtOnce = int64(max(s.MaxConcurrentRequests, 0))
	c.maxArgs = orNone(s.MaxFormArgs, defaultMaxFormArgs)
	c.readBuf = orDefault(s.ReadBufferSize, defaultReadBuffer)
	c.writeBuf = orDefault(s.WriteBufferSize, defaultWriteBuffer)
	if !s.NoDefaultServerHeader {
		if c.server = defaultName; s.Name != "" && ascii.IsFieldValue(s.Name) {
			c.server = s.Name
		}
	}
	c.poison = s.PoisonReleased || raceEnabled
	c.plain = !s.DisableKeepalive && s.MaxRequestsPerConn <= 0 && !s.NoDefaultDate && !s.NoDefaultContentType
}

// serverChunkLimits bound chunk lines, extensions and trailers of a request.
var serverChunkLimits = http1.ChunkLimits{Line: 4 << 10, Overhead: 16 << 10, Trailer: 8 << 10, Fields: defaultMaxFields}
