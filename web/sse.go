package web

import (
	"bytes"
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gallop-http/gallop"
)

// Event is a server-sent event, as HTML describes them (WHATWG HTML §9.2).
type Event struct {
	ID    string        // what Last-Event-ID will say; "" leaves it
	Event string        // the type; "" is "message"
	Data  string        // of any number of lines
	Retry time.Duration // how long the client waits before it connects again; 0 leaves it
}

// EventStream sends events to a client. It is the handler's as long as the function runs that SSE calls. Its methods may be
// called by many goroutines at once. Once one has failed the client is gone, and all fail.
type EventStream struct {
	c   *Ctx
	out outStream

	mu     sync.Mutex // guards what follows, and writing
	buf    []byte
	err    error
	busy   bool // something was sent since the last heartbeat
	over   bool
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// DefaultHeartbeat is how often SSE sends a comment to a client that is sent nothing else. The comment keeps proxies from
// closing an idle connection, and finds out whether the client has gone.
const DefaultHeartbeat = 15 * time.Second

// SSEOptions are the settings of SSEWith. The zero value is what SSE uses.
type SSEOptions struct {
	// Heartbeat is how often a comment is sent when nothing else is. Zero means DefaultHeartbeat. A negative value turns
	// heartbeats off.
	Heartbeat time.Duration

	// Retry is how long the client waits before it connects again, in whole milliseconds. It is sent first. Zero or a negative
	// value leaves the time to the client.
	Retry time.Duration
}

// SSE responds with a stream of server-sent events. It calls serve, which sends them. The context of c ends when the client goes
// away or the server stops, and serve has to return then. SSE returns the error of serve, or nil once the context has ended.
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
// SSE needs a server that can send parts of a response, as gallop.Server and net/http's can. Without one, the error has the status
// 501.
func (c *Ctx) SSE(serve func(s *EventStream) error) error { return c.SSEWith(SSEOptions{}, serve) }

// SSEWith responds with a stream of server-sent events, as [Ctx.SSE] does, with other settings.
func (c *Ctx) SSEWith(options SSEOptions, serve func(s *EventStream) error) error {
	c.SetHeader(gallop.HeaderContentType, "text/event-stream")
	c.SetHeader(gallop.HeaderCacheControl, "no-cache")
	c.SetHeader("X-Accel-Buffering", "no") // nginx would hold events back
	out, done, err := c.stream()
	if err != nil {
		return errorWith(gallop.StatusNotImplemented, err)
	}
	defer done()
	if err := out.Flush(); err != nil || c.request.IsHead() {
		return err
	}
	s := &EventStream{c: c, out: out}
	ctx, cancel := context.WithCancelCause(c.Context())
	s.cancel = cancel
	outer := c.context.Load()
	c.context.Store(&setContext{Context: ctx, own: outer != nil && outer.own})
	if options.Retry > 0 {
		_ = s.Send(Event{Retry: options.Retry}) // serve learns of an error
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

// start begins to send heartbeats.
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

// end waits for a heartbeat that is under way.
func (s *EventStream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// LastEventID returns the ID of the last event that the client got before it connected again, "" if there is
// none.
func (s *EventStream) LastEventID() string { return s.c.ReqHeader("Last-Event-ID") }

// Send sends an event. Line ends in ID and Event are left out. One that has nothing but Retry tells the client that, and
// is no message.
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

// SendJSON sends an event of this type whose data is v as JSON.
func (s *EventStream) SendJSON(event string, v any) error {
	var b strings.Builder
	if err := s.c.app.codecs.json.Encode(&b, v); err != nil {
		return err
	}
	return s.Send(Event{Event: event, Data: strings.TrimRight(b.String(), "\r\n")})
}

// Comment sends something that clients do not show.
func (s *EventStream) Comment(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.send(append(appendLine(s.buf[:0], ": ", text), '\n'))
}

// send writes and flushes b. s is locked.
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

// appendLine appends a field without line ends in it.
func appendLine(b []byte, name, value string) []byte {
	b = append(b, name...)
	start := len(b)
	b = append(b, value...)
	if bytes.ContainsAny(b[start:], "\r\n") {
		b = append(b[:start], strings.NewReplacer("\r", "", "\n", "").Replace(value)...)
	}
	return append(b, '\n')
}

// cutLine cuts a line off, which ends in CR LF, LF or CR.
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
