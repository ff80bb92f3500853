package http2

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// heap returns the bytes on the heap.
func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// An idle connection keeps little memory: after one small request, and after a peer has filled the decoder's table.
func TestIdleMemory(t *testing.T) {
	if n := reflect.TypeFor[Conn]().Size(); n > 512 {
		t.Errorf("a Conn has %d bytes, want at most 512", n)
	}
	m := Message{Head: new(message.Head)}
	var fields field.List
	field.Add(&fields, field.Server, "Server", "gallop")
	field.Add(&fields, field.Date, "Date", "Mon, 21 Oct 2013 20:13:21 GMT")
	field.Add(&fields, field.ContentType, "Content-Type", "text/plain; charset=utf-8")
	cfg := testConfig(Server)
	cfg.EncoderTableSize = 512
	small, full := clientBytes(loadLines), clientBytes(loadLines, fillTable()...)
	for _, tt := range []struct {
		name string
		in   []byte
		want int64
	}{{"one request", small, 850}, {"a full table", full, 850 + 8<<10}} {
		const n = 500
		conns := make([]*Conn, n)
		out := make([]byte, 0, 64<<10)
		before := heap()
		for i := range conns {
			c := new(Conn)
			conns[i] = c
			c.LendOut(out)
			c.Init(cfg)
			c.Sent(len(c.Out()))
			for p := tt.in; ; {
				ev, k := c.Next(p, &m, 1e9)
				if p = p[k:]; ev.Kind == Head {
					c.Respond(ev.Stream, 200, &fields, true)
					c.Release(ev.Stream)
				} else if ev.Kind == More {
					break
				} else if ev.Kind != SettingsChanged {
					t.Fatalf("event %d: %v", ev.Kind, ev.Err)
				}
			}
			c.Sent(len(c.Out()))
			out = c.LendOut(nil)
			c.Shrink()
		}
		got := (heap() - before) / n
		if got > tt.want {
			t.Errorf("%s: %d bytes for each connection, want at most %d", tt.name, got, tt.want)
		}
		t.Logf("%s: %d bytes for each connection", tt.name, got)
		runtime.KeepAlive(conns)
		runtime.KeepAlive(out)
	}
}

// clientBytes returns what a client sends: its preface, and a request with fields that its encoder stores, and raw frames.
func clientBytes(lines []string, raw ...string) []byte {
	var c Conn
	c.Init(testConfig(Client))
	sendLines(&c, lines, true)
	return append(bytes.Clone(c.Out()), strings.Join(raw, "")...)
}

// fillTable returns requests that fill a table of 4096 bytes with as many entries as possible.
func fillTable() (frames []string) {
	for i := range 128 {
		frames = append(frames, frame(typeHeaders, flagEndHeaders|flagEndStream, uint32(2*i+3), "\x82\x86\x84\x01\x01a\x40\x01"+string(rune('a'+i%26))+"\x00"))
	}
	return frames
}
