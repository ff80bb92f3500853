package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// A gateway lets a test that speaks HTTP/1 talk to a server over HTTP/2. It reads requests as HTTP/1 text from the test's
// connection, sends each as a stream, and writes the response as HTTP/1 text. Everything is passed on as soon as it
// arrives: heads, parts of bodies, interim responses and trailers. The gateway itself shares no code with package gallop.
//
//	test's connection                                         server's connection
//	  ──────────────▶ input ──▶ one request at a time ──▶ frames ──────────────▶
//	  ◀──────────────────────── one response          ◀── events ◀──────────────
//
// An end is passed on as follows:
//
//   - A response that follows "Connection: close" or HTTP/1.0 ends the test's connection.
//   - If the server resets a stream, or refuses further streams, the test's connection ends.
//   - If the server's connection ends, the test still gets a response that has arrived as a whole.
//   - If the test closes its connection or one side of it while a stream is open, the stream is canceled. Then, and without
//     an open stream, the server's connection is closed.
type gateway struct {
	test   net.Conn
	server net.Conn
	scheme string
	fr     *http2.Framer // its reader is used by read only

	wmu   sync.Mutex // guards writing frames
	block bytes.Buffer
	enc   *hpack.Encoder

	mu      sync.Mutex
	changed sync.Cond
	input   []byte  // bytes of the test that were not consumed yet
	left    bool    // the test has closed its connection, or one side of it
	id      uint32  // of the latest stream
	events  []event // of that stream, in order
	whole   bool    // the response of that stream has arrived, so a test that reads slowly gets all of it
	windows map[uint32]int64
	initial int64
	away    bool // the server accepts no further streams
	ended   bool // the server's connection has ended
}

// errCanceled means that the exchange cannot go on. Both connections are closed.
var errCanceled = errors.New("canceled")

// passOn serves a test over a connection to a server, until both connections have ended.
func passOn(test, server net.Conn, scheme string) {
	g := &gateway{test: test, server: server, scheme: scheme, fr: http2.NewFramer(server, server), initial: 65535, windows: map[uint32]int64{0: 65535}}
	g.changed.L = &g.mu
	g.enc = hpack.NewEncoder(&g.block)
	g.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	g.fr.MaxHeaderListSize = 1 << 20
	g.send(func() error {
		if _, err := io.WriteString(server, http2.ClientPreface); err != nil {
			return err
		}
		return g.fr.WriteSettings()
	})
	read := make(chan struct{})
	go func() { defer close(read); g.readFrames() }()
	go g.readInput()
	for g.exchange() == nil {
	}
	_ = server.Close()
	<-read
}

// send writes frames. If the server has closed the connection, readFrames finds out.
func (g *gateway) send(f func() error) {
	g.wmu.Lock()
	defer g.wmu.Unlock()
	_ = f()
}

// update changes the state and wakes the goroutines that wait for a change.
func (g *gateway) update(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	g.changed.Broadcast()
}

// readInput reads what the test sends, until the end.
func (g *gateway) readInput() {
	buf := make([]byte, 64<<10)
	for {
		n, err := g.test.Read(buf)
		g.update(func() { g.input, g.left = append(g.input, buf[:n]...), g.left || err != nil })
		if err != nil {
			return
		}
	}
}

// readFrames reads what the server sends, until the end.
func (g *gateway) readFrames() {
	for {
		f, err := g.fr.ReadFrame()
		if err != nil {
			g.update(func() {
				if g.ended = true; !g.whole {
					_ = g.test.SetWriteDeadline(time.Now().Add(time.Second))
				}
			})
			return
		}
		g.take(f)
	}
}

// take notes a frame, and acknowledges it if it has to.
func (g *gateway) take(f http2.Frame) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return
		}
		if n, ok := f.Value(http2.SettingInitialWindowSize); ok {
			g.update(func() { g.resize(int64(n)) })
		}
		g.send(g.fr.WriteSettingsAck)
	case *http2.PingFrame:
		if !f.IsAck() {
			g.send(func() error { return g.fr.WritePing(true, f.Data) })
		}
	case *http2.WindowUpdateFrame:
		g.update(func() { g.windows[f.StreamID] += int64(f.Increment) })
	case *http2.GoAwayFrame:
		g.update(func() { g.away = true })
	case *http2.MetaHeadersFrame:
		g.note(f.StreamID, event{fields: slices.Clone(f.Fields), end: f.StreamEnded()})
	case *http2.DataFrame:
		if n := f.Length - uint32(len(f.Data())); n > 0 {
			g.credit(f.StreamID, n) // padding
		}
		g.note(f.StreamID, event{data: bytes.Clone(f.Data()), end: f.StreamEnded()})
	case *http2.RSTStreamFrame:
		g.note(f.StreamID, event{reset: true})
		if f.ErrCode != http2.ErrCodeNo {
			g.interrupt()
		}
	}
}

