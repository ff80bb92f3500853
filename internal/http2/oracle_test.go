package http2

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// The tests of this file compare this package with x/net's http2, in both directions.

// Frames of x/net mean the same here.
func TestFramesOfXNet(t *testing.T) {
	var buf bytes.Buffer
	fr := http2.NewFramer(&buf, nil)
	fr.AllowIllegalWrites = true
	for _, tt := range []struct {
		write func() error
		want  frameHeader
		rest  string
	}{
		{func() error { return fr.WriteData(1, true, []byte("abc")) }, frameHeader{3, typeData, flagEndStream, 1}, "abc"},
		{func() error { return fr.WriteDataPadded(1<<31-1, false, []byte("abc"), make([]byte, 2)) }, frameHeader{6, typeData, flagPadded, 1<<31 - 1}, "\x02abc\x00\x00"},
		{func() error { return fr.WriteRSTStream(3, 8) }, frameHeader{4, typeRSTStream, 0, 3}, string(appendRSTStream(nil, 3, Cancel)[9:])},
		{func() error { return fr.WriteSettingsAck() }, frameHeader{0, typeSettings, flagAck, 0}, ""},
		{func() error { return fr.WriteSettings(http2.Setting{ID: 4, Val: 7}) }, frameHeader{6, typeSettings, 0, 0}, settings(4, 7)[9:]},
		{func() error { return fr.WritePing(true, [8]byte{1, 2, 3, 4, 5, 6, 7, 8}) }, frameHeader{8, typePing, flagAck, 0}, string(appendPing(nil, 0x0102030405060708, flagAck)[9:])},
		{func() error { return fr.WriteGoAway(5, 11, []byte("why")) }, frameHeader{11, typeGoAway, 0, 0}, string(appendGoAway(nil, 5, EnhanceYourCalm, "why")[9:])},
		{func() error { return fr.WriteWindowUpdate(5, 77) }, frameHeader{4, typeWindowUpdate, 0, 5}, string(appendWindowUpdate(nil, 5, 77)[9:])},
		{func() error { return fr.WritePriorityUpdate(5, "u=1, i") }, frameHeader{10, typePriorityUpdate, 0, 0}, string(appendPriorityUpdate(nil, 5, Priority{1, true})[9:])},
		{func() error { return fr.WriteContinuation(5, true, []byte("ab")) }, frameHeader{2, typeContinuation, flagEndHeaders, 5}, "ab"},
		{func() error { return fr.WriteRawFrame(0xee, 0xff, 9, make([]byte, 70_000)) }, frameHeader{70_000, 0xee, 0xff, 9}, strings.Repeat("\x00", 70_000)},
	} {
		buf.Reset()
		if err := tt.write(); err != nil {
			t.Fatal(err)
		}
		b := buf.Bytes()
		if got := parseFrameHeader(b); got != tt.want || string(b[headerLen:]) != tt.rest {
			t.Errorf("got %+v with %q, want %+v with %q", got, b[headerLen:], tt.want, tt.rest)
		}
		if again := appendFrameHeader(nil, int(tt.want.length), tt.want.typ, tt.want.flags, tt.want.stream); !bytes.Equal(again, b[:headerLen]) {
			t.Errorf("header %x, want %x", again, b[:headerLen])
		}
	}
}

// The fragment of HEADERS is the one that x/net finds.
func TestFragmentsOfXNet(t *testing.T) {
	for pad := range 3 {
		for _, dep := range []uint32{0, 7} {
			var buf bytes.Buffer
			fr := http2.NewFramer(&buf, nil)
			p := http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("abc"), PadLength: uint8(pad)}
			if p.Priority.StreamDep = dep; dep > 0 {
				p.Priority.Exclusive, p.Priority.Weight = true, 5
			}
			if err := fr.WriteHeaders(p); err != nil {
				t.Fatal(err)
			}
			in, depends, err := fragment(parseFrameHeader(buf.Bytes()), buf.Bytes()[headerLen:])
			if string(in) != "abc" || depends != dep || err != nil {
				t.Errorf("got %q, %d, %v", in, depends, err)
			}
		}
	}
}

// FuzzFrames gives the same bytes to a server and to x/net's Framer. If x/net refuses a frame, the server must have failed or reset
// a stream as well.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(settings()+request(1)+post(3)+data(3, flagEndStream, "abc")), uint16(0))
	f.Add([]byte(frame(typePing, 0, 0, "12345678")+frame(typeGoAway, 0, 0, number(0), number(1), "x")), uint16(0))
	f.Add([]byte(headers(1, flagEndStream, with(get, "a: b")...)+frame(typeWindowUpdate, 0, 1, number(5))), uint16(0))
	f.Add([]byte(headers(1, flagEndStream, ":method: GET", ":scheme: https", ":authority: a", ":path: /done")+frame(typeWindowUpdate, 0, 1, number(0))), uint16(0))
	for _, a := range attacks() {
		f.Add([]byte(a.first+a.each(0)+a.each(1)), uint16(0))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		whole, parts := attacked(t), attacked(t)
		whole.feed(bytes.Clone(in))
		at := int(cut) % (len(in) + 1)
		parts.feed(bytes.Clone(in[:at]))
		parts.feed(bytes.Clone(in[at:]))
		whole.checkBounds(t)
		if !slices.Equal(whole.events, parts.events) || !bytes.Equal(whole.c.Out(), parts.c.Out()) {
			t.Fatalf("cut at %d: %q, in one piece: %q", at, parts.events, whole.events)
		}
		sent := whole.sent(t)
		if !accepts(in, &whole.c) && verdicts(sent) == "" && len(whole.rest) == 0 && !whole.full && !whole.c.BlockOpen() {
			t.Fatalf("x/net refuses %.200x…, got %q", in, whole.events)
		}
	})
}

