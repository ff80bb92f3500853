package gallop

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/message"
)

// answer says where the response to a call is stored, and how the request affects the way it is read.
type answer struct {
	resp    *Response
	method  message.Method
	close   bool // the request asks to close the connection after the response
	upgrade bool // the request asks for another protocol
	upload  *upload
}

// maxLastWords is how long a call waits for a response after it could not write its request. A server that has
// refused the request has sent its response before.
const maxLastWords = 100 * time.Millisecond

// readAnswer reads the response with its body, and any interim responses before it. werr is the error of
// writing the request, or nil. A response still counts if the write failed, because the server may have refused
// the request early.
func (cc *ClientConn) readAnswer(a *answer, werr error) error {
	if werr != nil {
		return cc.readLastWords(a, werr)
	}
	if err := cc.readFinalHead(a); err != nil {
		return err
	}
	return cc.readRest(a)
}

// readLastWords is readAnswer after a write has failed with werr.
func (cc *ClientConn) readLastWords(a *answer, werr error) error {
	if cc.interrupted.Load() || timedOut(werr) {
		return writeFailure{werr}
	}
	timer := time.AfterFunc(maxLastWords, cc.cutOff)
	err := cc.readFinalHead(a)
	if !timer.Stop() || err != nil {
		return writeFailure{werr}
	}
	return cc.readRest(a)
}

// readFinalHead reads up to and including the head of the final response.
func (cc *ClientConn) readFinalHead(a *answer) error {
	for range maxInterim + 1 {
		if err := cc.readHead(&a.resp.Header); err != nil {
			return err
		}
		if !cc.tookInterim(a.resp) {
			return nil
		}
	}
	cc.broken = true
	return errInterim
}

// tookInterim reports whether resp is the head of an interim response (RFC 9110 §15.2). If it is, tookInterim
// passes it to the trace and to the callback for interim responses, and resets its header.
func (cc *ClientConn) tookInterim(resp *Response) bool {
	status := resp.StatusCode()
	if status >= 200 || status == StatusSwitchingProtocols {
		return false
	}
	cc.set.trace.gotInterim(resp)
	if cc.set.onInterim != nil {
		cc.set.onInterim(resp)
	}
	resp.Header.Reset()
	return true
}

// readHead reads a head. It may be called again after a timeout, and goes on.
func (cc *ClientConn) readHead(h *ResponseHeader) error {
	var parser http1.Parser
	for seen := 0; ; {
		if b := cc.unread(); len(b) > seen {
			n, err := parser.ParseResponse(&h.head, b, &cc.set.head)
			if err != nil {
				h.Reset()
				cc.broken = true
				return cc.headRefused(err)
			}
			if n > 0 {
				cc.r += n
				h.flags |= cc.set.names
				return nil
			}
			seen = len(b)
		}
		if err := cc.fill(); err != nil {
			return headBroken(err, seen > 0)
		}
	}
}

// headRefused says why a head is refused. For one that is too large, it names the limit
// and the field that raises it.
func (cc *ClientConn) headRefused(err error) error {
	if err != http1.ErrHeadTooLarge || len(cc.unread()) < cc.set.head.Head { // a name may be too long, too
		return parseError(err)
	}
	return &ErrSmallBuffer{&ParseError{
		StatusCode: http1.ErrHeadTooLarge.Status,
		Reason:     fmt.Sprintf("the head of the response is too large: more than %d bytes; raise MaxResponseHeaderBytes", cc.set.head.Head),
		also:       otherNames[http1.ErrHeadTooLarge],
	}}
}

