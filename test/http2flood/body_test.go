package http2flood

import (
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// An empty body that ends with a DATA frame is a stream, even if the frame arrives together with the head.
func TestEmptyBody(t *testing.T) {
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		s := start(t, over, stream)
		p, err := dial(s.addr)
		if err != nil {
			t.Fatal(err)
		}
		p.open("POST", "/has", false)
		p.note(p.WriteData(p.id, true, nil))
		p.flush()
		select {
		case <-p.answered:
		case <-time.After(20 * time.Second):
			t.Error("there is no response")
		}
		p.nc.Close()
		<-p.ended
		if p.status != "200" {
			t.Errorf("status %q", p.status)
		}
	})
}

// A client may send any number of bodies in small pieces, if programs get them.
func TestBodiesInPieces(t *testing.T) {
	runBeside(t)
	bodies := 280 // together, more pieces than a client may send that no program gets
	if wiretest.Full() {
		bodies = 400
	}
	const pieces = 1000
	for _, tt := range []struct {
		name, path string
		fields     []string
		change     func(*gallop.Server)
		before     bool // the handler is called before the body
	}{
		{"collected", "/", nil, nil, false},
		{"collected by the handler", "/body", []string{"expect", "100-continue"}, nil, true},
		{"read as they come", "/read", nil, stream, true},
		{"read after they have come", "/late", nil, stream, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
				t.Parallel()
				s := start(t, over, tt.change)
				p, err := dial(s.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer p.nc.Close()
				until := func(done func() bool) {
					t.Helper()
					for limit := time.Now().Add(10 * time.Second); !done(); time.Sleep(50 * time.Microsecond) {
						if !p.isAlive() || time.Now().After(limit) {
							p.wantAlive(t)
							t.Fatalf("%d of %d handlers were called", s.served.Load(), bodies)
						}
					}
				}
				for n := range int64(bodies) {
					p.open("POST", tt.path, false, tt.fields...)
					if p.flush(); tt.before {
						until(func() bool { return s.served.Load() > n })
					}
					for range pieces - 1 {
						p.note(p.WriteData(p.id, false, []byte("x")))
					}
					p.note(p.WriteData(p.id, true, []byte("x")))
					p.flush()
					until(func() bool { return s.served.Load() > n && s.running.Load() == 0 })
				}
			})
		})
	}
}

// A request whose body does not arrive is refused, although nothing else arrives on its connection.
func TestMissingBody(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := newSleeper(0)
		s.ReadTimeout = 2 * time.Second
		p := s.talk(t, on, func(p *peer) {
			p.open("POST", "/0", false, "content-length", "10")
			p.flush()
			time.Sleep(5 * time.Second)
		})
		if p.status != "408" {
			t.Errorf("status %q, resets %v", p.status, p.resets)
		}
	})
}
