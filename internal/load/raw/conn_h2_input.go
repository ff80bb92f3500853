package raw

import (
	"errors"
	"fmt"

	"github.com/gallop-http/gallop/internal/http2"
)

// inputHTTP2 takes frames.
func (c *conn) inputHTTP2(p []byte) {
	if len(c.in) > 0 || c.h2.full {
		c.in = append(c.in, p...)
		p = c.in
	}
	if c.h2.full {
		return // until the output was written
	}
	for c.state == opened {
		ev, n := c.h2.engine.Next(p, &c.h2.message, int64(c.t.now))
		p = p[n:]
		if ev.Kind == http2.More || ev.Kind == http2.Full {
			c.h2.full = ev.Kind == http2.Full
			break
		}
		if ev.Kind == http2.Failed {
			c.failHTTP2(ev.Err)
			break
		}
		c.take(&ev, n)
	}
	c.in = append(c.in[:0], p...)
	if c.state != opened {
		return
	}
	if len(c.h2.engine.Out()) > 0 {
		c.soil()
	}
	if c.worn && c.h2.engine.Held() == 0 {
		c.t.remove(c)
	}
	c.list()
	c.t.pump()
}

// take does what an event means. The event has taken n bytes.
func (c *conn) take(ev *http2.Event, n int) {
	switch ev.Kind {
	case http2.Head, http2.Interim, http2.Data, http2.Trailers, http2.Reset:
		u := c.h2.users[ev.Slot]
		if u == nil {
			return
		}
		if u.heard == 0 {
			u.heard = c.t.now
		}
		u.bytesIn += int64(n)
		c.takeForStream(u, ev)
	case http2.Writable, http2.SettingsChanged:
		c.soil()
	case http2.GoingAway:
		c.goAway(ev.Stream)
	}
}

// takeForStream does what an event means for the request of a user.
func (c *conn) takeForStream(u *user, ev *http2.Event) {
	switch ev.Kind {
	case http2.Head:
		u.h2.head = true
		if ev.Excess != nil {
			c.failStream(u, &failure{"protocol", ev.Excess})
			return
		}
		u.resp.takeHead(&u.req, c.h2.head.Status, &c.h2.head.Fields)
	case http2.Data:
		u.resp.takeBody(&u.req, ev.Data, c.t.MaxBody)
		c.h2.engine.Consumed(ev.Stream, len(ev.Data))
	case http2.Reset:
		c.takeReset(u, ev)
		return
	case http2.Interim:
		return
	}
	if ev.End || ev.Kind == http2.Trailers {
		c.releaseStream(u)
		u.complete()
	}
}

// takeReset ends a request whose stream was reset. It is sent again if the server says that it has not looked at it.
func (c *conn) takeReset(u *user, ev *http2.Event) {
	c.releaseStream(u)
	switch {
	case ev.Err != nil:
		u.fail(&failure{"protocol", ev.Err})
	case ev.Code == http2.RefusedStream && !u.retried:
		u.retry()
	default:
		u.fail(&failure{"reset", fmt.Errorf("server has reset the stream: %v", ev.Code)})
	}
}

// failStream fails a request whose response cannot be used.
func (c *conn) failStream(u *user, err *failure) {
	c.cancel(u)
	u.fail(err)
}

// goAway ends the requests that the server does not accept. They are sent again on another connection.
func (c *conn) goAway(last uint32) {
	c.worn = true
	for _, u := range c.h2.users {
		if u == nil || u.h2.id <= last {
			continue
		}
		c.releaseStream(u)
		if u.retried {
			u.fail(&failure{"closed", errors.New("server has sent GOAWAY")})
		} else {
			u.retry()
		}
	}
}

// failHTTP2 ends a connection on which the server has broken the protocol.
func (c *conn) failHTTP2(err *http2.Error) {
	_, _ = c.t.io.write(c, c.h2.engine.Out()) // GOAWAY, if there is room for it
	c.end(&failure{"protocol", err})
}

// endHTTP2 ends the requests of a connection that has ended.
func (c *conn) endHTTP2(err *failure) {
	if c.h2.engine.Held() == 0 {
		if err.kind == "protocol" || c.worn {
			c.t.remove(c)
			return
		}
		c.endIdle()
		return
	}
	c.t.remove(c)
	for slot, u := range c.h2.users {
		if u == nil {
			continue
		}
		c.h2.users[slot] = nil
		switch {
		case c.isRaced(u, err) || !u.retried && c.h2.engine.IsUnprocessed(u.h2.id):
			u.retry()
		case err == errClosed && u.h2.head:
			u.fail(errCut)
		default:
			u.fail(err)
		}
	}
}
