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
