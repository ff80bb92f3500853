package http2flood

import (
	"testing"
	"time"

	"github.com/gallop-http/gallop"
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
		for limit := time.Now().Add(5 * time.Second); s.served.Load() == 0 && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
		p.nc.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		<-p.ended
		if p.status != "200" {
			t.Errorf("status %q", p.status)
		}
	})
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