// event is what a frame of the server says about a stream.
type event struct {
	fields []hpack.HeaderField // of a header block
	data   []byte
	end    bool // of the response
	reset  bool
}

// interrupt ends a Write to a test that does not read.
func (g *gateway) interrupt() { _ = g.test.SetWriteDeadline(time.Unix(1, 0)) }

// note keeps an event of the latest stream. Events of earlier streams come too late to matter.
func (g *gateway) note(id uint32, ev event) {
	g.update(func() {
		if id == g.id {
			g.events = append(g.events, ev)
			g.whole = ev.end
		}
	})
}

// resize changes the size with which the windows of streams begin (RFC 9113 §6.9.2).
func (g *gateway) resize(n int64) {
	for id := range g.windows {
		if id != 0 {
			g.windows[id] += n - g.initial
		}
	}
	g.initial = n
}

// credit opens the windows of a stream and of the connection.
func (g *gateway) credit(id, n uint32) {
	g.send(func() error {
		if err := g.fr.WriteWindowUpdate(0, n); err != nil {
			return err
		}
		return g.fr.WriteWindowUpdate(id, n)
	})
}

// exchange passes a request and its response. It returns an error if there are no further exchanges.
func (g *gateway) exchange() error {
	q, err := g.readRequest()
	if err != nil {
		_ = g.test.Close()
		return err
	}
	g.open(q)
	sent := make(chan bool, 1)
	go func() { sent <- q.bodyless() || g.sendBody(q) }()
	if err := g.passResponse(q); err != nil {
		g.send(func() error { return g.fr.WriteRSTStream(g.id, http2.ErrCodeCancel) })
		g.update(func() { g.ended = true })
		<-sent
		_ = g.test.Close()
		return err
	}
	if whole := <-sent; !whole || q.last() {
		g.hangUp()
		return errCanceled
	}
	return nil
}

// hangUp ends the test's connection after a response. For a while the test may still send what the response has overtaken.
func (g *gateway) hangUp() {
	if c, ok := g.test.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
		_ = g.test.SetReadDeadline(time.Now().Add(time.Second))
		g.mu.Lock()
		for !g.left {
			g.changed.Wait()
		}
		g.mu.Unlock()
	}
	_ = g.test.Close()
}

// passResponse passes the response to q, interim responses included.
func (g *gateway) passResponse(q *h1Request) error {
	w := &h1Writer{w: g.test, q: q}
	for {
		ev, err := g.next()
		if err != nil {
			return err
		}
		switch {
		case ev.reset:
			err = fmt.Errorf("%w by the server", errCanceled)
		case ev.fields != nil:
			err = w.head(ev.fields)
		default:
			err = w.data(ev.data)
		}
		if err != nil {
			return err
		}
		if len(ev.data) > 0 {
			g.credit(g.id, uint32(len(ev.data)))
		}
		if ev.end {
			return w.end()
		}
	}
}

// next waits for the next event of the stream.
func (g *gateway) next() (ev event, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.events) == 0 {
		if g.ended || g.left {
			return ev, errCanceled
		}
		g.changed.Wait()
	}
	ev, g.events = g.events[0], g.events[1:]
	return ev, nil
}

// h1Request is a request in the text of HTTP/1.
type h1Request struct {
	method, target string
	minor          byte // minor version of HTTP/1.x
	fields         []wiretest.Field
}

// get returns the value of a field, "" without it.
func (q *h1Request) get(name string) string {
	for _, f := range q.fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

func (q *h1Request) chunked() bool { return q.get("Transfer-Encoding") != "" }

// length returns the announced length of the body, 0 without one.
func (q *h1Request) length() int {
	n, _ := strconv.Atoi(q.get("Content-Length"))
	return n
}

// bodyless reports whether the head is all of the request.
func (q *h1Request) bodyless() bool { return !q.chunked() && q.length() == 0 }

// last reports whether the response to the request is the last one of its connection.
func (q *h1Request) last() bool {
	return q.minor == '0' || strings.EqualFold(q.get("Connection"), "close")
}

// readRequest waits for the head of a request.
func (g *gateway) readRequest() (*h1Request, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if head, rest, ok := bytes.Cut(g.input, []byte("\r\n\r\n")); ok && !g.away {
			g.input = bytes.Clone(rest)
			return parseRequest(string(head))
		}
		if g.left || g.ended || g.away {
			return nil, errCanceled
		}
		g.changed.Wait()
	}
}

