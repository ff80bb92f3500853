package main

import (
	"sync"

	"github.com/gallop-http/gallop/web"
)

// event is a change of the board.
type event struct {
	name string
	data any
}

// events sends each event to all listeners.
type events struct {
	mu        sync.Mutex
	listeners map[chan event]struct{}
}

// publish sends an event to all listeners. It drops a listener whose queue is full; its stream ends and the browser
// reconnects.
func (e *events) publish(name string, data any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for l := range e.listeners {
		select {
		case l <- event{name, data}:
		default:
			close(l)
			delete(e.listeners, l)
		}
	}
}

func (e *events) listen() (l chan event, stop func()) {
	l = make(chan event, 16)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listeners == nil {
		e.listeners = map[chan event]struct{}{}
	}
	e.listeners[l] = struct{}{}
	return l, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.listeners, l)
	}
}

// sendEvents streams events until the client disconnects or the server shuts down.
func (b *board) sendEvents(c *web.Ctx) error {
	happens, stop := b.events.listen()
	defer stop()
	return c.SSE(func(s *web.EventStream) error {
		if err := s.Comment("welcome"); err != nil {
			return err
		}
		for {
			select {
			case <-c.Done():
				return nil
			case e, ok := <-happens:
				if !ok {
					return nil
				}
				if err := s.SendJSON(e.name, e.data); err != nil {
					return err
				}
			}
		}
	})
}