// headBroken says why a head could not be read. begun is whether a part of it was.
func headBroken(err error, begun bool) error {
	if !begun || timedOut(err) {
		return err
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%w: %w", ErrReadingResponseHeaders, err)
}

// readRest reads what follows the head of a final response, or arranges for the caller to read it.
func (cc *ClientConn) readRest(a *answer) error {
	resp := a.resp
	head := &resp.Header.head
	if head.Status == StatusSwitchingProtocols && !a.upgrade {
		cc.broken = true
		return errUnasked101
	}
	method := a.method
	if resp.SkipBody {
		method = message.HeadMethod
	}
	if err := http1.FrameResponse(head, method); err != nil {
		cc.broken = true
		return parseError(err)
	}
	resp.Header.detach()
	cc.long = mayFollow(head) && !a.close && endsByItself(head.Status, a.method) &&
		(!resp.SkipBody || a.method == message.HeadMethod || !message.MayHaveBody(head.Status, a.method) || head.Length == 0)
	cc.body = clientBody{kind: head.Body, left: head.Length, trailers: &resp.Header.trailers}
	if a.upload != nil {
		a.upload.answered.Store(true)
	}
	streams := (cc.set.stream || resp.StreamBody) && !resp.readWhole
	if streams && !endsByItself(head.Status, a.method) {
		if a.upload != nil {
			a.upload.end() // while the deadlines are ours
		}
		return cc.handOver(resp)
	}
	streams = streams && head.Body != message.NoBody
	if a.upload != nil && a.upload.unwanted(head, streams) {
		cc.broken = true
	}
	if streams {
		s := newClientStream(cc)
		if a.upload != nil && a.upload.duplex {
			s.upload = a.upload
		}
		resp.setStream(s, streamedSize(head))
		resp.late = &s.lateTrailers
		return nil
	}
	if head.Body == message.NoBody {
		return nil
	}
	return cc.readWhole(resp)
}

// endsByItself reports whether the connection still speaks HTTP after a response with this status to a request
// with this method.
func endsByItself(status int, method message.Method) bool {
	return status != StatusSwitchingProtocols && !(method == message.Connect && status < 300)
}

func streamedSize(head *message.Head) int {
	if head.Body == message.Fixed {
		return streamSize(head.Length)
	}
	return -1
}

// readWhole reads the body into memory, which grows with what comes and not with
// what was announced.
func (cc *ClientConn) readWhole(resp *Response) error {
	if cc.body.kind == message.Fixed && cc.body.left > cc.set.maxBody {
		cc.broken = true
		return ErrBodyTooLarge
	}
	if raw := cc.unread(); cc.body.kind == message.Fixed && cc.body.left <= int64(len(raw)) {
		n := int(cc.body.left)
		resp.body.buf = append(bufpool.Grow(resp.body.buf[:0], n), raw[:n]...)
		cc.r, cc.body.left = cc.r+n, 0
		return nil
	}
	buf := resp.body.buf[:0]
	resp.body.buf = nil
	buf, err := cc.appendBody(buf)
	if err != nil {
		cc.broken = true
		bufpool.Put(buf)
		return err
	}
	resp.body.buf = buf
	resp.noteLength()
	return nil
}

// appendBody appends the body to dst, which it may give back to the pool.
func (cc *ClientConn) appendBody(dst []byte) ([]byte, error) {
	for limit := cc.set.maxBody; !cc.body.done(); {
		if cc.body.announced() > uint64(limit)-uint64(len(dst)) {
			return dst, ErrBodyTooLarge
		}
		data, err := cc.decode()
		if err != nil {
			return dst, err
		}
		if int64(len(data)) > limit-int64(len(dst)) {
			return dst, ErrBodyTooLarge
		}
		dst = append(bufpool.Grow(dst, len(data)), data...)
		if cc.body.kind == message.Fixed && len(cc.unread()) == 0 {
			if dst, err = cc.appendDirect(dst); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

// appendDirect reads what is left of a Fixed body straight to dst, if none of it is in
// the buffer.
func (cc *ClientConn) appendDirect(dst []byte) ([]byte, error) {
	for cc.body.left > 0 && cc.r == len(cc.buf) {
		dst = bufpool.Grow(dst, int(min(cc.body.left, 16<<10)))
		free := dst[len(dst):cap(dst)]
		n, err := cc.read(free[:min(int64(len(free)), cc.body.left)])
		if err != nil {
			return dst, bodyBroken(err)
		}
		dst = dst[:len(dst)+n]
		cc.body.left -= int64(n)
	}
	return dst, nil
}

// bodyBroken says why a body breaks off.
func bodyBroken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