func parseRequest(head string) (*h1Request, error) {
	lines := strings.Split(head, "\r\n")
	parts := strings.Split(lines[0], " ")
	if len(parts) != 3 || parts[2] != "HTTP/1.1" && parts[2] != "HTTP/1.0" {
		return nil, fmt.Errorf("request line %q", lines[0])
	}
	q := &h1Request{method: parts[0], target: parts[1], minor: parts[2][7]}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return nil, fmt.Errorf("field line %q", line)
		}
		q.fields = append(q.fields, wiretest.Field{Name: name, Value: strings.Trim(value, " \t")})
	}
	return q, nil
}

// ofConnection are the fields that HTTP/2 does not have (RFC 9113 §8.2.2), and Host, which becomes :authority.
var ofConnection = []string{"host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}

// open opens a stream with the head of q.
func (g *gateway) open(q *h1Request) {
	g.update(func() {
		if g.id += 2; g.id == 2 {
			g.id = 1
		}
		g.events, g.whole = nil, false
		g.windows[g.id] = g.initial
	})
	authority, path := q.get("Host"), q.target
	if q.minor == '0' && authority == "" {
		authority = "test" // HTTP/1.0 needs no Host
	}
	if _, rest, ok := strings.Cut(q.target, "://"); ok {
		authority, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	list := []wiretest.Field{{Name: ":method", Value: q.method}, {Name: ":authority", Value: authority}}
	if q.method != "CONNECT" {
		list = append(list, wiretest.Field{Name: ":scheme", Value: g.scheme}, wiretest.Field{Name: ":path", Value: path})
	}
	for _, f := range q.fields {
		if f.Name = strings.ToLower(f.Name); !slices.Contains(ofConnection, f.Name) {
			list = append(list, f)
		}
	}
	g.sendBlock(q.bodyless(), list)
}

// sendBlock sends a header block in as many frames as it takes.
func (g *gateway) sendBlock(end bool, list []wiretest.Field) {
	const size = 16 << 10 // of a frame
	g.send(func() error {
		g.block.Reset()
		for _, f := range list {
			_ = g.enc.WriteField(hpack.HeaderField{Name: f.Name, Value: f.Value})
		}
		rest := g.block.Bytes()
		part := rest[:min(len(rest), size)]
		rest = rest[len(part):]
		err := g.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: g.id, BlockFragment: part, EndStream: end, EndHeaders: len(rest) == 0})
		for len(rest) > 0 && err == nil {
			part = rest[:min(len(rest), size)]
			rest = rest[len(part):]
			err = g.fr.WriteContinuation(g.id, len(rest) == 0, part)
		}
		return err
	})
}

// sendBody passes the body of q. It reports whether the body was passed as a whole.
func (g *gateway) sendBody(q *h1Request) bool {
	if !q.chunked() {
		return g.sendPart(q.length(), true)
	}
	for {
		line, ok := g.readLine()
		digits, _, _ := strings.Cut(line, ";")
		size, err := strconv.ParseUint(digits, 16, 31)
		switch {
		case !ok || err != nil:
			return false
		case size == 0:
			return g.sendTrailers()
		case !g.sendPart(int(size), false):
			return false
		}
		if line, ok := g.readLine(); !ok || line != "" {
			return false
		}
	}
}

// sendTrailers passes the trailers of a request, and ends it.
func (g *gateway) sendTrailers() bool {
	var list []wiretest.Field
	for {
		line, ok := g.readLine()
		switch {
		case !ok:
			return false
		case line != "":
			name, value, _ := strings.Cut(line, ":")
			list = append(list, wiretest.Field{Name: strings.ToLower(name), Value: strings.Trim(value, " \t")})
			continue
		case len(list) > 0:
			g.sendBlock(true, list)
		default:
			g.send(func() error { return g.fr.WriteData(g.id, true, nil) })
		}
		return true
	}
}

// sendPart passes n bytes of a body, as they arrive and as the windows permit. With end it ends the request.
func (g *gateway) sendPart(n int, end bool) bool {
	for n > 0 {
		p := g.takeInput(n)
		if p == nil {
			return false
		}
		n -= len(p)
		g.send(func() error { return g.fr.WriteData(g.id, end && n == 0, p) })
	}
	return true
}

