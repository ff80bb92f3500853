package h2client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// hasReader reports whether a goroutine reads.
func hasReader(c *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reading
}

// An idle connection has neither a goroutine nor a timer nor a buffer, and works again later.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := false
		c, p := script(t, testOptions(), Hooks{Heard: func() bool { return heard }})
		exchange := func(id uint32) {
			t.Helper()
			call := c.must(t, get("/"))
			p.wants("HEADERS " + string('0'+rune(id)) + " end")
			p.head(id, true, ":status", "200")
			want(t, call.result(), "200 ")
		}
		exchange(1)
		time.Sleep(900 * time.Millisecond)
		exchange(3)
		if !hasReader(c) {
			t.Error("the connection is idle for a moment only, and nobody reads")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if hasReader(c) || c.times.ticks || c.times.timer != nil || cap(c.out) > 0 || c.free != nil {
			t.Errorf("reads: %v, ticks: %v, %d bytes", hasReader(c), c.times.ticks, cap(c.out))
		}
		exchange(5)
		p.must(p.fr.WritePing(false, [8]byte{}))
		p.wants("PING ack")
		time.Sleep(3 * time.Second)
		heard = true
		if _, err := c.Open(get("/")); err == nil || c.Room() != 0 {
			t.Error("a stale connection is used")
		}
	})
}

// The owner learns at once how many calls the server permits, and that it accepts no more.
func TestRoomChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		c, p := script(t, testOptions(), Hooks{RoomChanged: func() { told++ }}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 7})
		check := func(times, room int) {
			t.Helper()
			if synctest.Wait(); told != times || c.Room() != room {
				t.Errorf("told %d times, room for %d calls", told, c.Room())
			}
		}
		check(1, 7)
		p.must(p.fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 9}))
		p.wants("SETTINGS ack")
		check(2, 9)
		p.must(p.fr.WriteGoAway(0, http2.ErrCodeNo, nil))
		check(3, 0)
	})
}

// A server that is silent while calls are open is asked whether it is still there.
func TestPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		o.PingAfter, o.PingTimeout = 2500*time.Millisecond, 2*time.Second
		c, p := script(t, o, Hooks{})
		p.nextAfter(4*time.Second, "") // no call is open
		call := c.must(t, get("/"))
		p.wants("HEADERS 1 end", "", "")
		p.wants("PING")
		p.must(p.fr.WritePing(true, p.ping))
		p.wants("", "", "PING")
		began := time.Now()
		want(t, call.result(), "error: the server has not responded to an HTTP/2 PING")
		if took := time.Since(began); took > 2*time.Second {
			t.Error(took)
		}
		if c.Room() != 0 {
			t.Error("the connection has room")
		}
		if f := p.next(); f != "EOF" {
			t.Errorf("the connection is not closed: %q", f)
		}
	})
}

// nextAfter checks that the client says nothing for a time.
func (p *peer) nextAfter(d time.Duration, frame string) {
	p.t.Helper()
	time.Sleep(d)
	p.wants(frame)
}

// A call whose time is over, on a connection that was silent all the while, asks as well. A connection that was not silent is not asked.
func TestSuspicion(t *testing.T) {
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c, p := script(t, testOptions(), Hooks{})
			other, r := c.must(t, get("/")), get("/")
			r.Deadline = time.Now().Add(5 * time.Second)
			call := c.must(t, r)
			p.wants("HEADERS 1 end", "HEADERS 3 end")
			if !silent {
				time.Sleep(time.Millisecond)
				p.head(1, false, ":status", "103")
			}
			want(t, call.result(), "error: the time of the call is over")
			if !silent {
				p.wants("RST_STREAM 3 CANCEL", "")
				return
			}
			p.wants("PING", "RST_STREAM 3 CANCEL")
			began := time.Now()
			want(t, other.result(), "error: the server has not responded to an HTTP/2 PING")
			if took := time.Since(began); took != 15*time.Second {
				t.Error(took)
			}
		})
	}
}