// FuzzClient gives any bytes of a server to a client with three requests, in one piece and cut.
func FuzzClient(f *testing.F) {
	ok := headers(1, 0, ":status: 200", "content-length: 3")
	f.Add([]byte(headers(1, 0, ":status: 103")+ok+data(1, flagEndStream, "abc")), uint16(20))
	f.Add([]byte(ok+data(1, 0, "abc")+headers(1, flagEndStream, "x: y")+frame(typeGoAway, 0, 0, number(1), number(0))), uint16(50))
	f.Add([]byte(settings(3, 1, 4, 5)+frame(typeRSTStream, 0, 3, number(7))+frame(typePing, flagAck, 0, "12345678")), uint16(5))
	f.Fuzz(func(t *testing.T, in []byte, cut uint16) {
		whole, parts := startedClient(t, 3), startedClient(t, 3)
		whole.feed(bytes.Clone(in))
		at := int(cut) % (len(in) + 1)
		parts.feed(bytes.Clone(in[:at]))
		parts.feed(bytes.Clone(in[at:]))
		whole.checkBounds(t)
		if !slices.Equal(whole.events, parts.events) || !bytes.Equal(whole.c.Out(), parts.c.Out()) {
			t.Fatalf("cut at %d: %q, in one piece: %q", at, parts.events, whole.events)
		}
	})
}

// accepts reports whether x/net's Framer finds nothing wrong with frames before they end. It does not know which streams have
// ended at c. Frames on those may be ignored (RFC 9113 §5.1).
func accepts(in []byte, c *Conn) bool {
	fr := http2.NewFramer(io.Discard, bytes.NewReader(in))
	fr.SetMaxReadFrameSize(16384)
	fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
	fr.MaxHeaderListSize = 1 << 20
	for {
		_, err := fr.ReadFrame()
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return true
		}
		if e, ok := err.(http2.StreamError); ok && !c.isIdle(e.StreamID) && c.streams.find(e.StreamID) == noSlot {
			continue
		}
		if err != nil {
			return false
		}
	}
}

// FuzzHeaders compares how a block of a request is judged and read with x/net. It also sends the fields that were read, and
// reads them again.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte(block(get...)))
	f.Add([]byte(block(with(get, "cookie: a=1", "cookie: b=2", "content-length: 5", "te: trailers")...)))
	f.Add([]byte(block(":method: GET", "a: b", ":path: /")))
	f.Add([]byte(block(with(get, "A: b")...)))
	f.Add([]byte("\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 16384 {
			return
		}
		s := started(t)
		s.feed([]byte(frame(typeHeaders, flagEndHeaders, 1, string(in))))
		accepted := len(s.heads) > 0 && !strings.HasSuffix(s.events[0], "excess")
		theirs, ok := metaHeaders(in)
		if accepted && !ok {
			t.Fatalf("accepted %q", s.events)
		}
		if accepted {
			compareFields(t, &s.heads[0], theirs)
			resend(t, s)
		}
	})
}

// metaHeaders returns the fields that x/net reads from a block, and whether it accepts them.
func metaHeaders(in []byte) (*http2.MetaHeadersFrame, bool) {
	fr := http2.NewFramer(io.Discard, strings.NewReader(frame(typeHeaders, flagEndHeaders, 1, string(in))))
	fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
	fr.MaxHeaderListSize = 1 << 20
	f, err := fr.ReadFrame()
	if err != nil {
		return nil, false
	}
	return f.(*http2.MetaHeadersFrame), true
}

