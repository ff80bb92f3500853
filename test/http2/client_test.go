package http2_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// client is the client's side of a connection. Its methods that open streams and wait may only be used by the test's
// goroutine.
type client struct {
	*site
	nc   net.Conn
	fr   *http2.Framer
	hold bool        // gives no credit for DATA by itself; set before the first stream
	mute atomic.Bool // acknowledges nothing: a server cannot know what has arrived

	unread uint32 // a stream for which hold is true, or 0; set before the stream is opened

	wmu   sync.Mutex // guards writing
	block bytes.Buffer
	enc   *hpack.Encoder
	held  *bytes.Buffer // what together has gathered, or nil
	next  uint32

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	streams map[uint32]*stream
	aways   []away
	ended   error             // why reading has ended
	windows map[uint32]uint32 // credit that the server has given, by stream
}

// away is a GOAWAY frame.
type away struct {
	last uint32
	code http2.ErrCode
}

// stream is the server's side of a stream, as far as it has arrived.
type stream struct {
	id       uint32
	interims []fields
	head     fields
	body     []byte
	frames   int // of DATA
	trailers fields
	ended    bool
	code     *http2.ErrCode // of RST_STREAM
}

// fields are a header block.
type fields []hpack.HeaderField

// get returns the value of the first field of this name.
func (l fields) get(name string) string {
	for _, f := range l {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// has reports whether there is a field of this name.
func (l fields) has(name string) bool {
	return slices.ContainsFunc(l, func(f hpack.HeaderField) bool { return f.Name == name })
}

// status returns the status of a head, 0 without a head.
func (l fields) status() int {
	n, _ := strconv.Atoi(l.get(":status"))
	return n
}

// dial connects, and sends the preface and settings.
func (w *site) dial(settings ...http2.Setting) *client {
	w.t.Helper()
	c := w.newClient()
	c.preface(settings...)
	go c.read()
	return c
}

// dialSilently connects and sends nothing.
func (w *site) dialSilently() *client {
	w.t.Helper()
	c := w.newClient()
	c.mute.Store(true)
	go c.read()
	return c
}

// newClient connects. Nothing is read yet.
func (w *site) newClient() *client {
	w.t.Helper()
	nc := w.connect("h2")
	c := &client{site: w, nc: nc, next: 1, changed: make(chan struct{}), streams: map[uint32]*stream{}, windows: map[uint32]uint32{}}
	c.fr = http2.NewFramer(c, nc)
	c.fr.AllowIllegalWrites = true
	c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.fr.MaxHeaderListSize = 1 << 20
	c.enc = hpack.NewEncoder(&c.block)
	return c
}

// preface sends the preface and settings.
func (c *client) preface(settings ...http2.Setting) {
	c.send(func() error {
		if _, err := io.WriteString(c.nc, http2.ClientPreface); err != nil {
			return err
		}
		return c.fr.WriteSettings(settings...)
	})
}

// send writes frames. A server that has closed the connection does not fail the test.
func (c *client) send(f func() error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	_ = f()
}

// read reads frames until the connection ends.
func (c *client) read() {
	for {
		f, err := c.fr.ReadFrame()
		if err != nil {
			c.change(func() { c.ended = err })
			return
		}
		c.change(func() { c.take(f) })
		c.acknowledge(f)
	}
}

// change changes what has arrived.
func (c *client) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// take notes a frame.
func (c *client) take(f http2.Frame) {
	st := c.streams[f.Header().StreamID]
	if st == nil {
		st = &stream{}
	}
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		l := fields(slices.Clone(f.Fields))
		switch status := l.status(); {
		case status == 0:
			st.trailers = l
		case status < 200:
			st.interims = append(st.interims, l)
		default:
			st.head = l
		}
		st.ended = st.ended || f.StreamEnded()
	case *http2.DataFrame:
		if n := len(f.Data()); n > cap(st.body)-len(st.body) {
			st.body = slices.Grow(st.body, len(st.body)+n) // append would copy large bodies more often
		}
		st.body = append(st.body, f.Data()...)
		st.frames++
		st.ended = st.ended || f.StreamEnded()
	case *http2.RSTStreamFrame:
		st.code = &f.ErrCode
	case *http2.WindowUpdateFrame:
		c.windows[f.StreamID] += f.Increment
	case *http2.GoAwayFrame:
		c.aways = append(c.aways, away{f.LastStreamID, f.ErrCode})
	}
}

// acknowledge sends what the protocol demands.
func (c *client) acknowledge(f http2.Frame) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() && !c.mute.Load() {
			c.send(c.fr.WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !f.IsAck() && !c.mute.Load() {
			c.send(func() error { return c.fr.WritePing(true, f.Data) })
		}
	case *http2.DataFrame:
		if n := f.Length; n > 0 && !c.hold && f.StreamID != c.unread {
			c.credit(f.StreamID, n)
		}
	}
}

// credit opens the windows of a stream and of the connection.
func (c *client) credit(id, n uint32) {
	c.send(func() error {
		if err := c.fr.WriteWindowUpdate(0, n); err != nil {
			return err
		}
		return c.fr.WriteWindowUpdate(id, n)
	})
}

// creditOf returns the credit that the server has given for a stream.
func (c *client) creditOf(id uint32) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.windows[id]
}

// open opens a stream with a request. Fields are "name: value". Without an end, a body follows.
func (c *client) open(method, path string, end bool, lines ...string) (id uint32) {
	scheme := "http"
	if c.tls {
		scheme = "https"
	}
	head := []string{":method: " + method, ":scheme: " + scheme, ":authority: example.com", ":path: " + path}
	return c.openRaw(end, append(head, lines...)...)
}

