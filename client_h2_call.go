package gallop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/gallop-http/gallop/internal/ascii"
	"github.com/gallop-http/gallop/internal/bufpool"
	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/h2client"
	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/http1"
	"github.com/gallop-http/gallop/internal/http2"
	"github.com/gallop-http/gallop/internal/message"
	"github.com/gallop-http/gallop/internal/target"
)

// h2Exchange is one attempt of a call over HTTP/2.
type h2Exchange struct {
	cc   *h2ClientConn
	call *h2client.Call
	ctx  context.Context
	set  *clientSettings
	req  *Request
	resp *Response

	out     outgoing
	sends   h2client.Request
	streams bool // the caller reads the response body
	reused  bool // the connection had carried another request
	upload  *h2Upload

	answered  bool        // a head of the response has arrived
	gotHead   bool        // the final one has
	shared    bool        // another goroutine may have call
	stopWatch func() bool // ends the watch over the context
}

var h2Exchanges = sync.Pool{New: func() any { return new(h2Exchange) }}

// roundTrip sends req and reads the response into resp, which owns its bytes afterwards. It ends the call on cc, unless the
// body of resp is a stream. In that case the stream does. errStale means that nothing was sent.
func (cc *h2ClientConn) roundTrip(ctx context.Context, deadline time.Time, req *Request, resp *Response, set *clientSettings) error {
	x := h2Exchanges.Get().(*h2Exchange)
	x.cc, x.ctx, x.set, x.req, x.resp = cc, ctx, set, req, resp
	done := false
	defer func() {
		if !done { // a callback has panicked
			x.resp.Header.Reset()
			x.end()
		}
	}()
	err := x.open(deadline)
	if err == nil {
		err = x.exchange()
	}
	done = true
	if err == nil && x.streams {
		return nil
	}
	if err != nil {
		phase := x.phaseOf(err)
		resp.Header.Reset()
		resp.ResetBody()
		if err = x.explain(err); err != errStale {
			err = inPhase(err, phase, cc.addr)
		}
	}
	x.end()
	x.recycle()
	return err
}

// open sends the head of the request, and its body unless that is a stream.
func (x *h2Exchange) open(deadline time.Time) error {
	req, resp, set := x.req, x.resp, x.set
	x.out = req.Header.asStored()
	x.out.agent = set.agent
	content, err := req.prepare(&x.out)
	switch {
	case err != nil:
	case !target.ValidHost(req.Header.Host()):
		err = errSentHost
	default:
		err = req.checkTarget()
	}
	if err != nil {
		return requestError{err}
	}
	hasBody := x.out.length > 0 || x.out.length == lengthChunked
	waits := hasBody && req.MayContinue() && set.continueWait > 0
	x.streams = (set.stream || resp.StreamBody) && !resp.readWhole
	method := req.Header.methodID()
	skips := resp.SkipBody && method != message.HeadMethod
	x.sends = h2client.Request{
		Method: method, Head: x, Body: content, Trailers: trailersToSend(&req.Header.header),
		Holds: waits, Streams: req.IsBodyStream() || method == message.Connect,
		Collects: !x.streams && !skips, MaxBody: set.maxBody,
		Deadline: deadline, ReadLimit: set.readTimeout, WriteLimit: set.writeTimeout,
	}
	x.sends.WantsHead = x.streams || waits || set.trace != nil || x.sends.Streams || skips
	x.reused = x.cc.uses.Add(1) > 1
	x.call, err = x.cc.wire.Open(&x.sends)
	if err != nil {
		if err != h2client.ErrNoRoom { // the server allows fewer streams than when the pool chose the connection
			x.cc.retire()
		}
		return errStale
	}
	if x.ctx.Done() != nil {
		x.stopWatch = context.AfterFunc(x.ctx, x.call.Interrupt)
	}
	set.trace.wroteHeaders()
	if !waits && !req.IsBodyStream() {
		set.trace.wroteRequest(nil)
	}
	return nil
}

// trailersToSend returns the trailers of h, or nil.
func trailersToSend(h *header) *field.List {
	if h.trailers.Len() > 0 {
		return &h.trailers
	}
	return nil
}

