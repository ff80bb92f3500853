package raw

import (
	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/load/script"
	"github.com/gallop-http/gallop/internal/message"
)

// session is the state of HTTP/2 on a connection.
type session struct {
	engine  http2.Conn
	message http2.Message
	head    message.Head
	users   []*user // by slot
	most    int     // streams at a time, as far as this side decides
	full    bool    // input waits until the output was written
}

// stream is a user's request on a connection with HTTP/2.
type stream struct {
	id   uint32
	slot int
	rest []byte // of the body; not sent yet
	head bool   // the head of the response has arrived
}

// h2Config announces windows that no response fills. The limits only keep a broken server from using all memory.
var h2Config = http2.Config{
	Role:                 http2.Client,
	MaxConcurrentStreams: 1 << 14,
	StreamWindow:         16 << 20,
	ConnWindow:           1<<30 - 1,
	MaxFrameSize:         64 << 10,
	MaxSendFrame:         64 << 10,
	HeaderTableSize:      4096,
	EncoderTableSize:     4096,
	MaxBlock:             1<<20 + 1,
	Header:               hpack.Limits{List: 256 << 10, Fields: 4096, String: 256 << 10},
	MaxInterims:          mostInterims,
}

// startHTTP2 begins HTTP/2 on a new connection.
func (c *conn) startHTTP2() {
	c.h2 = &session{most: c.t.Streams}
	c.h2.message.Head = &c.h2.head
	c.h2.engine.Init(&h2Config)
	c.soil()
}

// room returns how many streams may be opened now.
func (s *session) room() int {
	if !s.engine.CanOpen() {
		return 0
	}
	return min(s.most, s.engine.MaxOpen()) - s.engine.Streams()
}

// sendHTTP2 sends a request on a new stream.
func (c *conn) sendHTTP2(u *user) {
	e := &c.h2.engine
	before := len(e.Out())
	id, slot, ok := e.Open(u.req.method)
	if !ok { // callers ask hasRoom before
		c.t.lines.line.push(u)
		return
	}
	for slot >= len(c.h2.users) {
		c.h2.users = append(c.h2.users, nil)
	}
	c.h2.users[slot] = u
	u.h2 = stream{id: id, slot: slot, rest: u.req.Body}
	dst, enc, _ := e.BeginHead(id)
	e.EndHead(id, c.appendHead(enc, dst, &u.req), true, len(u.req.Body) == 0)
	c.sendRest(u)
	u.series().BytesOut += int64(len(e.Out()) - before)
	c.soil()
}

// appendHead appends the fields of a request.
func (c *conn) appendHead(e *hpack.Encoder, dst []byte, req *request) []byte {
	scheme, authority := c.t.Scheme, c.t.Authority
	if req.Scheme != "" {
		scheme = req.Scheme
	}
	if scheme == "" {
		scheme = "http"
	}
	if req.Authority != "" {
		authority = req.Authority
	}
	dst = hpack.AppendPseudo(e, dst, hpack.Method, req.Method)
	dst = hpack.AppendPseudo(e, dst, hpack.Scheme, scheme)
	dst = hpack.AppendPseudo(e, dst, hpack.Authority, authority)
	dst = hpack.AppendPseudo(e, dst, hpack.Path, req.Path)
	hasLength := false
	for i := range req.Header {
		f := &req.Header[i]
		id := field.Lookup(f.Name)
		if hasLength = hasLength || id == field.ContentLength; !isForHTTP1(id, f) {
			dst = hpack.Append(e, dst, id, f.Name, f.Value)
		}
	}
	if !hasLength && (len(req.Body) > 0 || req.expectsBody()) {
		dst = hpack.AppendContentLength(dst, uint64(len(req.Body)))
	}
	return dst
}

// isForHTTP1 reports whether a field must not be sent over HTTP/2 (RFC 9113 §8.2.2). Host is sent as :authority.
func isForHTTP1(id field.ID, f *script.Field) bool {
	switch id {
	case field.Host, field.Connection, field.TransferEncoding, field.Upgrade, field.KeepAlive, field.ProxyConnection, field.HTTP2Settings:
		return true
	case field.TE:
		return !ascii.EqualFold(f.Value, "trailers")
	}
	return false
}

// sendRest appends a frame of the body, if there is one. The engine says when the next frame may follow.
func (c *conn) sendRest(u *user) {
	if len(u.h2.rest) > 0 {
		n, ok := c.h2.engine.WriteData(u.h2.id, u.h2.rest, true, int64(c.t.now))
		if u.h2.rest = u.h2.rest[n:]; !ok {
			u.h2.rest = nil
			return
		}
	}
	if len(u.h2.rest) == 0 {
		c.sending.push(u)
	}
}

// flushHTTP2 writes output, and appends what has waited for the output to shrink.
func (c *conn) flushHTTP2() {
	e := &c.h2.engine
	for {
		c.sendRests()
		out := e.Out()
		if len(out) == 0 {
			break
		}
		n, err := c.t.io.write(c, out)
		e.Sent(n)
		if err != nil {
			c.end(classify(err))
			return
		}
		if n < len(out) {
			return
		}
		c.wroteAll()
	}
	if c.h2.full {
		c.h2.full = false
		c.inputHTTP2(nil)
	}
}

// sendRests appends bodies that have waited for their turn.
func (c *conn) sendRests() {
	for {
		_, slot, ok := c.h2.engine.NextWriter()
		if !ok {
			return
		}
		u := c.h2.users[slot]
		before := len(c.h2.engine.Out())
		c.sendRest(u)
		u.series().BytesOut += int64(len(c.h2.engine.Out()) - before)
	}
}

// cancel ends the request of a user and resets its stream.
func (c *conn) cancel(u *user) {
	c.h2.engine.Reset(u.h2.id, http2.Cancel)
	c.releaseStream(u)
	c.soil()
}

// releaseStream gives up a user's stream.
func (c *conn) releaseStream(u *user) {
	c.h2.engine.Release(u.h2.id)
	c.h2.users[u.h2.slot] = nil
	u.h2.rest = nil
	c.free = c.t.now
}
