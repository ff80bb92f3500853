package gallopgrpc

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/gallop-http/gallop"
)

// call is a call of a method: the context of its handler (context.go), and a [grpc.ServerTransportStream].
type call struct {
	s        *Server
	m        *method
	path     string // of the method
	subtype  string // of the content type
	codec    encoding.CodecV2
	plain    bool                // codec is grpc-go's codec for protocol buffers
	encoding string              // of the request
	decomp   encoding.Compressor // for it, or nil
	accepts  string              // grpc-accept-encoding
	deadline time.Time
	fields   fields
	parent   context.Context
	tagged   context.Context // of the StatsHandler, or nil
	began    time.Time       // if tagged is not nil

	// mu guards the fields below. It is not held while something is sent or received.
	mu      sync.Mutex
	ctx     *gallop.RequestCtx // nil once the call has ended
	inner   context.Context    // see life
	cancel  context.CancelFunc
	unhook  func() bool
	md      metadata.MD
	peer    *peer.Peer
	header  metadata.MD
	trailer metadata.MD
	sent    bool // the header was sent
	comp    encoding.Compressor
	failure *status.Status // of a message that could not be received or sent

	// out guards the fields below. It is held while something is sent.
	out      sync.Mutex
	response *gallop.ResponseStream // nil before the header was sent, and after the end
	over     bool                   // nothing can be sent any more
	unsent   bool                   // response has bytes that were not flushed
	flushing bool                   // a goroutine is about to flush
}

// Method implements grpc.ServerTransportStream.
func (c *call) Method() string { return c.path }

// SetHeader implements grpc.ServerTransportStream.
func (c *call) SetHeader(md metadata.MD) error {
	if err := checkMetadata(md); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent || c.ctx == nil {
		return errHeaderSent
	}
	c.header = metadata.Join(c.header, md)
	return nil
}

var errHeaderSent = status.Error(codes.Internal, "the header was sent already")

// SendHeader implements grpc.ServerTransportStream.
func (c *call) SendHeader(md metadata.MD) error {
	if err := c.SetHeader(md); err != nil {
		return err
	}
	c.out.Lock()
	defer c.out.Unlock()
	if err := c.begin(); err != nil {
		return err
	}
	return c.flush()
}

// SetTrailer implements grpc.ServerTransportStream.
func (c *call) SetTrailer(md metadata.MD) error {
	if err := checkMetadata(md); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		return status.Error(codes.Internal, "the call has ended")
	}
	c.trailer = metadata.Join(c.trailer, md)
	return nil
}

// SetSendCompressor chooses how the messages that the handler sends are compressed, by the name of a registered
// compressor, such as "gzip". ctx is the context of the handler. Call SetSendCompressor before the first message is
// sent. By default, messages are compressed in the same way as the request.
//
// SetSendCompressor replaces grpc.SetSendCompressor, which works only on grpc-go's own server.
func SetSendCompressor(ctx context.Context, name string) error {
	c, ok := grpc.ServerTransportStreamFromContext(ctx).(*call)
	if !ok {
		return status.Error(codes.Internal, "the context is not that of a handler")
	}
	comp := encoding.GetCompressor(name)
	if comp == nil && name != encoding.Identity {
		return status.Errorf(codes.Internal, "the compressor %q is not registered", name)
	}
	if comp != nil && !listHas(c.accepts, name) {
		return status.Errorf(codes.Internal, "the client does not accept the compressor %q", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent || c.ctx == nil {
		return errHeaderSent
	}
	c.comp = comp
	return nil
}

// fail notes that the call fails with err, whatever its handler returns, and returns err. It keeps the first error.
func (c *call) fail(err error) error {
	st := statusOf(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = st
	}
	return st.Err()
}

// putHeader puts the header of the response into ctx.Response. c is locked.
func (c *call) putHeader() {
	h := &c.ctx.Response.Header
	c.sent = true
	if c.subtype == "" {
		h.SetContentType("application/grpc")
	} else {
		h.SetContentType("application/grpc+" + c.subtype)
	}
	if c.comp != nil {
		h.Set("Grpc-Encoding", c.comp.Name())
	}
	if len(c.header) > 0 {
		eachField(c.header, h.Add)
	}
}

// begin begins the response, unless it has begun. c.out is locked.
func (c *call) begin() error {
	switch {
	case c.over:
		return errCallEnded
	case c.response != nil:
		return nil
	}
	if err := c.open(); err != nil {
		return err
	}
	c.statHeader()
	return nil
}

// open has the server write the header. c.out is locked.
func (c *call) open() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		return errCallEnded
	}
	c.putHeader()
	response, err := c.ctx.StreamResponse()
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	c.response, c.unsent = response, true
	return nil
}

var errCallEnded = status.Error(codes.Internal, "the call has ended")

// flush sends what was written. c.out is locked.
func (c *call) flush() error {
	if !c.unsent || c.response == nil {
		return nil
	}
	c.unsent = false
	return c.sendError(c.response.Flush())
}

// flushSoon has the response flushed by another goroutine, which runs when this one waits or ends. So messages that a handler
// sends in a row leave together. c.out is locked.
func (c *call) flushSoon() {
	c.unsent = true
	if c.flushing {
		return
	}
	c.flushing = true
	go func() {
		c.out.Lock()
		defer c.out.Unlock()
		c.flushing = false
		c.flush()
	}()
}

// sendError returns the error of a handler whose message could not be sent because of err.
func (c *call) sendError(err error) error {
	if err == nil {
		return nil
	}
	return c.ended(err)
}

// ended returns the status of a call whose stream has failed with err.
func (c *call) ended(err error) error {
	if c.isLate() {
		return errLate
	}
	return status.Errorf(codes.Canceled, "the stream has ended: %v", err)
}

// isLate reports whether the deadline is over.
func (c *call) isLate() bool { return !c.deadline.IsZero() && !time.Now().Before(c.deadline) }

var errLate = status.Error(codes.DeadlineExceeded, context.DeadlineExceeded.Error())

// finish sends the status of the call. The handler has returned.
func (c *call) finish(st *status.Status) {
	c.out.Lock()
	defer c.out.Unlock()
	st, first := c.putStatus(st)
	c.over, c.response = true, nil
	if first {
		c.statHeader()
	}
	c.statEnd(st)
}

// putStatus has the server send the status, and the header unless it was sent. A failure of the call replaces the status. first
// tells that there is a header apart from the trailers. c.out is locked.
func (c *call) putStatus(st *status.Status) (_ *status.Status, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		st = c.failure
	}
	resp := &c.ctx.Response
	add := c.addTrailer
	if c.response != nil && c.isLate() {
		c.ctx.SetWriteDeadline(time.Time{}) // so that the trailers are sent
	}
	if c.response == nil {
		if st.Code() != codes.OK {
			resp.ResetBody()
		}
		if first = len(resp.Body()) > 0 || len(c.header) > 0; !first {
			add = resp.Header.Add
		}
		c.putHeader()
	}
	eachStatusField(st, add)
	eachField(c.trailer, add)
	return st, first
}

// addTrailer adds a trailer to the response. c is locked.
func (c *call) addTrailer(name, value string) {
	if c.ctx.Response.Header.AppendTrailer(name, value) != nil {
		c.logLocked("the trailer %s was not sent: RFC 9110 §6.5.1 does not allow it", name)
	}
}

// listHas reports whether name is one of the members of a list that are separated by commas.
func listHas(list, name string) bool {
	for member := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(member) == name {
			return true
		}
	}
	return false
}
