package http2peers_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop"
)

// saying returns what a server says during a call: an interim response, a response with a body in two parts, and trailers.
func saying() []byte {
	var out, enc bytes.Buffer
	fr, hp := http2.NewFramer(&out, nil), hpack.NewEncoder(&enc)
	head := func(end bool, lines ...string) {
		enc.Reset()
		for i := 0; i < len(lines); i += 2 {
			hp.WriteField(hpack.HeaderField{Name: lines[i], Value: lines[i+1]})
		}
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: enc.Bytes(), EndHeaders: true, EndStream: end})
	}
	fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 10})
	fr.WriteSettingsAck()
	fr.WriteWindowUpdate(0, 1<<20)
	fr.WritePing(false, [8]byte{1})
	head(false, ":status", "103", "link", "</a.css>")
	head(false, ":status", "200", "content-type", "text/plain", "x", "y")
	fr.WriteDataPadded(1, false, []byte("hello, "), make([]byte, 3))
	fr.WriteData(1, false, []byte("world"))
	head(true, "x-sum", "12")
	return out.Bytes()
}

// hear makes a call to a server that says p in parts of n bytes, and then closes the connection, or not.
func hear(t *testing.T, p []byte, n int, closes bool, stream bool) (text string) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		c.MaxIdemponentCallAttempts = 1
		go func() {
			for nc := range s.conns {
				go io.Copy(io.Discard, nc)
				go say(nc, p, n, closes)
			}
		}()
		defer close(s.conns)
		resp := &gallop.Response{StreamBody: stream}
		err := c.DoTimeout(request(c, "GET", "/", ""), resp, time.Minute)
		if err == nil {
			body := resp.Body()
			if err = resp.BodyErr(); err == nil {
				text = string(body) + " " + string(resp.Header.PeekTrailer("X-Sum"))
			}
		}
		resp.Reset()
		if err != nil {
			text = "error: " + err.Error()
		}
		c.CloseIdleConnections()
		time.Sleep(time.Minute)
		if synctest.Wait(); c.ConnsCount() != 0 || c.PendingRequests() != 0 {
			t.Errorf("%d connections and %d calls are left", c.ConnsCount(), c.PendingRequests())
		}
	})
	return text
}

func say(nc net.Conn, p []byte, n int, closes bool) {
	for len(p) > 0 {
		m := min(n, len(p))
		if _, err := nc.Write(p[:m]); err != nil {
			return
		}
		p = p[m:]
		time.Sleep(time.Millisecond)
	}
	if closes {
		nc.Close()
	}
}

// A response may arrive in parts of any size.
func TestParts(t *testing.T) {
	for n := 1; n < 40; n++ {
		for _, stream := range []bool{false, true} {
			if got := hear(t, saying(), n, false, stream); got != "hello, world 12" {
				t.Errorf("in parts of %d bytes: %q", n, got)
			}
		}
	}
}

// A connection that ends at any byte ends the call with an error, and so does one that says nothing more.
func TestCuts(t *testing.T) {
	p := saying()
	for n := range p {
		for _, closes := range []bool{false, true} {
			for _, stream := range []bool{false, true} {
				got := hear(t, p[:n], len(p), closes, stream)
				if !strings.HasPrefix(got, "error: ") || !closes && !strings.Contains(got, "timeout") {
					t.Errorf("after %d of %d bytes, closed %v: %q", n, len(p), closes, got)
				}
			}
		}
	}
}

// A server that lies about any byte gets no call to hang or to panic, and leaves nothing behind.
func TestLies(t *testing.T) {
	p := saying()
	for i := range p {
		for _, flip := range []byte{0x01, 0x80, 0xff} {
			lie := bytes.Clone(p)
			lie[i] ^= flip
			hear(t, lie, len(lie), i%2 == 0, i%3 == 0)
		}
	}
}