func compareFields(t *testing.T, h *message.Head, theirs *http2.MetaHeadersFrame) {
	t.Helper()
	if got := string(h.Fields.Bytes(h.Method)); got != theirs.PseudoValue("method") {
		t.Fatalf("method %q, want %q", got, theirs.PseudoValue("method"))
	}
	if got := string(h.Fields.Bytes(h.Target)); got != theirs.PseudoValue("path") && h.MethodID != message.Connect {
		t.Fatalf("target %q, want %q", got, theirs.PseudoValue("path"))
	}
	var got, want []string
	for i := range h.Fields.Len() {
		if id := h.Fields.ID(i); id != field.Host && id != field.Cookie && id != field.ContentLength {
			name, value := h.Fields.At(i)
			got = append(got, string(name)+"="+string(value))
		}
	}
	var cookies []string
	for _, f := range theirs.RegularFields() {
		switch f.Name {
		case "cookie":
			if f.Value != "" {
				cookies = append(cookies, f.Value)
			}
		case "host", "content-length":
		default:
			want = append(want, f.Name+"="+f.Value)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("fields %q, want %q", got, want)
	}
	if got := string(h.Fields.PeekID(field.Cookie)); got != strings.Join(cookies, "; ") {
		t.Fatalf("cookie %q, want %q", got, cookies)
	}
}

// resend sends the request that a server has got, and checks that another server reads the same.
func resend(t *testing.T, s *side) {
	t.Helper()
	h := &s.heads[0]
	c, again := newSide(testConfig(Client)), newSide(testConfig(Server))
	line := RequestLine{Method: h.Fields.Bytes(h.Method), Scheme: []byte("https"), Authority: h.Fields.PeekID(field.Host), Path: h.Fields.Bytes(h.Target)}
	if h.MethodID == message.Connect {
		line.Scheme, line.Path = nil, nil
	}
	if len(line.Authority) == 0 {
		return
	}
	if _, _, ok := c.c.Request(&line, &h.Fields, false); !ok {
		t.Fatal("no stream")
	}
	again.feed(bytes.Clone(c.c.Out()))
	if len(again.heads) != 1 {
		t.Fatalf("got %q", again.events)
	}
	var want, got []string
	for i, l := range []*field.List{&h.Fields, &again.heads[0].Fields} {
		for k := range l.Len() {
			if id := l.ID(k); id != field.Host && id != field.HTTP2Settings {
				name, value := l.At(k)
				line := string(name) + "=" + string(value)
				if i == 0 {
					want = append(want, line)
				} else {
					got = append(got, line)
				}
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("sent again: %q, want %q", got, want)
	}
}

// Responses and trailers that this package sends are what x/net reads.
func TestResponsesForXNet(t *testing.T) {
	s := started(t)
	s.feed([]byte(request(1) + request(3)))
	var fields, trailers field.List
	field.Add(&fields, field.ContentType, "Content-Type", "text/plain")
	field.Add(&fields, field.Unknown, "X-Long", strings.Repeat("x", 20_000))
	field.Add(&fields, field.SetCookie, "Set-Cookie", "a=b")
	field.Add(&trailers, field.Unknown, "Grpc-Status", "0")
	for _, id := range []uint32{1, 3} {
		s.c.Respond(id, 299, &fields, false)
		s.write0(t, id, 5)
		s.c.WriteTrailers(id, &trailers)
	}
	fr := http2.NewFramer(io.Discard, bytes.NewReader(s.c.Out()))
	fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
	for range 2 {
		head := readFrame[*http2.MetaHeadersFrame](t, fr)
		if got := head.PseudoValue("status"); got != "299" || len(head.RegularFields()) != 3 || head.RegularFields()[2].Value != "a=b" {
			t.Errorf("got %v", head)
		}
		if body := readFrame[*http2.DataFrame](t, fr); len(body.Data()) != 5 || body.StreamEnded() {
			t.Errorf("got %v", body)
		}
		if tr := readFrame[*http2.MetaHeadersFrame](t, fr); !tr.StreamEnded() || tr.RegularFields()[0] != (xhpack.HeaderField{Name: "grpc-status", Value: "0"}) {
			t.Errorf("got %v", tr)
		}
	}
}

func readFrame[F http2.Frame](t *testing.T, fr *http2.Framer) F {
	t.Helper()
	f, err := fr.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	return f.(F)
}

// write0 sends n bytes without an end.
func (s *side) write0(t *testing.T, id uint32, n int) {
	t.Helper()
	if got, ok := s.c.WriteData(id, make([]byte, n), false, s.now); got != n || !ok {
		t.Fatalf("stream %d took %d of %d bytes", id, got, n)
	}
}

// x/net's encoder, with its table, is understood on both sides of a change of the table's size.
func TestBlocksOfXNet(t *testing.T) {
	s := started(t)
	var buf bytes.Buffer
	enc := xhpack.NewEncoder(&buf)
	for id := uint32(1); id < 40; id += 2 {
		buf.Reset()
		if id == 21 {
			enc.SetMaxDynamicTableSize(100)
		}
		for _, line := range with(get, "user-agent: me", "x-request: "+strings.Repeat("z", int(id))) {
			i := strings.Index(line[1:], ":") + 1
			_ = enc.WriteField(xhpack.HeaderField{Name: line[:i], Value: line[i+2:]})
		}
		s.feed([]byte(frame(typeHeaders, flagEndHeaders|flagEndStream, id, buf.String())))
		s.c.Respond(id, 204, nil, true)
		s.c.Release(id)
		if want := "head 1 GET https / [host=a; user-agent=me; x-request=" + strings.Repeat("z", int(id)) + "] end"; !strings.HasSuffix(s.events[len(s.events)-1], want[6:]) {
			t.Fatalf("got %q", s.events)
		}
	}
}