// openRaw opens a stream with exactly these fields.
func (c *client) openRaw(end bool, lines ...string) (id uint32) {
	id = c.next
	c.next += 2
	c.mu.Lock()
	c.streams[id] = &stream{id: id}
	c.mu.Unlock()
	c.headers(id, end, lines...)
	return id
}

// headers sends a header block, in as many frames as it takes.
func (c *client) headers(id uint32, end bool, lines ...string) {
	c.send(func() error {
		c.block.Reset()
		for _, line := range lines {
			colon := strings.Index(line[1:], ":") + 1
			c.enc.WriteField(hpack.HeaderField{Name: line[:colon], Value: strings.TrimPrefix(line[colon+1:], " ")})
		}
		rest := c.block.Bytes()
		part := rest[:min(len(rest), 16<<10)]
		rest = rest[len(part):]
		err := c.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: part, EndStream: end, EndHeaders: len(rest) == 0})
		for len(rest) > 0 && err == nil {
			part = rest[:min(len(rest), 16<<10)]
			rest = rest[len(part):]
			err = c.fr.WriteContinuation(id, len(rest) == 0, part)
		}
		return err
	})
}

// data sends DATA, regardless of windows.
func (c *client) data(id uint32, p string, end bool) {
	c.send(func() error {
		for len(p) > 16<<10 {
			if err := c.fr.WriteData(id, false, []byte(p[:16<<10])); err != nil {
				return err
			}
			p = p[16<<10:]
		}
		return c.fr.WriteData(id, end, []byte(p))
	})
}

// together sends what f sends in one write, so that the server reads it at once.
func (c *client) together(f func()) {
	c.wmu.Lock()
	c.held = new(bytes.Buffer)
	c.wmu.Unlock()
	f()
	c.wmu.Lock()
	defer c.wmu.Unlock()
	all := c.held.Bytes()
	c.held = nil
	_, _ = c.nc.Write(all)
}

// Write implements io.Writer for the framer. wmu is held.
func (c *client) Write(p []byte) (int, error) {
	if c.held != nil {
		return c.held.Write(p)
	}
	return c.nc.Write(p)
}

// reset resets a stream.
func (c *client) reset(id uint32) {
	c.send(func() error { return c.fr.WriteRSTStream(id, http2.ErrCodeCancel) })
}

// until waits until cond holds, which is called under the lock.
func (c *client) until(what string, cond func() bool) {
	c.t.Helper()
	patience := time.After(time.Hour)
	for {
		c.mu.Lock()
		ok, ended, changed := cond(), c.ended, c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return
		case ended != nil:
			c.t.Fatalf("connection ended (%v, GOAWAY %v), want %s", ended, c.aways, what)
		}
		select {
		case <-changed:
		case <-patience:
			c.t.Fatalf("waited an hour for %s", what)
		}
	}
}

// await waits until a stream has ended or was reset.
func (c *client) await(id uint32) *stream {
	c.t.Helper()
	st := c.streams[id]
	c.until(fmt.Sprintf("the end of stream %d", id), func() bool { return st.ended || st.code != nil })
	return st
}

// awaitReset waits until a stream was reset.
func (c *client) awaitReset(id uint32, code http2.ErrCode) *stream {
	c.t.Helper()
	st := c.streams[id]
	c.until(fmt.Sprintf("the reset of stream %d", id), func() bool { return st.code != nil })
	if *st.code != code {
		c.t.Fatalf("stream %d was reset with %v, want %v", id, *st.code, code)
	}
	return st
}

// awaitBody waits until n bytes of a response have arrived. It returns a copy of the stream, which may still go on.
func (c *client) awaitBody(id uint32, n int) *stream {
	c.t.Helper()
	st := c.streams[id]
	c.until(fmt.Sprintf("%d bytes on stream %d", n, id), func() bool { return len(st.body) >= n })
	c.mu.Lock()
	defer c.mu.Unlock()
	copied := *st
	return &copied
}

// awaitEnd waits until the server has closed the connection, and returns its GOAWAY frames.
func (c *client) awaitEnd() []away {
	c.t.Helper()
	c.until("the end of the connection", func() bool { return c.ended != nil })
	return c.aways
}

// do sends a request and returns the whole response. The request has no body if body is empty.
func (c *client) do(method, path, body string, lines ...string) *stream {
	c.t.Helper()
	id := c.open(method, path, body == "", lines...)
	if body != "" {
		c.data(id, body, true)
	}
	return c.await(id)
}

// get sends a GET request and returns the whole response.
func (c *client) get(path string, lines ...string) *stream {
	c.t.Helper()
	return c.do("GET", path, "", lines...)
}

// want fails the test unless a response is complete and has this status and body.
func (c *client) want(st *stream, status int, body string) *stream {
	c.t.Helper()
	c.mu.Lock() // a RST_STREAM may follow the end
	defer c.mu.Unlock()
	switch {
	case st.code != nil && *st.code != http2.ErrCodeNo:
		c.t.Fatalf("stream %d was reset with %v after status %d and body %.80q", st.id, *st.code, st.head.status(), st.body)
	case !st.ended:
		c.t.Fatalf("stream %d has not ended", st.id)
	case st.head.status() != status:
		c.t.Fatalf("status %d, want %d; body %.80q", st.head.status(), status, st.body)
	case string(st.body) != body:
		c.t.Fatalf("body (%d) %.80q, want (%d) %.80q", len(st.body), st.body, len(body), body)
	}
	return st
}

// wantAlive fails the test unless the connection serves another request.
func (c *client) wantAlive() {
	c.t.Helper()
	if st := c.get("/alive"); st.code != nil || st.head == nil {
		c.t.Fatalf("the connection does not serve another request: %+v", st)
	}
}
