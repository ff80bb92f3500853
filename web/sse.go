package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// Event is a server-sent event (WHATWG HTML §9.2).
type Event struct {
	// ID is the ID of the event, which the client sends as Last-Event-ID when it connects again. If ID is empty, the client keeps the
	// previous ID. An ID with a zero byte is not sent.
	ID string

	// Event is the type of the event. Scripts listen for events of a certain type. Empty means "message".
	Event string

	// Data is the text of the event. Data may have several lines.
	Data string

	// Retry is how long the client waits before it connects again, in whole milliseconds. If Retry is zero or negative, the client
	// keeps its current setting.
	Retry time.Duration
}

// EventStream sends events to one client. An EventStream is valid until the function that SSE calls returns. An
// EventStream's methods may be called concurrently. If the client has disconnected, the methods return an error. After the
// first such error, the context of the Ctx is canceled and all later calls fail.
type EventStream struct {
	c   *Ctx
	out outStream

	mu     sync.Mutex // guards the fields below and writing
	buf    []byte
	err    error
	busy   bool // something was sent since the last heartbeat
	over   bool
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// DefaultHeartbeat is the time after which SSE sends a comment on an idle stream. The comment keeps proxies from closing the
// connection, and shows whether the client is still connected.
const DefaultHeartbeat = 15 * time.Second

// SSEOptions holds the settings of SSEWith. With the zero value, SSEWith behaves like [Ctx.SSE].
type SSEOptions struct {
	// Heartbeat is the time after which SSEWith sends a comment on an idle stream. Zero means DefaultHeartbeat. A negative value
	// turns heartbeats off.
	Heartbeat time.Duration

	// Retry is how long the client waits before it connects again, in whole milliseconds. SSEWith sends Retry at the start of the
	// stream. If Retry is zero or negative, the client chooses the time.
	Retry time.Duration
}

// SSE responds with a stream of server-sent events. SSE calls the function serve, which sends the events. When the client
// disconnects or the server stops, the context of c is done, and serve has to return. SSE then returns nil. If serve returns
// before the context is done, SSE returns the error of serve. If the client disconnects before SSE has sent the header, SSE does not
// call serve and returns nil.
//
//	return c.SSE(func(s *web.EventStream) error {
//		for {
//			select {
//			case <-c.Done():
//				return nil
//			case m := <-messages:
//				s.Send(web.Event{ID: m.ID, Data: m.Text})
//			}
//		}
//	})
//
// SSE needs a server that can send a response in parts, such as gallop.Server or the server of net/http. With any other server,
// SSE returns an error with status 501. For a HEAD request, SSE does not call serve and sends no events.
func (c *Ctx) SSE(serve func(s *EventStream) error) error { return c.SSEWith(SSEOptions{}, serve) }

// SSEWith responds with a stream of server-sent events, using the given options. See [Ctx.SSE].
func (c *Ctx) SSEWith(options SSEOptions, serve func(s *EventStream) error) error {
	c.SetHeader(gallop.HeaderContentType, "text/event-stream")
	c.SetHeader(gallop.HeaderCacheControl, "no-cache")
	c.SetHeader("X-Accel-Buffering", "no") // or nginx would buffer events
	out, done, err := c.stream()
	if err != nil {
		return errorWith(gallop.StatusNotImplemented, err)
	}
	defer done()
	switch err := out.Flush(); {
	case errors.Is(err, errors.ErrUnsupported): // by the ResponseWriter of net/http middleware
		return err
	case err != nil || c.request.IsHead(): // after an error, the client has disconnected
		return nil
	}
	s := &EventStream{c: c, out: out}
	ctx, cancel := context.WithCancelCause(c.Context())
	s.cancel = cancel
	outer := c.context.Load()
	c.context.Store(&setContext{Context: ctx, own: outer != nil && outer.own})
	if options.Retry > 0 {
		_ = s.Send(Event{Retry: options.Retry}) // after an error, the calls of serve fail, too
	}
	s.start(cmp.Or(options.Heartbeat, DefaultHeartbeat))
	defer func() {
		s.end()
		cancel(nil)
		c.context.Store(outer)
	}()
	if err = serve(s); ctx.Err() != nil {
		return nil
	}
	return err
}

// start starts the heartbeats.
func (s *EventStream) start(every time.Duration) {
	if every <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(every, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.over || s.err != nil {
			return
		}
		if !s.busy {
			s.send(append(s.buf[:0], ":\n\n"...))
		}
		s.busy = false
		s.timer.Reset(every)
	})
}

// end stops the heartbeats and waits until none is being sent.
func (s *EventStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// LastEventID returns the ID of the last event that the client received before it reconnected. LastEventID returns "" if the client
// has never received an ID. If LastEventID returns an ID, first send the events that came after the event with this ID.
func (s *EventStream) LastEventID() string { return s.c.ReqHeader("Last-Event-ID") }

// Send sends an event at once. Send drops line breaks in ID and Event. If only Retry is set, the event changes the client's
// reconnection time, and scripts see no event. Send returns an error if the client has disconnected or if the function that SSE
// calls has already returned.
func (s *EventStream) Send(e Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.buf[:0]
	if strings.Trim(e.ID, "\r\n") != "" && strings.IndexByte(e.ID, 0) < 0 {
		b = appendLine(b, "id: ", e.ID)
	}
	if e.Event != "" {
		b = appendLine(b, "event: ", e.Event)
	}
	if e.Retry > 0 {
		b = strconv.AppendInt(append(b, "retry: "...), e.Retry.Milliseconds(), 10)
		b = append(b, '\n')
	}
	for line, rest, more := "", e.Data, e != (Event{Retry: max(e.Retry, 1)}); more; {
		line, rest, more = cutLine(rest)
		b = appendLine(b, "data: ", line)
	}
	return s.send(append(b, '\n'))
}

// SendJSON encodes v as JSON and sends it as the data of an event of the given type. SendJSON returns an error if v cannot be
// encoded. See [EventStream.Send].
func (s *EventStream) SendJSON(event string, v any) error {
	var b strings.Builder
	if err := s.c.app.codecs.json.Encode(&b, v); err != nil {
		return err
	}
	return s.Send(Event{Event: event, Data: strings.TrimRight(b.String(), "\r\n")})
}

// Comment sends a comment, which clients ignore. Comment drops the line breaks in the text.
func (s *EventStream) Comment(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.send(append(appendLine(s.buf[:0], ": ", text), '\n'))
}

// send writes and flushes b. s.mu is locked.
func (s *EventStream) send(b []byte) error {
	s.buf, s.busy = b, true
	if s.over && s.err == nil {
		s.err = context.Canceled
	}
	if s.err != nil {
		return s.err
	}
	if _, s.err = s.out.Write(b); s.err == nil {
		s.err = s.out.Flush()
	}
	if s.err != nil {
		s.cancel(s.err)
	}
	return s.err
}

// appendLine appends a line with a name and a value. It drops line breaks in the value.
func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	start := len(b)
	b = append(b, value...)
	if bytes.ContainsAny(b[start:], "\r\n") {
		b = append(b[:start], strings.NewReplacer("\r", "", "\n", "").Replace(value)...)
	}
	return append(b, '\n')
}

// cutLine cuts off the first line. Lines end in CR LF, LF or CR.
func cutLine(s string) (line, rest string, more bool) {
	i := strings.IndexAny(s, "\r\n")
	if i < 0 {
		return s, "", false
	}
	if strings.HasPrefix(s[i:], "\r\n") {
		return s[:i], s[i+2:], true
	}
	return s[:i], s[i+1:], true
}