// A server that reads nothing does not hold up the end of a call, and cannot make the client store more and more.
func TestDeafServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		o.WriteStall = 5 * time.Second
		c, p := script(t, o, Hooks{})
		p.must(p.fr.WriteWindowUpdate(0, 1<<30))
		p.must(p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}))
		synctest.Wait()
		r := post("/", strings.Repeat("x", 1<<20))
		r.Deadline = time.Now().Add(time.Second)
		call := c.must(t, r)
		want(t, call.result(), "error: the time of the call is over")
		if c.mu.Lock(); len(c.engine.Out()) > 200_000 || cap(c.out) > 200_000 {
			t.Error(len(c.engine.Out()), cap(c.out))
		}
		c.mu.Unlock()
		began := time.Now()
		call = c.must(t, get("/"))
		want(t, call.result(), "error: i/o timeout")
		if took := time.Since(began); took > 5*time.Second {
			t.Error(took)
		}
	})
}

// A broken connection fails its calls once, and closes.
func TestCloseWithCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := script(t, testOptions(), Hooks{})
		call := c.must(t, get("/"))
		p.wants("HEADERS 1 end")
		go func() {
			time.Sleep(time.Second)
			c.Close()
			c.Close()
		}()
		want(t, call.result(), "error: use of closed network connection")
		p.wants("EOF")
	})
}

// A server that reads slowly does not end the connection, as long as the next bytes are written in time.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := testOptions()
		o.WriteStall = 5 * time.Second
		c, p := script(t, o, Hooks{})
		p.must(p.fr.WriteWindowUpdate(0, 1<<30))
		p.must(p.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30}))
		synctest.Wait()
		call := c.must(t, post("/", strings.Repeat("x", 1<<20)))
		began := time.Now()
		for got := 0; got < 1<<20; {
			time.Sleep(time.Second)
			var n int
			frame := p.next()
			if fmt.Sscanf(frame, "DATA 1 %d", &n); strings.Contains(frame, "EOF") {
				t.Fatal(frame)
			}
			got += n
		}
		if took := time.Since(began); took < 30*time.Second {
			t.Error("the server was not slow:", took)
		}
		p.head(1, true, ":status", "204")
		want(t, call.result(), "204 ")
	})
}

// The errors of a server are counted by their types.
func TestCountError(t *testing.T) {
	cases := []struct {
		want string
		run  func(p *peer)
	}{
		{"stream_protocol_error_status", func(p *peer) { p.head(1, true, ":status", "99") }},
		{"conn_protocol_error_idle_stream", func(p *peer) { p.must(p.fr.WriteData(3, true, nil)) }},
		{"conn_close_lost_ping", func(p *peer) { time.Sleep(time.Minute) }},
		{"", func(p *peer) { p.must(p.fr.WriteRSTStream(1, http2.ErrCodeInternal)) }},
	}
	for _, tc := range cases {
		t.Run(tc.want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := testOptions()
				o.PingAfter, o.PingTimeout = 10*time.Second, 10*time.Second
				var counted []string
				c, p := script(t, o, Hooks{CountError: func(errType string) { counted = append(counted, errType) }})
				call := c.must(t, get("/"))
				p.wants("HEADERS 1 end")
				tc.run(p)
				call.result()
				if synctest.Wait(); strings.Join(counted, " ") != tc.want {
					t.Errorf("counted %q", counted)
				}
			})
		})
	}
}

// A hook may close the connection, also while the reading goroutine calls it, and also on a socket, whose Close waits until nothing
// reads.
func TestCloseInHook(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var c *Conn
	c = New(client, testOptions(), Hooks{RoomChanged: func() {
		if c.Room() == 0 {
			c.Close()
		}
	}})
	c.Start()
	fr := http2.NewFramer(server, server)
	if err := errors.Join(fr.WriteSettings(), fr.WriteGoAway(0, http2.ErrCodeNo, nil)); err != nil {
		t.Fatal(err)
	}
	server.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.Copy(io.Discard, server); os.IsTimeout(err) {
		t.Error("the client does not close the connection")
	}
}
