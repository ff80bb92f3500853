package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/gallop-http/gallop"
)

var noon = time.Date(2026, 3, 7, 12, 0, 0, 123_000_000, time.UTC)

func TestTextLines(t *testing.T) {
	var log strings.Builder
	for _, e := range []entry{
		{method: []byte("GET"), uri: []byte("/"), ip: "127.0.0.1", status: 200, bytes: 5, took: 312 * time.Microsecond},
		{method: []byte("OPTIONS"), uri: []byte("/a?b"), ip: "192.168.100.200", status: 405, bytes: 999 << 10, took: 12345678},
		{method: []byte("PROPPATCH"), uri: []byte("/x"), ip: "2001:db8::1", status: 500, bytes: -1, took: 90 * time.Second},
		{ip: "::1", status: 400, bytes: 11 << 20, took: 0},
	} {
		e.at = noon
		log.Write(textLine(false)(nil, &e))
	}
	const want = "" +
		"2026-03-07 12:00:00 200 GET           5 B    312µs  127.0.0.1       /\n" +
		"2026-03-07 12:00:00 405 OPTIONS 999.0 KiB   12.3ms  192.168.100.200 /a?b\n" +
		"2026-03-07 12:00:00 500 PROPPATCH         -    1m30s  2001:db8::1     /x\n" +
		"2026-03-07 12:00:00 400 -        11.0 MiB       0s  ::1             -\n"
	if log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
	}
}

// TestNothingBreaksALine puts every byte value into each part of a line.
func TestNothingBreaksALine(t *testing.T) {
	for c := range 256 {
		b := []byte{'a', byte(c), 'b'}
		e := entry{at: noon, method: b, host: b, uri: b, agent: b, referer: b, addr: string(b), ip: "::1", status: 200}
		text := textLine(false)(nil, &e)
		for _, got := range text[:len(text)-1] {
			if got < ' ' || got >= 0x7f && got < 0xc2 && got != 0xb5 {
				t.Errorf("%#x: %q", c, text)
			}
		}
		line := appendJSONLine(nil, &e)
		var o map[string]any
		if err := json.Unmarshal(line, &o); err != nil || bytes.Count(line, []byte("\n")) != 1 || !utf8.Valid(line) {
			t.Errorf("%#x: %v: %q", c, err, line)
		}
		want := "a" + string(rune(c)) + "b"
		if c >= 0x80 {
			want = "a\ufffdb"
		}
		if o["uri"] != want || o["user_agent"] != want {
			t.Errorf("%#x: %q", c, o["uri"])
		}
	}
}

// countingOut counts writes and lines.
type countingOut struct {
	mu            sync.Mutex
	writes, lines int
}

func (o *countingOut) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes++
	o.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

func (o *countingOut) counts() (writes, lines int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes, o.lines
}

func TestLinesAreGatheredAndFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out countingOut
		l := newAccessLog(&Config{Stdout: &out, Log: "text", Getenv: func(string) string { return "" }})
		var ctx gallop.RequestCtx
		ctx.Init(nil, nil, nil)
		for range 10 {
			l.write(&ctx, time.Now())
		}
		if writes, _ := out.counts(); writes != 0 {
			t.Errorf("%d writes for 10 lines", writes)
		}
		time.Sleep(logDelay)
		synctest.Wait()
		if writes, lines := out.counts(); writes != 1 || lines != 10 {
			t.Errorf("%d writes, %d lines", writes, lines)
		}
		for range 1000 {
			l.write(&ctx, time.Now())
		}
		if writes, _ := out.counts(); writes < 2 {
			t.Error("a full buffer waits")
		}
		l.close()
		l.write(&ctx, time.Now())
		if _, lines := out.counts(); lines != 1011 {
			t.Errorf("%d lines after close", lines)
		}
		time.Sleep(logDelay)
	})
}

// fullOut refuses writes while it is full.
type fullOut struct{ full bool }

func (o *fullOut) Write(p []byte) (int, error) {
	if o.full {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestLostLinesAreSaid(t *testing.T) {
	var out fullOut
	var said strings.Builder
	l := newAccessLog(&Config{Stdout: &out, Stderr: &said, Log: "json"})
	l.close() // lines are written at once
	var ctx gallop.RequestCtx
	ctx.Init(nil, nil, nil)
	for _, full := range []bool{false, true, true, false, true} {
		out.full = full
		l.write(&ctx, time.Now())
	}
	const want = "gallop: lines of the access log are lost: no space left\n"
	if said.String() != want+want {
		t.Errorf("%q", said.String())
	}
}

func TestBodySizes(t *testing.T) {
	for status, want := range map[int]int64{200: 5, 204: 0, 205: 0, 304: 0, 404: 5} {
		var ctx gallop.RequestCtx
		ctx.Init(nil, nil, nil)
		ctx.SetStatusCode(status)
		ctx.SetBodyString("xbody") // not sent if the status allows no content
		if got := bodySize(&ctx); got != want {
			t.Errorf("%d: %d bytes", status, got)
		}
	}
}

func TestPanel(t *testing.T) {
	s := &site{Config: &Config{Dir: "/srv/www", Addr: ":8080", Log: "text", Version: "v1.2.3", Echo: true, MaxBody: 4 << 20}}
	s.server = s.newServer(nil)
	served := map[bool]string{true: "event loops", false: "a goroutine per connection"}[runtime.GOOS == "linux"] // see gallop.EngineAuto
	everywhere, here := &net.TCPAddr{IP: net.IPv6unspecified, Port: 8080}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	plain := s.panel([]string{"http://localhost:8080/", "http://192.0.2.7:8080/"}, everywhere, false)
	for _, want := range []string{
		"gallop v1.2.3 · go1.", "Open       http://localhost:8080/\n", "Network    http://192.0.2.7:8080/\n", "Serving    /srv/www\n",
		"HTTP/1.1, " + served, "headers 64.0 KiB within 10s · body 4.0 MiB · idle 1m15s · 262144 connections",
		"text on standard output", "hidden; --hidden shows them", "/_gallop/echo",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("no %q in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "\x1b") {
		t.Error("there are colours")
	}
	if !strings.HasSuffix(strings.SplitN(plain, "Open ", 2)[0], "\n\n  Every machine on your network can reach this server.\n"+
		"  To keep it to this machine, use --addr localhost:8080.\n\n  ") {
		t.Errorf("the panel does not begin with who can reach the server:\n%s", plain)
	}
	if local := s.panel(nil, here, false); !strings.Contains(local, "\n\n  Only this machine can reach this server.\n\n") {
		t.Errorf("the panel does not say that it is private:\n%s", local)
	}
	if !strings.Contains(s.panel(nil, here, true), "\x1b[1mgallop\x1b[0m") {
		t.Error("there are no colours")
	}
}

func TestURLs(t *testing.T) {
	for _, tc := range []struct{ flag, addr, want string }{
		{"127.0.0.1:0", "127.0.0.1:3000", "http://127.0.0.1:3000/"},
		{"localhost:3000", "127.0.0.1:3000", "http://localhost:3000/"},
		{"[::1]:80", "[::1]:80", "http://[::1]:80/"},
		{":8080", "[::]:8080", "http://localhost:8080/"},
		{"0.0.0.0:8080", "0.0.0.0:8080", "http://localhost:8080/"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", tc.addr)
		if err != nil {
			t.Fatal(err)
		}
		s := &site{Config: &Config{Addr: tc.flag}}
		if got := s.urls(addr); got[0] != tc.want {
			t.Errorf("%s: %q", tc.flag, got)
		}
	}
}