// AppendTo implements h2client.Head.
func (x *h2Exchange) AppendTo(e *hpack.Encoder, dst []byte) []byte {
	h, o := &x.req.Header, &x.out
	l := &h.head.Fields
	dst = hpack.AppendPseudo(e, dst, hpack.Method, h.Method())
	if h.IsConnect() {
		dst = hpack.AppendPseudo(e, dst, hpack.Authority, h.RequestURI())
	} else {
		dst = hpack.AppendPseudo(e, dst, hpack.Scheme, x.cc.owner.scheme())
		dst = hpack.AppendPseudo(e, dst, hpack.Authority, h.Host())
		dst = hpack.AppendPseudo(e, dst, hpack.Path, h.RequestURI())
	}
	if h.flags&plainFields == 0 {
		if o.agent != "" && !l.Has(field.UserAgent) {
			dst = hpack.Append(e, dst, field.UserAgent, "User-Agent", o.agent)
		}
		if o.defaultContentType && o.length != 0 && o.length != lengthNone && h.flags&noDefaultContentType == 0 && !l.Has(field.ContentType) {
			dst = hpack.Append(e, dst, field.ContentType, "Content-Type", "application/octet-stream")
		}
	}
	for i := range l.Len() {
		switch l.ID(i) {
		case field.Host:
		case field.Trailer:
			if h.trailers.Len() > 0 || x.sends.Streams {
				dst = appendH2Field(e, dst, l, i)
			}
		case field.TE:
			if ascii.HasToken(l.Value(i), "trailers") {
				dst = hpack.Append(e, dst, field.TE, "TE", "trailers")
			}
		default:
			dst = appendH2Field(e, dst, l, i)
		}
	}
	if o.length >= 0 {
		dst = hpack.AppendContentLength(dst, uint64(o.length))
	}
	return dst
}

// exchange reads the response, and sends what is left of the request.
func (x *h2Exchange) exchange() error {
	held := x.sends.Holds
	if x.req.IsBodyStream() && !held {
		x.startUpload()
	}
	var until time.Time // when a body that is held back is sent
	if held {
		until = time.Now().Add(x.set.continueWait)
	}
	for interims := 0; ; {
		progress, err := x.call.Wait(until)
		switch {
		case err != nil:
			return x.failure(err)
		case progress == h2client.TimedOut:
			held, until = x.sendHeld()
		case progress == h2client.GotInterim:
			if interims++; interims > maxInterim {
				return errInterim
			}
			if status := x.takeInterim(); status == StatusContinue && held {
				held, until = x.sendHeld()
			}
		default:
			return x.takeFinal(progress)
		}
	}
}

// sendHeld sends a body that was held back.
func (x *h2Exchange) sendHeld() (held bool, until time.Time) {
	if x.req.IsBodyStream() {
		x.startUpload()
	} else {
		x.call.SendBody()
		x.set.trace.wroteRequest(nil)
	}
	return false, time.Time{}
}

// began notes that a part of the response has arrived.
func (x *h2Exchange) began() {
	if !x.answered {
		x.answered = true
		x.set.trace.gotFirstByte()
	}
}

// takeInterim passes an interim response to the callbacks, and returns its status.
func (x *h2Exchange) takeInterim() (status int) {
	x.began()
	resp := x.resp
	x.takeHead(x.call.TakeInterim())
	status = resp.StatusCode()
	x.set.trace.gotInterim(resp)
	if x.set.onInterim != nil {
		x.set.onInterim(resp)
	}
	resp.Header.Reset()
	return status
}

func (x *h2Exchange) takeHead(head *message.Head) {
	h := &x.resp.Header
	head.CopyTo(&h.head)
	h.flags |= x.set.names
}

