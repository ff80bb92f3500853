package http2flood

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"golang.org/x/net/http2"
)

// siege is a client that makes the server hold memory for as long as possible, rather than work. The server may end its
// connection at any time.
type siege struct {
	name  string
	deaf  bool                // it does not read
	begin func(p *peer)       // is called once on each connection
	next  func(p *peer)       // is called again and again
	pause time.Duration       // between two calls of next
	check func(p *peer) error // is called after a long test, if the connection has been open for all of it
}

const anyWindow = 1<<31 - 1

var sieges = []siege{
	{name: "responses that wait for a window (CVE-2016-1546)", begin: settings(0), next: openBig, pause: 100 * time.Millisecond, check: wantResets},
	{name: "responses that nobody reads (CVE-2019-9517)", deaf: true, begin: func(p *peer) {
		settings(anyWindow)(p)
		for p.frames < streams {
			openBig(p)
		}
	}, next: func(p *peer) {}, pause: time.Millisecond},
	{name: "acknowledgments that nobody reads", deaf: true, next: func(p *peer) { p.note(p.WritePing(false, [8]byte{})) }, pause: time.Millisecond},
	{name: "resets that nobody reads (CVE-2019-9514)", deaf: true, next: func(p *peer) { p.open("GET", "/", true, "connection", "close") }, pause: 5 * time.Millisecond},
	{name: "bodies that hardly arrive", begin: func(p *peer) {
		for range streams {
			p.open("POST", "/body", false, "content-length", "5000")
		}
	}, next: dribble, pause: time.Second, check: wantTimeouts},
	{name: "bodies without an end", begin: fillWindows, next: dribble, pause: time.Second},
	{name: "header blocks without an end", begin: openBlock, next: func(p *peer) {}, pause: time.Second},
	{name: "heads that nobody finishes reading", begin: settings(0), next: func(p *peer) { p.open("GET", "/", true) }, pause: 20 * time.Millisecond},
}

// settings returns a function that sets the window of streams, and opens the one of the connection.
func settings(window uint32) func(*peer) {
	return func(p *peer) {
		p.note(p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}))
		p.note(p.WriteWindowUpdate(0, 1<<30))
	}
}

func openBig(p *peer) {
	if p.frames < streams {
		p.open("GET", "/big?n=10000", true)
	}
}

// dribble sends a byte of each body.
func dribble(p *peer) {
	for id := uint32(1); id <= p.id; id += 2 {
		p.note(p.WriteData(id, false, []byte("x")))
	}
}

// fillWindows sends as much of several bodies as the server permits.
func fillWindows(p *peer) {
	for range streams {
		p.open("POST", "/body", false)
	}
	for id := uint32(1); id <= p.id && id < 30; id += 2 {
		for range 4 {
			p.note(p.WriteData(id, false, make([]byte, 15<<10)))
		}
	}
}

// wantResets checks that the server has reset all streams.
func wantResets(p *peer) error {
	canceled := 0
	for _, code := range p.resets {
		if code == http2.ErrCodeCancel {
			canceled++
		}
	}
	if canceled < 50 {
		return fmt.Errorf("%d streams were reset in %v", canceled, floodTime())
	}
	return nil
}

// wantTimeouts checks that the server has refused all requests.
func wantTimeouts(p *peer) error {
	if p.status != "408" || len(p.done) < streams {
		return fmt.Errorf("%d responses, status %q", len(p.done), p.status)
	}
	return nil
}

// keepUp besieges the server until a time, on one connection after another.
func (a *siege) keepUp(s *site, end time.Time) error {
	for time.Now().Before(end) {
		begun := time.Now()
		nc, err := net.Dial("tcp", s.addr)
		if err != nil {
			return err
		}
		p := newDeafPeer(nc)
		if !a.deaf {
			go p.read()
		}
		if a.begin != nil {
			a.begin(p)
		}
		for time.Now().Before(end) && p.failed == nil && (a.deaf || p.isAlive()) {
			a.next(p)
			p.flush()
			time.Sleep(min(a.pause, time.Until(end)))
		}
		nc.Close()
		if a.deaf {
			continue
		}
		<-p.ended
		if whole := wiretest.Long() && time.Since(begun) >= floodTime(); whole && a.check != nil {
			if err := a.check(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// While several clients hold as much as they can, memory and handlers stay bounded, and a good client is served.
func TestSieges(t *testing.T) {
	if !besideOthers(t) {
		return
	}
	onSites(t, func(s *gallop.Server) { s.MaxRequestBodyMemory = 1 << 20 }, func(t *testing.T, sites []*site) {
		flood(t, sites, len(sieges), func(s *site, group *sync.WaitGroup, end time.Time) {
			for _, a := range sieges {
				group.Go(func() {
					if err := a.keepUp(s, end); err != nil {
						t.Errorf("%s: %s: %v", s, a.name, err)
					}
				})
			}
		})
	})
}
