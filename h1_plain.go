package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// Nearly all responses are plain: the handler has returned and left a 200 with some header fields
// and a body in memory, and the connection stays open. A plain response needs a small part of what
// respond can do, but its path leads through all of respond. That is more code than the processor
// caches next to the rest of the server. So respondPlain does this part again, in one piece. All
// other responses are left to respond. TestPlainResponses compares the output of both.

// notPlain are the fields that a plain response has not: those that its beginning or its framing
// depend on.
const notPlain = field.IDs(1)<<field.ContentLength | 1<<field.TransferEncoding | 1<<field.Connection |
	1<<field.Trailer | 1<<field.Server | 1<<field.Date

// isPlain reports whether the response, which a handler has left that returned, is plain, and the
// handler has left nothing else to look after.
func (c *serverConn) isPlain() bool { return c.whyNotPlain() == "" }

// whyNotPlain returns the first condition that the response does not meet, or "" if it is plain.
func (c *serverConn) whyNotPlain() string {
	x := c.exchange
	ctx, b := &x.ctx, &x.body
	resp := &ctx.Response
	h := &resp.Header
	switch {
	case !c.set.plain:
		return "settings"
	case x.writeLimit != 0:
		return "time to write"
	case !c.keepAlive || c.close:
		return "last response"
	case c.http10:
		return "HTTP/1.0"
	case x.awaits100:
		return "awaited 100"
	case c.hijacked || ctx.hijackHandler != nil:
		return "hijacked"
	case x.method == message.HeadMethod || x.method == message.Connect:
		return "method"
	case h.head.Status != 0 && h.head.Status != StatusOK:
		return "status"
	case h.head.Reason.Len != 0:
		return "reason phrase"
	case h.head.Body != message.NoBody || h.flags&announced != 0:
		return "framing"
	case h.flags&protocolSet != 0:
		return "protocol"
	case h.flags&(plainFields|noDefaultContentType|noDefaultDate) != 0 || !h.head.Fields.HasNone(notPlain):
		return "headers"
	case resp.IsBodyStream() || ctx.streams():
		return "stream"
	case resp.err != nil:
		return "failed response"
	case resp.SkipBody:
		return "skipped body"
	case len(resp.bytes()) > smallBody:
		return "large body"
	case ctx.life.used.Load():
		return "context in use"
	case b.handle != nil || b.err != nil || !b.ended():
		return "unread request body"
	case c.Input.ByHand.Load() != nil || c.Output.ByHand.Load() != nil:
		return "deadline by hand"
	case c.Server.Stopping.Load():
		return "shutdown"
	}
	return ""
}

// respondPlain is respond for a plain response.
func (c *serverConn) respondPlain() error {
	o, l, body := &c.Output, &c.ctx.Response.Header.head.Fields, c.ctx.Response.bytes()
	if !o.Limit.IsZero() {
		o.Limit = time.Time{}
	}
	now := c.Now
	if !c.Loop.Ended.IsZero() || !c.Loop.Leads() {
		now = c.Date()
	}
	start := c.srv.starts.at(now, c.set.server)
	buf := append(o.Room(len(start)+l.Size()+headRoom+len(body)), start...)
	if len(body) > 0 && !l.Has(field.ContentType) {
		buf = append(buf, "Content-Type: text/plain; charset=utf-8\r\n"...)
	}
	buf = l.AppendLines(buf, 0)
	buf = append(buf, "Content-Length: "...)
	buf = append(ascii.AppendUint(buf, uint64(len(body))), "\r\n\r\n"...)
	o.Buf = append(buf, body...)
	if len(o.Buf) < max(c.set.WriteBuf, smallBody) {
		return o.Err
	}
	return o.Flush()
}

// recyclePlain is recycle after a plain response. It reports false, and has done nothing, if the
// request has left more behind than most do. TestRecyclePlain holds the two against each other.
func (c *serverConn) recyclePlain() bool {
	x, in := c.exchange, &c.Input
	ctx := &x.ctx
	req, resp := &ctx.Request, &ctx.Response
	keepIn, keepOut := requestBodyKeep.Load(), responseBodyKeep.Load()
	if c.set.Poison || in.Pinned != nil || ctx.life.used.Load() || ctx.fakeRemote != nil || resp.remote != nil ||
		len(req.values) > 0 || req.form != nil || req.sent != nil || req.IsBodyStream() ||
		keepIn >= 0 && int64(cap(req.buf)) > keepIn || keepOut >= 0 && int64(cap(resp.buf)) > keepOut {
		return false
	}
	in.Held = false
	in.HeadAt = in.R
	ctx.life.canWatch = false
	ctx.hijackNoResponse = false
	req.Header.reset()
	req.resetParsed()
	req.view, req.err, req.buf = nil, nil, req.buf[:0]
	resp.Header.reset()
	resp.view, resp.buf = nil, resp.buf[:0]
	resp.ImmediateHeaderFlush, resp.StreamBody, resp.readWhole = false, false, false
	return true
}