// takeInput waits for input and room in the windows. It returns at most n bytes for a DATA frame, nil if none can be sent any
// more.
func (g *gateway) takeInput(n int) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		room := int(min(g.windows[0], g.windows[g.id], 16<<10))
		switch n := min(n, len(g.input), room); {
		case g.stopped():
			return nil
		case n > 0:
			p := bytes.Clone(g.input[:n])
			g.input = g.input[n:]
			g.windows[0] -= int64(n)
			g.windows[g.id] -= int64(n)
			return p
		}
		g.changed.Wait()
	}
}

// stopped reports whether no more of the request can be sent.
func (g *gateway) stopped() bool {
	return g.ended || g.left && len(g.input) == 0 || slices.ContainsFunc(g.events, func(ev event) bool { return ev.reset })
}

// readLine waits for a line of input.
func (g *gateway) readLine() (line string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if line, rest, ok := bytes.Cut(g.input, []byte("\r\n")); ok {
			g.input = bytes.Clone(rest)
			return string(line), true
		}
		if g.ended || g.left || g.stopped() {
			return "", false
		}
		g.changed.Wait()
	}
}

// h1Writer writes the responses to a request in the text of HTTP/1.
type h1Writer struct {
	w       io.Writer
	q       *h1Request
	final   bool // the head of the final response was written
	framing wiretest.Framing
	rest    int // of a body of known length
}

// head writes a head, or keeps trailers.
func (w *h1Writer) head(fields []hpack.HeaderField) error {
	status := 0
	if len(fields) > 0 && fields[0].Name == ":status" {
		status, _ = strconv.Atoi(fields[0].Value)
		fields = fields[1:]
	}
	switch {
	case w.final:
		return w.trailers(fields)
	case status < 200 && w.q.minor == '0':
		return nil // HTTP/1.0 has no interim responses
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	length := ""
	for _, h := range fields {
		fmt.Fprintf(&b, "%s: %s\r\n", http.CanonicalHeaderKey(h.Name), h.Value)
		if h.Name == "content-length" {
			length = h.Value
		}
	}
	if w.final = status >= 200; w.final {
		w.frame(&b, status, length)
	}
	b.WriteString("\r\n")
	_, err := w.w.Write(b.Bytes())
	return err
}

// frame decides how the body is framed, and writes the fields for it.
func (w *h1Writer) frame(b *bytes.Buffer, status int, length string) {
	switch {
	case w.q.method == "HEAD" || status == 204 || status == 304:
		w.framing = wiretest.NoBody
	case w.q.method == "CONNECT" && status < 300:
		w.framing = wiretest.ForTunnel
	case length != "":
		w.framing = wiretest.ByLength
		w.rest, _ = strconv.Atoi(length)
	case w.q.minor == '0':
		w.framing = wiretest.ByClose
	default:
		w.framing = wiretest.ByChunks
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	if w.q.last() {
		b.WriteString("Connection: close\r\n")
	}
}

// data writes a part of the body.
func (w *h1Writer) data(p []byte) (err error) {
	switch {
	case len(p) == 0:
	case !w.final || w.framing == wiretest.NoBody || w.framing == wiretest.ByLength && len(p) > w.rest:
		err = fmt.Errorf("%w: %d bytes of DATA too much", errCanceled, len(p))
	case w.framing == wiretest.ByChunks:
		_, err = fmt.Fprintf(w.w, "%x\r\n%s\r\n", len(p), p)
	default:
		w.rest -= len(p)
		_, err = w.w.Write(p)
	}
	return err
}

// trailers writes the end of a body with trailers. Bodies that are not chunked have no room for them.
func (w *h1Writer) trailers(list []hpack.HeaderField) error {
	if w.framing != wiretest.ByChunks {
		return nil
	}
	w.framing = wiretest.NoBody
	var b bytes.Buffer
	b.WriteString("0\r\n")
	for _, h := range list {
		fmt.Fprintf(&b, "%s: %s\r\n", http.CanonicalHeaderKey(h.Name), h.Value)
	}
	b.WriteString("\r\n")
	_, err := w.w.Write(b.Bytes())
	return err
}

// end writes the end of the response.
func (w *h1Writer) end() (err error) {
	switch {
	case !w.final:
		return fmt.Errorf("%w: an interim response was the last one", errCanceled)
	case w.framing == wiretest.ByLength && w.rest > 0:
		return fmt.Errorf("%w: %d bytes are missing", errCanceled, w.rest)
	case w.framing == wiretest.ByChunks:
		_, err = io.WriteString(w.w, "0\r\n\r\n")
	}
	return err
}
