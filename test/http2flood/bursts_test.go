// Package http2flood_test attacks the HTTP/2 server, on event loops and on goroutines.
package http2flood_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestMain(m *testing.M) { wiretest.RunWithRareGC(m) }

// target is a server under attack.
type target struct {
	address string
	running atomic.Int32 // handlers
	most    atomic.Int32 // the largest number of running handlers so far
	called  atomic.Int64
}

// onEngines runs f with a server on event loops, and with one on goroutines.
func onEngines(t *testing.T, f func(t *testing.T, to *target)) {
	for name, engine := range map[string]gallop.EngineType{"loop": gallop.EngineLoop, "goroutine": gallop.EngineGoroutine} {
		t.Run(name, func(t *testing.T) { f(t, newTarget(t, engine)) })
	}
}

// newTarget starts a server. Its handler takes a few milliseconds for the path /slow.
func newTarget(t *testing.T, engine gallop.EngineType) *target {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := &target{address: ln.Addr().String()}
	var p gallop.Protocols
	p.SetUnencryptedHTTP2(true)
	s := &gallop.Server{Engine: engine, Protocols: &p, ErrorLog: slog.New(slog.DiscardHandler), Handler: to.handle, StreamRequestBody: true}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return to
}

func (to *target) handle(ctx *gallop.RequestCtx) {
	n := to.running.Add(1)
	defer to.running.Add(-1)
	for most := to.most.Load(); n > most && !to.most.CompareAndSwap(most, n); most = to.most.Load() {
	}
	to.called.Add(1)
	switch string(ctx.Path()) {
	case "/slow":
		time.Sleep(5 * time.Millisecond)
	case "/body":
		io.Copy(io.Discard, ctx.RequestBodyStream())
	}
	ctx.SetBodyString("done")
}

// attacker is a client that sends frames.
type attacker struct {
	t  *testing.T
	nc net.Conn
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
	next  uint32
	away  chan http2.ErrCode // the code of the first GOAWAY, or a closed channel
}

// attack connects to a server, and begins to read what it sends.
func attack(t *testing.T, to *target) *attacker {
	t.Helper()
	nc, err := net.Dial("tcp4", to.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	a := &attacker{t: t, nc: nc, Framer: http2.NewFramer(nc, nc), next: 1, away: make(chan http2.ErrCode, 1)}
	a.enc = hpack.NewEncoder(&a.block)
	a.AllowIllegalWrites, a.AllowIllegalReads = true, true
	if _, err := io.WriteString(nc, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := a.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	go a.read()
	return a
}

// read reads frames until the connection ends.
func (a *attacker) read() {
	defer close(a.away)
	for {
		f, err := a.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			a.away <- f.ErrCode
			io.Copy(io.Discard, a.nc)
			return
		case *http2.SettingsFrame:
			if !f.IsAck() {
				a.nc.Write([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0}) // an ACK, without the Framer, which another goroutine uses
			}
		}
	}
}

// head returns the header block of a request.
func (a *attacker) head(method, path string) []byte {
	a.block.Reset()
	for _, f := range [][2]string{{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "a"}} {
		a.enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	return a.block.Bytes()
}

// open sends the head of a request, and returns its stream.
func (a *attacker) open(method, path string, end bool) (id uint32, err error) {
	id = a.next
	a.next += 2
	return id, a.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: a.head(method, path), EndHeaders: true, EndStream: end})
}

// end waits for the end of the connection, and returns the code of GOAWAY.
func (a *attacker) end() (code http2.ErrCode, err error) {
	select {
	case code, ok := <-a.away:
		if !ok {
			return 0, errors.New("the connection ended without GOAWAY")
		}
		return code, nil
	case <-time.After(10 * time.Second):
		return 0, errors.New("no GOAWAY")
	}
}

// Each burst of frames from one connection ends it with the right code, and hurts nobody else.
func TestBursts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		n    int
		send func(a *attacker, i int) error
		want http2.ErrCode
	}{
		{"reset requests", 3000, func(a *attacker, _ int) error {
			id, err := a.open("GET", "/slow", true)
			if err == nil {
				err = a.WriteRSTStream(id, http2.ErrCodeCancel)
			}
			return err
		}, http2.ErrCodeEnhanceYourCalm},
		{"window updates of 0", 3000, func(a *attacker, _ int) error {
			id, err := a.open("GET", "/slow", true)
			if err == nil {
				err = a.WriteRawFrame(http2.FrameWindowUpdate, 0, id, []byte{0, 0, 0, 0})
			}
			return err
		}, http2.ErrCodeProtocol},
		{"pings", 20_000, func(a *attacker, i int) error { return a.WritePing(false, [8]byte{byte(i)}) }, http2.ErrCodeEnhanceYourCalm},
		{"settings", 20_000, func(a *attacker, _ int) error { return a.WriteSettings() }, http2.ErrCodeEnhanceYourCalm},
		{"empty data", 20_000, func(a *attacker, i int) error {
			if i == 0 {
				_, err := a.open("POST", "/body", false)
				return err
			}
			return a.WriteData(1, false, nil)
		}, http2.ErrCodeEnhanceYourCalm},
		{"empty continuations", 3000, func(a *attacker, i int) error {
			if i == 0 {
				return a.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: a.head("GET", "/"), EndStream: true})
			}
			return a.WriteContinuation(1, false, nil)
		}, http2.ErrCodeEnhanceYourCalm},
		{"window updates of 1", 20_000, func(a *attacker, _ int) error { return a.WriteWindowUpdate(0, 1) }, http2.ErrCodeEnhanceYourCalm},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			onEngines(t, func(t *testing.T, to *target) {
				a := attack(t, to)
				for i := range tt.n {
					if tt.send(a, i) != nil {
						break // the server has closed the connection
					}
				}
				if code, err := a.end(); err != nil || code != tt.want {
					t.Errorf("%v, %v, want %v", code, err, tt.want)
				}
				if n := to.most.Load(); n > 200 {
					t.Errorf("%d handlers ran at a time", n)
				}
				checkServes(t, to)
			})
		})
	}
}

// checkServes checks that the server responds to another client.
func checkServes(t *testing.T, to *target) {
	t.Helper()
	a := attack(t, to)
	before := to.called.Load()
	if _, err := a.open("GET", "/", true); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); to.called.Load() == before; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 5*time.Second {
			t.Fatal("the server does not respond to other clients")
		}
	}
}
