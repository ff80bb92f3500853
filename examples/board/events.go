package main

import (
	"sync"

	"github.com/gallop-http/gallop/web"
)

// event is something that has happened.
type event struct {
	name string
	data any
}

// events passes on what happens to those who listen.
type events struct {
	mu        sync.Mutex
	listeners map[chan event]struct{}
}

// publish tells all that listen. Who is too slow to take it is told nothing any more: a browser connects again, and
// gets the page anew.
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

// sendEvents sends events until the client goes away, or the server stops.
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
