package http2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop/internal/hpack"
	"github.com/gallop-http/gallop/internal/message"
)

// testConfig returns limits that are small enough to be reached.
func testConfig(r Role) *Config {
	return &Config{
		Role: r, MaxConcurrentStreams: 10, StreamWindow: 65535, ConnWindow: 1 << 20, MaxFrameSize: 16384, MaxSendFrame: 16384,
		HeaderTableSize: 4096, EncoderTableSize: 4096, MaxBlock: 128 << 10, MaxInterims: 5,
		Header: hpack.Limits{List: 64 << 10, Fields: 100, String: 32 << 10},
	}
}

// side is a Conn and what happened on it.
type side struct {
	c      Conn
	m      Message
	rest   []byte // bytes that Next has left
	events []string
	heads  []message.Head // copies of the heads
	datas  map[uint32][]byte
	now    int64
	onHead func(ev Event) // called after a Head event
	on     func(ev Event) // called after each event
	full   bool
	failed bool
}

func newSide(cfg *Config) *side {
	s := &side{now: 1e9, datas: map[uint32][]byte{}}
	s.m.Head = new(message.Head)
	s.c.Init(cfg)
	return s
}

// feed passes bytes to the connection, as a caller with a read buffer does.
func (s *side) feed(p []byte) {
	if len(s.rest) == 0 {
		s.rest = p
	} else {
		s.rest = append(s.rest, p...)
	}
	s.resume()
}

func (s *side) resume() {
	for {
		ev, n := s.c.Next(s.rest, &s.m, s.now)
		s.note(ev)
		s.rest = s.rest[n:]
		if s.full = ev.Kind == Full; ev.Kind == More || ev.Kind == Full || ev.Kind == Failed {
			return
		}
	}
}

func (s *side) note(ev Event) {
	var text string
	switch ev.Kind {
	case More, Full:
		return
	case Failed:
		if s.failed {
			return
		}
		s.failed = true
		text = fmt.Sprint("failed ", ev.Err.Reason)
	case Head, Interim, Trailers:
		text = fmt.Sprint([]string{Head: "head", Interim: "interim", Trailers: "trailers"}[ev.Kind], " ", ev.Stream, " ", showHead(&s.m))
		var h message.Head
		s.m.Head.CopyTo(&h)
		s.heads = append(s.heads, h)
		if ev.Excess != nil {
			text += " excess"
		}
		if ev.End {
			text += " end"
		}
	case Data:
		s.datas[ev.Stream] = append(s.datas[ev.Stream], ev.Data...)
		if ev.End {
			text = fmt.Sprint("end ", ev.Stream, " ", len(s.datas[ev.Stream]))
		}
	case Reset:
		text = fmt.Sprint("reset ", ev.Stream, " ", ev.Code)
	case Rejected:
		text = fmt.Sprint("rejected ", ev.Stream, " ", ev.Err.Reason)
	case Writable:
		text = "writable"
	case SettingsChanged:
		text = "settings"
	case SettingsAcked:
		text = "acked"
	case Pong:
		text = fmt.Sprint("pong ", ev.Ping)
	case GoingAway:
		text = fmt.Sprint("goaway ", ev.Stream, " ", ev.Code, " ", string(ev.Data))
	}
	if text != "" {
		s.events = append(s.events, text)
	}
	if ev.Kind == Head && s.onHead != nil {
		s.onHead(ev)
	}
	if s.on != nil {
		s.on(ev)
	}
}

// showHead prints what a Message has.
func showHead(m *Message) string {
	h := m.Head
	var b strings.Builder
	if h.Method.Len > 0 {
		fmt.Fprintf(&b, "%s %s %s", h.Fields.Bytes(h.Method), h.Fields.Bytes(m.Scheme), h.Fields.Bytes(h.Target))
	}
	if m.Protocol.Len > 0 {
		fmt.Fprintf(&b, " protocol=%s", h.Fields.Bytes(m.Protocol))
	}
	if h.Status > 0 {
		fmt.Fprint(&b, h.Status)
	}
	b.WriteString(" [")
	for i := range h.Fields.Len() {
		name, value := h.Fields.At(i)
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s=%s", name, value)
	}
	b.WriteString("]")
	return b.String()
}

// sent returns what the connection wants to write, as x/net understands it, and forgets it.
func (s *side) sent(t testing.TB) []string {
	t.Helper()
	out := bytes.Clone(s.c.Out())
	s.c.Sent(len(out))
	return describe(t, bytes.TrimPrefix(out, []byte(Preface)))
}

// describe parses frames with x/net.
func describe(t testing.TB, b []byte) (frames []string) {
	t.Helper()
	fr := http2.NewFramer(io.Discard, bytes.NewReader(b))
	fr.SetMaxReadFrameSize(1<<24 - 1)
	fr.AllowIllegalReads = true
	for {
		f, err := fr.ReadFrame()
		if err == io.EOF {
			return frames
		}
		if err != nil {
			t.Fatalf("x/net cannot read %x: %v", b, err)
		}
		frames = append(frames, describeFrame(f))
	}
}

