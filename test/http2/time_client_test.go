package http2_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// timedClient is a client in a bubble. It notes the frames that it gets.
type timedClient struct {
	t *testing.T
	net.Conn
	*http2.Framer
	block   bytes.Buffer
	enc     *hpack.Encoder
	next    uint32
	silent  bool // does not acknowledge SETTINGS and PING
	deaf    bool // does not acknowledge PING
	pings   []time.Time
	mu      sync.Mutex
	got     []string
	body    map[uint32]string
	credits bool // gives back the windows for data
	ended   time.Time
}

// talk runs f with a connection to s, in virtual time. It is run on each transport.
func talk(t *testing.T, configure func(s *gallop.Server), f func(c *timedClient, s *gallop.Server)) {
	t.Helper()
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := &gallop.Server{ErrorLog: slog.New(slog.DiscardHandler), Protocols: new(gallop.Protocols)}
			s.Protocols.SetHTTP1(true)
			s.Protocols.SetUnencryptedHTTP2(true)
			configure(s)
			ln := on.Listen(s)
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			nc, err := ln.Dial()
			if err != nil {
				t.Fatal(err)
			}
			f(newTimedClient(t, nc), s)
			nc.Close()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	})
}

func newTimedClient(t *testing.T, nc net.Conn) *timedClient {
	c := &timedClient{t: t, Conn: nc, Framer: http2.NewFramer(nc, nc), next: 1, body: map[uint32]string{}, credits: true}
	c.enc = hpack.NewEncoder(&c.block)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return c
}

// begin sends the preface and settings, and begins to read.
func (c *timedClient) begin(settings ...http2.Setting) {
	io.WriteString(c.Conn, http2.ClientPreface)
	c.WriteSettings(settings...)
	go c.read()
	synctest.Wait()
}

func (c *timedClient) read() {
	for {
		f, err := c.ReadFrame()
		c.mu.Lock()
		if err != nil {
			c.ended = time.Now()
			c.mu.Unlock()
			return
		}
		c.note(f)
		c.mu.Unlock()
	}
}

// note notes a frame. c is locked.
func (c *timedClient) note(f http2.Frame) {
	id := f.Header().StreamID
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		text := "headers"
		for _, h := range f.Fields {
			if h.Name != "date" && h.Name != "server" {
				text += " " + h.Name + "=" + h.Value
			}
		}
		if f.StreamEnded() {
			text += " end"
		}
		c.got = append(c.got, fmt.Sprintf("%d %s", id, text))
	case *http2.DataFrame:
		c.body[id] += string(f.Data())
		if f.StreamEnded() {
			c.got = append(c.got, fmt.Sprintf("%d end after %d bytes", id, len(c.body[id])))
		}
		if n := len(f.Data()); n > 0 && c.credits {
			go func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.WriteWindowUpdate(0, uint32(n))
				c.WriteWindowUpdate(id, uint32(n))
			}()
		}
	case *http2.RSTStreamFrame:
		c.got = append(c.got, fmt.Sprintf("%d reset %v", id, f.ErrCode))
	case *http2.GoAwayFrame:
		c.got = append(c.got, fmt.Sprintf("goaway %d %v", f.LastStreamID, f.ErrCode))
	case *http2.SettingsFrame:
		if !f.IsAck() && !c.silent {
			c.Conn.Write([]byte{0, 0, 0, 4, 1, 0, 0, 0, 0})
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			c.pings = append(c.pings, time.Now())
		}
		if !f.IsAck() && !c.silent && !c.deaf {
			c.Conn.Write(append([]byte{0, 0, 8, 6, 1, 0, 0, 0, 0}, f.Data[:]...))
		}
	}
}

// slowReader reads 1000 bytes per second.
type slowReader struct{ io.Reader }

func (r slowReader) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return r.Reader.Read(p[:min(len(p), 1000)])
}

// readSlowly makes the client read 1000 bytes per second, once it begins.
func (c *timedClient) readSlowly() {
	c.Framer = http2.NewFramer(c.Conn, bufio.NewReader(slowReader{c.Conn}))
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
}

// open sends the head of a request.
func (c *timedClient) open(method, path string, end bool, fields ...string) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.block.Reset()
	for _, f := range append([]string{":method: " + method, ":scheme: http", ":path: " + path, ":authority: a"}, fields...) {
		i := strings.Index(f[1:], ": ") + 1
		c.enc.WriteField(hpack.HeaderField{Name: f[:i], Value: f[i+2:]})
	}
	id := c.next
	c.next += 2
	if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: end}); err != nil {
		c.t.Error(err)
	}
	return id
}

// data sends a part of a body.
func (c *timedClient) data(id uint32, text string, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.WriteData(id, end, []byte(text)); err != nil {
		c.t.Error(err)
	}
}

// want waits until all is quiet, and checks that exactly these frames have come since the last call.
func (c *timedClient) want(want ...string) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := strings.Join(c.got, "\n"); got != strings.Join(want, "\n") {
		c.t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	c.got = nil
}

// wantEnd checks that the connection has ended this long after begun, within two seconds.
func (c *timedClient) wantEnd(begun time.Time, after time.Duration) {
	c.t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	took := c.ended.Sub(begun)
	if c.ended.IsZero() || took < after-2*time.Second || took > after+3*time.Second {
		c.t.Errorf("the connection ended after %v, want %v", took, after)
	}
}
