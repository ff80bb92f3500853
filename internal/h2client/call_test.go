package h2client

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/gallop-http/gallop/internal/field"
	"github.com/gallop-http/gallop/internal/message"
)

// echo responds with the request body and its trailers.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/hints" {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(103)
		w.WriteHeader(102)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	w.Write(body)
	for name, values := range r.Trailer {
		w.Header().Set(http.TrailerPrefix+name, values[0])
	}
}

// x/net's server gets every kind of request, and its responses arrive as they were sent.
func TestCalls(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 40_000) // more than each window
	var trailers field.List
	field.Add(&trailers, field.Unknown, []byte("x-sum"), []byte("7"))
	withTrailers := func(r *Request) *Request {
		r.Head = append(r.Head.(textHead), "trailer", "x-sum")
		r.Trailers = &trailers
		return r
	}
	streams := func(r *Request) *Request {
		r.Streams = true
		return r
	}
	cases := []struct {
		name string
		r    *Request
		want string
	}{
		{"no body", get("/"), "200 "},
		{"a body", post("/", "hello"), "200 hello"},
		{"a body beyond the windows", post("/", large), "200 " + large},
		{"trailers", withTrailers(post("/", "x")), "200 x x-sum=7"},
		{"trailers without a body", withTrailers(post("/", "")), "200  x-sum=7"},
		{"interim responses", get("/hints"), "103 102 200 "},
		{"a stream", streams(post("/", large)), "200 " + large},
		{"a stream with trailers", withTrailers(streams(post("/", "abc"))), "200 abc x-sum=7"},
		{"HEAD", &Request{Method: message.HeadMethod, Head: textHead{"HEAD", "/"}, Collects: true}, "200 "},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c := serve(t, testOptions(), echo)
			for range 3 {
				call := c.must(t, tc.r)
				if tc.r.Streams {
					for piece := range slicesOf(tc.r.Body, 10_000) {
						if n, err := call.Write(piece); n != len(piece) || err != nil {
							t.Fatal(n, err)
						}
					}
					if err := call.End(tc.r.Trailers); err != nil {
						t.Fatal(err)
					}
				}
				want(t, call.result(), tc.want)
			}
		})
	}
}

// slicesOf yields p in pieces of n bytes.
func slicesOf(p []byte, n int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(p) > 0 && yield(p[:min(n, len(p))]) {
			p = p[min(n, len(p)):]
		}
	}
}

// Many calls share a connection, and each gets its own response.
func TestCallsAtOnce(t *testing.T) {
	c := serve(t, testOptions(), echo)
	c.must(t, get("/")).result()
	if c.Room() != 50 {
		t.Errorf("room for %d calls", c.Room())
	}
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			for j := range 20 {
				body := strings.Repeat(fmt.Sprint(i, j, " "), 1+i*j)
				want(t, c.must(t, post("/", body)).result(), "200 "+body)
			}
		})
	}
	group.Wait()
}

// A response body that is not collected is read as it arrives. A slow reader holds up the server, and no other call.
func TestRead(t *testing.T) {
	c := serve(t, testOptions(), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			w.Header().Set("Trailer", "X-Sum")
			io.Copy(w, io.LimitReader(zeros{}, 300_000))
			w.Header().Set("X-Sum", "1")
		}
	})
	r := get("/large")
	r.Collects, r.WantsHead = false, true
	call := c.must(t, r)
	if p, err := call.Wait(time.Time{}); p != GotHead || err != nil || call.Head().Status != 200 {
		t.Fatal(p, err)
	}
	time.Sleep(20 * time.Millisecond)
	if c.mu.Lock(); len(call.body) > 64<<10 {
		t.Errorf("%d bytes wait for their reader", len(call.body))
	}
	c.mu.Unlock()
	want(t, c.must(t, get("/")).result(), "200 ")
	text, err := readAll(call)
	if len(text) != 300_000 || err != nil || !call.HasEnded() {
		t.Error(len(text), err)
	}
	if name, value := call.Trailers().At(0); string(name)+string(value) != "x-sum1" {
		t.Errorf("trailers %s %s", name, value)
	}
	if n, err := call.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
	call.Close(true)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// If the stream is reset after the head of a response that is not collected, the head counts, and reading the body fails.
func TestResetAfterHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := script(t, testOptions(), Hooks{})
		r := get("/")
		r.Collects, r.WantsHead = false, true
		call := c.must(t, r)
		p.wants("HEADERS 1 end")
		p.head(1, false, ":status", "200")
		p.must(p.fr.WriteData(1, false, []byte("hello")))
		p.must(p.fr.WriteRSTStream(1, http2.ErrCodeInternal))
		synctest.Wait()
		if progress, err := call.Wait(time.Time{}); progress != GotHead || err != nil {
			t.Error(progress, err)
		}
		text, err := readAll(call)
		if reset, ok := err.(*ResetError); text != "hello" || !ok || reset.Code != 2 {
			t.Errorf("%q, %v", text, err)
		}
		call.Close(true)
	})
}

// Calls that end early reset their stream only, and the window that their bytes took is given back.
func TestEarlyClose(t *testing.T) {
	c := serve(t, testOptions(), func(w http.ResponseWriter, r *http.Request) { io.Copy(w, zeros{}) })
	for range 100 {
		r := get("/")
		r.Collects, r.WantsHead = false, true
		call := c.must(t, r)
		call.Wait(time.Time{})
		call.Read(make([]byte, 1000))
		if !call.Close(true) {
			t.Fatal("the connection has ended")
		}
	}
}

// TestVerdicts has frames of a server, and what they mean to a call.
func TestVerdicts(t *testing.T) {
	cases := []struct {
		name string
		run  func(p *peer)
		want string
	}{
		{"refused", func(p *peer) { p.must(p.fr.WriteRSTStream(1, http2.ErrCodeRefusedStream)) }, "error: the server has reset the HTTP/2 stream: REFUSED_STREAM"},
		{"head and reset", func(p *peer) {
			p.head(1, false, ":status", "200")
			p.must(p.fr.WriteRSTStream(1, http2.ErrCodeInternal))
		}, "error: the server has reset the HTTP/2 stream: INTERNAL_ERROR"},
		{"reset after the response", func(p *peer) {
			p.head(1, true, ":status", "200")
			p.must(p.fr.WriteRSTStream(1, http2.ErrCodeNo))
		}, "200 "},
		{"not accepted", func(p *peer) { p.must(p.fr.WriteGoAway(0, http2.ErrCodeNo, nil)) }, "error: the server is closing the HTTP/2 connection"},
		{"accepted", func(p *peer) {
			p.must(p.fr.WriteGoAway(1, http2.ErrCodeNo, nil))
			p.head(1, true, ":status", "204")
		}, "204 "},
		{"closed", func(p *peer) { p.nc.Close() }, "error: EOF"},
		{"malformed", func(p *peer) { p.head(1, true, ":status", "99") }, "error: HTTP/2 stream reset: response without :status of three digits (RFC 9113 §8.3.2)"},
		{"frame of the wrong kind", func(p *peer) { p.must(p.fr.WriteData(3, true, nil)) }, "error: http2: frame on an idle stream (RFC 9113 §5.1)"},
		{"body that is too large", func(p *peer) {
			p.head(1, false, ":status", "200")
			p.must(p.fr.WriteData(1, false, make([]byte, 11)))
		}, "error: the response body is too large"},
		{"announced body that is too large", func(p *peer) { p.head(1, false, ":status", "200", "content-length", "11") }, "error: the response body is too large"},
		{"head that is too large", func(p *peer) { p.head(1, true, ":status", "200", "a", strings.Repeat("x", 9000)) }, "error: hpack: header list is too large (RFC 9113 §10.5.1)"},
		{"too many interim responses", func(p *peer) {
			for range 6 {
				p.head(1, false, ":status", "100")
			}
		}, "100 100 100 100 100 error: HTTP/2 stream reset: too many interim responses (RFC 9110 §15.2)"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := script(t, testOptions(), Hooks{})
				r := post("/", "body")
				r.Collects, r.MaxBody = true, 10
				call := c.must(t, r)
				p.wants("HEADERS 1", "DATA 1 4 end")
				tc.run(p)
				want(t, call.result(), tc.want)
			})
		})
	}
}

// A server has not acted on calls that it refuses, or that were not sent. It may have acted on all others.
func TestUnprocessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := script(t, testOptions(), Hooks{})
		one, two := c.must(t, get("/1")), c.must(t, get("/2"))
		p.wants("HEADERS 1 end", "HEADERS 3 end")
		p.must(p.fr.WriteGoAway(1, http2.ErrCodeNo, nil))
		check := func(call *Call, unprocessed bool) {
			t.Helper()
			var lost *LostError
			if _, err := call.Wait(time.Time{}); !errors.As(err, &lost) || lost.Unprocessed != unprocessed {
				t.Errorf("%#v", err)
			}
		}
		check(two, true)
		if _, err := c.Open(get("/3")); err != ErrNoRoom || c.Room() != 0 {
			t.Error(err, c.Room())
		}
		p.nc.Close()
		check(one, false)
		one.Close(true)
		if two.Close(true) {
			t.Error("the connection works")
		}
		var lost *LostError
		if _, err := c.Open(get("/4")); !errors.As(err, &lost) || !lost.Unprocessed {
			t.Error(err)
		}
	})
}

