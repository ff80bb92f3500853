package gallop

import (
	"time"

	"github.com/gallop-http/gallop/internal/message"
)

// writeStream writes the stream that is the response's body: length bytes, or
// chunks, or all there is up to the end of the connection.
func (c *serverConn) writeStream(length int64) error {
	sink := streamSink{o: &c.Output, chunked: length == lengthChunked, left: length}
	return sink.writeBody(&c.ctx.Response)
}

// beginStream writes the head of a response whose body is going to be written to the sink that beginStream returns.
func (c *serverConn) beginStream(none bool) streamSink {
	if c.awaits100 { // it may, or may not, send the body
		c.awaits100, c.close = false, true
	}
	c.limitWriting()
	c.decideClose()
	c.foreseeBeforeStream()
	out := c.outgoing(time.Now()) // not c.now: another goroutine may be reading the body, which sets it
	out.length = c.streamedLength(none)
	if out.length == lengthUntilClose {
		out.close = true
		c.BeginAbrupt()
	}
	c.writeHead(&out)
	return streamSink{o: &c.Output, chunked: out.length == lengthChunked, left: out.length}
}

// streamedLength returns what frames a body that is going to be written.
func (c *serverConn) streamedLength(none bool) int64 {
	resp := &c.ctx.Response
	length := resp.Header.sentLength()
	switch {
	case resp.StatusCode() == StatusResetContent:
		return 0
	case length >= 0 && resp.StatusCode() != StatusNoContent:
		return length
	case none && c.method != message.HeadMethod:
		return lengthNone
	case !c.http10 && resp.Header.head.Body != message.UntilClose && resp.Header.sentMinor() > 0:
		return lengthChunked
	case none:
		return lengthNone
	}
	return lengthUntilClose
}