// takeFinal takes the final response. A body that is held back stays unsent.
func (x *h2Exchange) takeFinal(progress h2client.Progress) error {
	x.began()
	x.gotHead = true
	x.takeHead(x.call.Head())
	resp := x.resp
	status := resp.StatusCode()
	isTunnel := x.sends.Method == message.Connect && status < 300
	skips := resp.SkipBody && x.sends.Method != message.HeadMethod
	if u := x.upload; u != nil && (status >= 300 || x.streams && !u.duplex) {
		u.stop()
	}
	switch {
	case x.streams && isTunnel:
		return x.handOver()
	case isTunnel || skips:
		x.streams = false
		return nil
	case x.streams && resp.Header.head.Body != message.NoBody:
		x.stream()
		return nil
	case x.streams:
		x.streams = false
		return nil
	case progress == h2client.GotHead:
		if _, err := x.call.Wait(time.Time{}); err != nil {
			return x.failure(err)
		}
	}
	if body := x.call.TakeBody(); len(body) > 0 {
		bufpool.Put(resp.body.buf)
		resp.body.buf = body
	}
	if trailers := x.call.Trailers(); trailers.Len() > 0 {
		trailers.CopyTo(&resp.Header.trailers)
	}
	return nil
}

// failure returns why the call has failed whose wait has returned err.
func (x *h2Exchange) failure(err error) error {
	if u := x.upload; u != nil && u.broke.Load() && err == h2client.ErrInterrupted && x.ctx.Err() == nil {
		if failed := u.failed(); failed != nil {
			return failed
		}
	}
	return err
}

// end ends the call on its connection.
func (x *h2Exchange) end() {
	watched := x.stopWatch == nil || x.stopWatch() // false: Interrupt runs, or has
	x.stopWatch = nil
	if x.upload != nil && !x.upload.stop() || !watched {
		x.shared = true
	}
	works := true
	if x.call != nil {
		works = x.call.Close(!x.shared)
	}
	if x.out.close { // the program wants no other request on the connection
		x.cc.retire()
	}
	x.cc.release(works, x.set.trace)
	x.call = nil
}

// recycle makes x ready for another call.
func (x *h2Exchange) recycle() {
	*x = h2Exchange{}
	h2Exchanges.Put(x)
}

// phaseOf returns the phase in which the exchange failed with err.
func (x *h2Exchange) phaseOf(err error) string {
	if _, ok := err.(bodyFailure); ok {
		return phaseSource
	}
	switch {
	case x.gotHead:
		return phaseBody
	case x.answered:
		return phaseHead
	case x.call != nil && !x.call.WasSent():
		return phaseWrite
	case x.sends.Collects && x.call != nil && x.call.HasHead():
		return phaseBody
	}
	return phaseWait
}

// explain turns the error of a call on a connection into the one that the client returns.
func (x *h2Exchange) explain(err error) error {
	switch e := err.(type) {
	case requestError:
		return e
	case bodyFailure:
		if x.ctx.Err() == nil {
			return e.error
		}
	}
	if err == errStale {
		return err
	}
	if x.ctx.Err() != nil {
		return endedBy(x.ctx)
	}
	gotHead := x.gotHead || x.call != nil && x.call.HasHead()
	var lost *h2client.LostError
	var reset *h2client.ResetError
	var excess *h2client.ExcessError
	switch {
	case err == h2client.ErrDeadline:
		return ErrTimeout
	case err == h2client.ErrTooLarge:
		return ErrBodyTooLarge
	case errors.As(err, &lost) && gotHead && errors.Is(lost.Err, io.EOF):
		return io.ErrUnexpectedEOF
	case lost != nil && gotHead:
		return lost.Err
	case lost != nil:
		return &ClosedError{Addr: x.cc.addr, Reused: x.reused, Written: lost.Written, Err: lost.Err, unprocessed: lost.Unprocessed, overH2: true}
	case errors.As(err, &reset):
		refused := reset.Code == http2.RefusedStream || reset.Code == http2.HTTP11Required && !gotHead
		return &StreamError{Code: uint32(reset.Code), err: reset, unprocessed: refused && reset.Err == nil}
	case errors.As(err, &excess):
		return &ErrSmallBuffer{&ParseError{
			StatusCode: http1.ErrHeadTooLarge.Status,
			Reason:     fmt.Sprintf("the head of the response is too large: more than %d bytes or %d fields; raise MaxResponseHeaderBytes", x.set.head.Head, x.set.head.Fields),
			also:       otherNames[http1.ErrHeadTooLarge],
		}}
	}
	return err
}
