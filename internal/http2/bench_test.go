package http2

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	xhpack "golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// replay is a server in steady state that gets the same request again and again, each time on the next stream.
type replay struct {
	c       Conn
	m       Message
	fields  field.List
	request []byte // HEADERS, perhaps followed by DATA
	frames  []int  // where the frames of request begin
	id      uint32
	body    []byte
}

// A load generator's request, and a browser's.
var (
	loadLines    = []string{":method: GET", ":scheme: https", ":authority: a:1", ":path: /", "user-agent: h2load"}
	browserLines = with(get, "user-agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "accept: text/html,*/*;q=0.8",
		"accept-encoding: gzip, deflate", "accept-language: en-US,en;q=0.9", "cookie: session=0123456789abcdef0123", "cookie: theme=dark; size=large")
)

func newReplay(tb testing.TB, lines []string, body string) *replay {
	r := &replay{id: 1, body: []byte("Hello, World")}
	r.m.Head = new(message.Head)
	r.c.Init(testConfig(Server))
	field.Add(&r.fields, field.Server, "Server", "gallop")
	field.Add(&r.fields, field.Date, "Date", "Mon, 21 Oct 2013 20:13:21 GMT")
	field.Add(&r.fields, field.ContentType, "Content-Type", "text/plain; charset=utf-8")
	field.Add(&r.fields, field.ContentLength, "Content-Length", "12")
	r.feed(tb, []byte(hello+frame(typeSettings, flagAck, 0)+frame(typeWindowUpdate, 0, 0, number(1<<30))))
	var client Conn // its encoder stores fields, so the second request has only indexes
	client.Init(testConfig(Client))
	for range 2 {
		client.Sent(len(client.Out()))
		sendLines(&client, lines, body == "")
		if body != "" {
			client.WriteData(r.id, []byte(body), true, 0)
		}
		r.request = bytes.Clone(client.Out())
		r.frames = []int{0}
		if body != "" {
			r.frames = append(r.frames, len(r.request)-len(body)-headerLen)
		}
		r.serve(tb)
	}
	return r
}

// sendLines sends the head of a request.
func sendLines(c *Conn, lines []string, end bool) {
	var line RequestLine
	var fields field.List
	for _, l := range lines {
		i := strings.Index(l[1:], ":") + 1
		name, value := l[:i], l[i+2:]
		switch name {
		case ":method":
			line.Method = []byte(value)
		case ":scheme":
			line.Scheme = []byte(value)
		case ":authority":
			line.Authority = []byte(value)
		case ":path":
			line.Path = []byte(value)
		default:
			field.Add(&fields, field.Lookup(name), name, value)
		}
	}
	c.Request(&line, &fields, end)
}

func (r *replay) feed(tb testing.TB, p []byte) {
	for {
		ev, n := r.c.Next(p, &r.m, 1e9)
		p = p[n:]
		switch ev.Kind {
		case More:
			return
		case Head:
			if ev.End {
				r.respond(ev.Stream)
			}
		case Data:
			r.c.Consumed(ev.Stream, len(ev.Data))
			if ev.End {
				r.respond(ev.Stream)
			}
		case Failed, Rejected, Reset, Full:
			tb.Fatalf("event %d: %v", ev.Kind, ev.Err)
		}
	}
}

func (r *replay) respond(id uint32) {
	r.c.Respond(id, 200, &r.fields, false)
	r.c.WriteData(id, r.body, true, 1e9)
	r.c.Release(id)
}

// serve serves the request on the next stream.
func (r *replay) serve(tb testing.TB) {
	for _, at := range r.frames {
		binary.BigEndian.PutUint32(r.request[at+5:], r.id)
	}
	r.id += 2
	r.feed(tb, r.request)
	r.c.send = 1 << 30
	r.c.Sent(len(r.c.Out()))
}

// Nothing allocates in steady state.
func TestAllocs(t *testing.T) {
	for name, r := range map[string]*replay{
		"load generator": newReplay(t, loadLines, ""), "browser": newReplay(t, browserLines, ""), "upload": newReplay(t, loadLines, largeData),
	} {
		r.serve(t)
		if n := testing.AllocsPerRun(100, func() { r.serve(t) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	c := newCalls()
	if n := testing.AllocsPerRun(100, func() { c.call(t) }); n != 0 {
		t.Errorf("call: %v allocations", n)
	}
	r := newReplay(t, loadLines, "")
	control := []byte(frame(typePing, 0, 0, "12345678") + settings(3, 100, 4, 65535) + frame(typeWindowUpdate, 0, 0, number(1)) + frame(typePriority, 0, 9999, "abcde"))
	if n := testing.AllocsPerRun(100, func() {
		r.c.send = 0
		r.feed(t, control)
		r.c.Sent(len(r.c.Out()))
	}); n != 0 {
		t.Errorf("control frames: %v allocations", n)
	}
	split := []byte(frame(typeHeaders, flagEndStream, 1) + frame(typeContinuation, flagEndHeaders, 1, block(loadLines...)))
	if n := testing.AllocsPerRun(100, func() {
		binary.BigEndian.PutUint32(split[5:], r.id)
		binary.BigEndian.PutUint32(split[headerLen+5:], r.id)
		r.id += 2
		r.feed(t, split)
		r.c.Sent(len(r.c.Out()))
	}); n != 0 {
		t.Errorf("block in two frames: %v allocations", n)
	}
}

// calls is a client and a server in steady state.
type calls struct {
	client, server Conn
	cm, sm         Message
	line           RequestLine
	fields, answer field.List
}

func newCalls() *calls {
	c := &calls{line: RequestLine{Method: []byte("GET"), Scheme: []byte("https"), Authority: []byte("a:1"), Path: []byte("/")}}
	c.cm.Head, c.sm.Head = new(message.Head), new(message.Head)
	c.client.Init(testConfig(Client))
	c.server.Init(testConfig(Server))
	field.Add(&c.fields, field.UserAgent, "User-Agent", "gallop")
	field.Add(&c.answer, field.Server, "Server", "gallop")
	c.call(nil)
	c.call(nil)
	return c
}

// call makes a call and takes its response.
func (c *calls) call(tb testing.TB) {
	id, _, _ := c.client.Request(&c.line, &c.fields, true)
	for p := c.client.Out(); ; {
		ev, n := c.server.Next(p, &c.sm, 1e9)
		p = p[n:]
		if ev.Kind == Head {
			c.server.Respond(id, 200, &c.answer, true)
			c.server.Release(id)
		} else if ev.Kind == More {
			break
		}
	}
	c.client.Sent(len(c.client.Out()))
	got := false
	for p := c.server.Out(); ; {
		ev, n := c.client.Next(p, &c.cm, 1e9)
		p = p[n:]
		if ev.Kind == Head {
			got = c.cm.Head.Status == 200
			c.client.Release(id)
		} else if ev.Kind == More {
			break
		}
	}
	c.server.Sent(len(c.server.Out()))
	if !got && tb != nil {
		tb.Fatal("no response")
	}
}

func BenchmarkRequest(b *testing.B) {
	for name, lines := range map[string][]string{"load": loadLines, "browser": browserLines} {
		b.Run(name, func(b *testing.B) {
			r := newReplay(b, lines, "")
			b.ReportAllocs()
			for b.Loop() {
				r.serve(b)
			}
		})
	}
}

// BenchmarkRequestXNet reads the same requests with x/net's Framer, which does not respond to them.
func BenchmarkRequestXNet(b *testing.B) {
	for name, lines := range map[string][]string{"load": loadLines, "browser": browserLines} {
		b.Run(name, func(b *testing.B) {
			var client Conn
			client.Init(testConfig(Client))
			client.Sent(len(client.Out()))
			sendLines(&client, lines, true)
			in := bytes.NewReader(bytes.Clone(client.Out()))
			fr := http2.NewFramer(nil, in)
			fr.SetReuseFrames()
			fr.ReadMetaHeaders = xhpack.NewDecoder(4096, nil)
			if _, err := fr.ReadFrame(); err != nil {
				b.Fatal(err)
			}
			client.Sent(len(client.Out()))
			sendLines(&client, lines, true)
			again := bytes.Clone(client.Out())
			b.ReportAllocs()
			for b.Loop() {
				in.Reset(again)
				if _, err := fr.ReadFrame(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpload(b *testing.B) {
	r := newReplay(b, loadLines, largeData)
	b.SetBytes(int64(len(largeData)))
	b.ReportAllocs()
	for b.Loop() {
		r.serve(b)
	}
}

func BenchmarkCall(b *testing.B) {
	c := newCalls()
	b.ReportAllocs()
	for b.Loop() {
		c.call(b)
	}
}

// BenchmarkFrames measures frames that belong to no stream, and small DATA frames.
func BenchmarkFrames(b *testing.B) {
	for name, in := range map[string]string{
		"ping":          frame(typePing, 0, 0, "12345678"),
		"window update": frame(typeWindowUpdate, 0, 0, number(1)),
		"settings":      settings(3, 100, 4, 65535),
		"data":          data(1, 0, strings.Repeat("x", 100)),
	} {
		b.Run(name, func(b *testing.B) {
			r := newReplay(b, loadLines, "")
			r.feed(b, []byte(post(101)))
			r.id = 103
			frames := []byte(in)
			if in[3] == byte(typeData) {
				binary.BigEndian.PutUint32(frames[5:], 101)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.c.send, r.c.abuse.missing = 0, [buckets]int32{}
				r.feed(b, frames)
				r.c.Sent(len(r.c.Out()))
			}
		})
	}
}