// A deadline, an interrupt and the limits of a request end a call on time, and cost its stream only.
func TestLimits(t *testing.T) {
	start := func(limit func(r *Request)) func(c *Conn) (*Call, error) {
		return func(c *Conn) (*Call, error) {
			r := get("/")
			limit(r)
			return c.Open(r)
		}
	}
	cases := []struct {
		name  string
		open  func(c *Conn) (*Call, error)
		after time.Duration
		err   error
	}{
		{"deadline", start(func(r *Request) { r.Deadline = time.Now().Add(300 * time.Millisecond) }), 300 * time.Millisecond, ErrDeadline},
		{"read limit", start(func(r *Request) { r.ReadLimit = 300 * time.Millisecond }), 300 * time.Millisecond, ErrDeadline},
		{"the earlier one", start(func(r *Request) {
			r.ReadLimit, r.Deadline = time.Second, time.Now().Add(300*time.Millisecond)
		}), 300 * time.Millisecond, ErrDeadline},
		{"write limit", start(func(r *Request) {
			r.Body, r.WriteLimit, r.ReadLimit = make([]byte, 100_000), 300*time.Millisecond, time.Millisecond
		}), 300 * time.Millisecond, ErrDeadline},
		{"interrupt", func(c *Conn) (*Call, error) {
			call, err := c.Open(get("/"))
			time.AfterFunc(300*time.Millisecond, call.Interrupt)
			return call, err
		}, 300 * time.Millisecond, ErrInterrupted},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, p := script(t, testOptions(), Hooks{})
				for range 2 { // the second one reuses what the first one has left
					began := time.Now()
					call, _ := tc.open(c)
					_, err := call.Wait(time.Time{})
					if took := time.Since(began); err != tc.err || took != tc.after {
						t.Errorf("%v after %v", err, took)
					}
					works := call.Close(true)
					for frame := p.next(); !strings.HasPrefix(frame, "RST_STREAM"); frame = p.next() {
						if frame == "" {
							t.Fatal("no reset")
						}
					}
					if !works {
						t.Error("the connection has ended")
					}
				}
			})
		})
	}
}

// data returns how many bytes of DATA the client sends until it says nothing for a second.
func (p *peer) data(stream uint32) (n int) {
	p.t.Helper()
	for {
		var id uint32
		var m int
		frame := p.next()
		if frame == "" {
			return n
		}
		if _, err := fmt.Sscanf(frame, "DATA %d %d", &id, &m); err != nil || id != stream {
			p.t.Fatalf("the client sends %q", frame)
		}
		n += m
	}
}

// Writes of a streamed body wait for the windows, and end with the call.
func TestWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := script(t, testOptions(), Hooks{})
		r := post("/", "")
		r.Streams = true
		call := c.must(t, r)
		result := make(chan error, 1)
		write := func() {
			_, err := call.Write(make([]byte, 100_000))
			result <- err
		}
		expect := func(n int) {
			t.Helper()
			if got := p.data(1); got != n {
				t.Errorf("%d bytes, want %d", got, n)
			}
		}
		p.wants("HEADERS 1")
		go write()
		expect(65535)
		p.must(p.fr.WriteWindowUpdate(0, 100_000))
		expect(0)
		p.must(p.fr.WriteWindowUpdate(1, 100_000))
		expect(34465)
		if err := <-result; err != nil {
			t.Error(err)
		}
		go write()
		expect(65535)
		call.StopWriting()
		if err := <-result; err != ErrStopped {
			t.Error(err)
		}
		if err := call.End(nil); err != ErrStopped {
			t.Error(err)
		}
		p.head(1, true, ":status", "200")
		want(t, call.result(), "200 ")
		p.wants("RST_STREAM 1 CANCEL")
	})
}

// A body that is held back is sent on demand.
func TestSendBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := script(t, testOptions(), Hooks{})
		r := post("/", "body")
		r.Holds = true
		call := c.must(t, r)
		p.wants("HEADERS 1", "")
		call.SendBody()
		p.wants("DATA 1 4 end")
		p.head(1, true, ":status", "200")
		want(t, call.result(), "200 ")
		p.wants("")
	})
}