func describeFrame(f http2.Frame) string {
	id := f.Header().StreamID
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return "SETTINGS ack"
		}
		text := "SETTINGS"
		_ = f.ForeachSetting(func(s http2.Setting) error {
			text += fmt.Sprintf(" %d=%d", uint16(s.ID), s.Val)
			return nil
		})
		return text
	case *http2.RSTStreamFrame:
		return fmt.Sprint("RST ", id, " ", Code(f.ErrCode))
	case *http2.GoAwayFrame:
		return fmt.Sprint("GOAWAY ", f.LastStreamID, " ", Code(f.ErrCode))
	case *http2.PingFrame:
		return fmt.Sprint("PING ", binary.BigEndian.Uint64(f.Data[:]), " ", f.IsAck())
	case *http2.WindowUpdateFrame:
		return fmt.Sprint("WINDOW ", id, " ", f.Increment)
	case *http2.DataFrame:
		return fmt.Sprint("DATA ", id, " ", len(f.Data()), " ", f.StreamEnded())
	case *http2.HeadersFrame:
		return fmt.Sprint("HEADERS ", id, " ", f.StreamEnded(), " ", f.HeadersEnded())
	case *http2.ContinuationFrame:
		return fmt.Sprint("CONTINUATION ", id, " ", f.HeadersEnded())
	case *http2.PriorityUpdateFrame:
		return fmt.Sprint("PRIORITY_UPDATE ", f.PrioritizedStreamID, " ", f.Priority)
	}
	return fmt.Sprintf("%T", f)
}

// verdicts returns the connection error and the stream errors among frames that were sent: "C code", "S stream code".
func verdicts(frames []string) string {
	var all []string
	for _, f := range frames {
		if rest, ok := strings.CutPrefix(f, "RST "); ok {
			all = append(all, "S "+rest)
		} else if rest, ok := strings.CutPrefix(f, "GOAWAY "); ok {
			_, code, _ := strings.Cut(rest, " ")
			all = append(all, "C "+code)
		}
	}
	return strings.Join(all, ", ")
}

// Functions that build bytes for a connection.

func frame(t frameType, f frameFlags, stream uint32, payload ...string) string {
	body := strings.Join(payload, "")
	return string(appendFrameHeader(nil, len(body), t, f, stream)) + body
}

func settings(pairs ...uint32) string {
	var b []byte
	for i := 0; i < len(pairs); i += 2 {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(pairs[i])), pairs[i+1])
	}
	return frame(typeSettings, 0, 0, string(b))
}

func number(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// block encodes "name: value" lines as literals that no table stores.
func block(lines ...string) string {
	var b []byte
	for _, line := range lines {
		i := strings.Index(line[1:], ":") + 1
		name, value := line[:i], strings.TrimPrefix(line[i+1:], " ")
		b = append(b, 0)
		b = appendText(b, name)
		b = appendText(b, value)
	}
	return string(b)
}

func appendText(b []byte, s string) []byte {
	if len(s) < 127 {
		return append(append(b, byte(len(s))), s...)
	}
	b = append(b, 127)
	n := len(s) - 127
	for ; n >= 128; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(append(b, byte(n)), s...)
}

// get is the head of a usual request.
var get = []string{":method: GET", ":scheme: https", ":authority: a", ":path: /"}

func with(lines []string, more ...string) []string {
	return append(append([]string(nil), lines...), more...)
}

func headers(stream uint32, f frameFlags, lines ...string) string {
	return frame(typeHeaders, f|flagEndHeaders, stream, block(lines...))
}

func data(stream uint32, f frameFlags, body string) string { return frame(typeData, f, stream, body) }

// request is a request without a body, and post is one whose body is to follow.
func request(stream uint32) string { return headers(stream, flagEndStream, get...) }
func post(stream uint32) string {
	return headers(stream, 0, ":method: POST", ":scheme: https", ":authority: a", ":path: /")
}

// hello is what a client sends first.
var hello = Preface + settings()

// started returns a server that has got hello and has sent its own settings.
func started(t testing.TB) *side {
	t.Helper()
	s := newSide(testConfig(Server))
	s.feed([]byte(hello + frame(typeSettings, flagAck, 0)))
	s.sent(t)
	s.events = nil
	return s
}

// startedClient returns a client that has got the server's settings, and has opened streams 1, 3, … up to n of them.
func startedClient(t testing.TB, n int) *side {
	t.Helper()
	s := newSide(testConfig(Client))
	s.feed([]byte(settings() + frame(typeSettings, flagAck, 0)))
	for range n {
		s.request(t, "GET", true)
	}
	s.sent(t)
	s.events = nil
	return s
}

func (s *side) request(t testing.TB, method string, end bool) (id uint32) {
	t.Helper()
	line := RequestLine{Method: []byte(method), Scheme: []byte("https"), Authority: []byte("a"), Path: []byte("/")}
	id, _, ok := s.c.Request(&line, nil, end)
	if !ok {
		t.Fatal("no stream")
	}
	return id
}
