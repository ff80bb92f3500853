package http2peers_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// A request that a server has not acted on is sent again, whatever its method.
func TestRefusedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		call := start(c, request(c, "POST", "/", "body"))
		s.accept()
		s.wants("HEADERS 1", `DATA 1 "body" end`)
		s.must(s.fr.WriteRSTStream(1, http2.ErrCodeRefusedStream))
		s.wants("HEADERS 3", `DATA 3 "body" end`)
		s.must(s.fr.WriteGoAway(1, http2.ErrCodeNo, nil))
		old := s.nc
		s.accept()
		s.wants("HEADERS 1", `DATA 1 "body" end`)
		s.respond(1, "hello")
		call.want(t, "hello")
		old.Close()
		if n := s.dials.Load(); n != 2 {
			t.Errorf("%d dials", n)
		}
	})
}

// Retries end after MaxIdemponentCallAttempts, and wait longer each time.
func TestRefusedAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		c.MaxIdemponentCallAttempts = 4
		began := time.Now()
		call := start(c, request(c, "POST", "/", "body"))
		s.accept()
		for id := uint32(1); id <= 7; id += 2 {
			s.wants(fmt.Sprintf("HEADERS %d", id), fmt.Sprintf("DATA %d \"body\" end", id))
			s.must(s.fr.WriteRSTStream(id, http2.ErrCodeRefusedStream))
		}
		call.fails(t, "REFUSED_STREAM")
		var reset *gallop.StreamError
		if !errors.As(call.err, &reset) || reset.Code != 7 || !reset.NotProcessed() || !gallop.SafeToRetry(request(c, "POST", "/", ""), call.err) {
			t.Errorf("%#v", call.err)
		}
		if took := time.Since(began); took != 60*time.Millisecond {
			t.Error(took)
		}
	})
}

// TestRetries has what can happen to a request, and whether it is sent again.
func TestRetries(t *testing.T) {
	reset := func(code http2.ErrCode) func(s *script) {
		return func(s *script) { s.must(s.fr.WriteRSTStream(3, code)) }
	}
	cut := func(s *script) { s.nc.Close() }
	cases := []struct {
		name, method string
		body         io.Reader // a stream
		ends         func(s *script)
		again        bool
		want         string // the error
	}{
		{"GET and the end of the connection", "GET", nil, cut, true, ""},
		{"POST and the end of the connection", "POST", nil, cut, false, "closed a reused connection before the first byte of the response: EOF"},
		{"GET and CANCEL", "GET", nil, reset(http2.ErrCodeCancel), false, "CANCEL"},
		{"POST and INTERNAL_ERROR", "POST", nil, reset(http2.ErrCodeInternal), false, "INTERNAL_ERROR"},
		{"GET and ENHANCE_YOUR_CALM", "GET", nil, reset(http2.ErrCodeEnhanceYourCalm), false, "ENHANCE_YOUR_CALM"},
		{"a stream that is refused", "POST", strings.NewReader("x"), reset(http2.ErrCodeRefusedStream), false, "REFUSED_STREAM"},
		{"the end after the head", "GET", nil, func(s *script) { s.head(3, false, ":status", "200"); cut(s) }, false, "reading the response body: unexpected EOF"},
		{"GOAWAY for another stream", "POST", nil, func(s *script) {
			s.must(s.fr.WriteGoAway(3, http2.ErrCodeNo, nil))
			cut(s)
		}, false, "closed a reused connection"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(t)
				first := start(c, request(c, "GET", "/", ""))
				s.accept()
				s.wants("HEADERS 1 end")
				s.respond(1, "hello")
				first.want(t, "hello")
				req := request(c, tc.method, "/", "")
				if tc.body != nil {
					req.SetBodyStream(tc.body, -1)
				}
				call := start(c, req)
				for !strings.HasSuffix(s.next(), " end") {
				}
				tc.ends(s)
				if !tc.again {
					call.fails(t, tc.want)
					if synctest.Wait(); s.dials.Load() != 1 {
						t.Error("the request is sent again")
					}
					return
				}
				s.accept()
				s.wants("HEADERS 1 end")
				s.respond(1, "again")
				call.want(t, "again")
			})
		})
	}
}

// Calls that fail together share the next connection as well.
func TestManyRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		first := start(c, request(c, "GET", "/", ""))
		s.accept()
		s.wants("HEADERS 1 end")
		s.respond(1, "")
		first.want(t, "")
		var calls []*result
		for range 20 {
			calls = append(calls, start(c, request(c, "GET", "/", "")))
		}
		for range calls {
			s.next()
		}
		s.nc.Close()
		s.accept()
		for i := range calls {
			s.next()
			s.respond(uint32(2*i+1), "again")
		}
		for _, call := range calls {
			call.want(t, "again")
		}
		if n := s.dials.Load(); n != 2 {
			t.Errorf("%d dials", n)
		}
	})
}

// An idle connection that the server has closed is not used, and no request is lost with it.
func TestClosedWhileIdle(t *testing.T) {
	for _, idle := range []time.Duration{time.Millisecond, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(t)
			for range 3 {
				call := start(c, request(c, "POST", "/", ""))
				s.accept()
				s.wants("HEADERS 1 end")
				s.respond(1, "hello")
				call.want(t, "hello")
				time.Sleep(idle)
				s.must(s.fr.WriteGoAway(1, http2.ErrCodeNo, nil))
				if idle < time.Second { // or else nobody notices, as on any connection that is not a socket
					s.nc.Close()
				}
				synctest.Wait()
			}
		})
	}
}

// executions is a server that counts how often it has executed each request, and that ends some of them in every way.
type executions struct {
	mu    sync.Mutex
	rand  *rand.Rand
	count map[string]int
}

// draw returns a number below n.
func (x *executions) draw(n int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rand.IntN(n)
}

// serve serves a connection until it ends.
func (x *executions) serve(nc net.Conn) {
	defer nc.Close()
	var enc bytes.Buffer
	hp := hpack.NewEncoder(&enc)
	fr := http2.NewFramer(nc, nc)
	fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(1 + x.draw(20))})
	paths := map[uint32]string{}
	last, final := uint32(0), uint32(1<<31-1) // the last stream that was executed, and that may be
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			return
		}
		id := f.Header().StreamID
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			paths[id] = f.PseudoValue("path")
		case *http2.DataFrame:
			if n := uint32(len(f.Data())); n > 0 {
				fr.WriteWindowUpdate(0, n)
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				fr.WriteSettingsAck()
			}
		case *http2.PingFrame:
			fr.WritePing(true, f.Data)
		}
		if paths[id] == "" || id > final || !f.Header().Flags.Has(http2.FlagDataEndStream) {
			continue
		}
		choice := x.draw(40)
		switch choice {
		case 0, 1, 2:
			fr.WriteRSTStream(id, http2.ErrCodeRefusedStream)
			continue
		case 3: // not executed, and neither is what follows
			fr.WriteGoAway(last, http2.ErrCodeNo, nil)
			return
		case 4:
			return
		}
		last = max(last, id)
		x.mu.Lock()
		x.count[paths[id]]++
		x.mu.Unlock()
		switch choice {
		case 5:
			return
		case 6:
			fr.WriteRSTStream(id, http2.ErrCodeInternal)
			continue
		case 7:
			final = last
			fr.WriteGoAway(last, http2.ErrCodeNo, nil)
		}
		enc.Reset()
		hp.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		if fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: enc.Bytes(), EndHeaders: true}) != nil {
			return
		}
		if choice == 8 {
			return
		}
		fr.WriteData(id, true, []byte(paths[id]))
	}
}

// No request with a body is executed twice, and no successful one is not executed, whatever a server does.
func TestExecutions(t *testing.T) {
	rounds := 5
	if wiretest.Long() {
		rounds = 500 // of 2000 requests each
	}
	var responses, failures, executed int
	defer func() {
		t.Logf("%d requests were executed; %d calls got a response, %d failed", executed, responses, failures)
	}()
	for seed := range uint64(rounds) {
		synctest.Test(t, func(t *testing.T) {
			x := &executions{rand: rand.New(rand.NewPCG(seed, 2)), count: map[string]int{}}
			c, s := scripted(t)
			go func() {
				for nc := range s.conns {
					go x.serve(nc)
				}
			}()
			defer close(s.conns)
			c.MaxConns, c.MaxConnWaitTimeout, c.MaxIdemponentCallAttempts = 4, -1, 20
			var group sync.WaitGroup
			good, failed := 0, 0
			for i := range 40 {
				group.Go(func() {
					for j := range 50 {
						path := fmt.Sprintf("/%d-%d", i, j)
						var resp gallop.Response
						err := c.Do(request(c, "POST", path, strings.Repeat("x", 1+i*j)), &resp)
						x.mu.Lock()
						n := x.count[path]
						switch {
						case n > 1:
							t.Errorf("seed %d: %s was executed %d times", seed, path, n)
						case err == nil && (n != 1 || string(resp.Body()) != path):
							t.Errorf("seed %d: %s has the response %q, executed %d times", seed, path, resp.Body(), n)
						case err == nil:
							good++
						default:
							failed++
						}
						x.mu.Unlock()
					}
				})
			}
			group.Wait()
			responses, failures, executed = responses+good, failures+failed, executed+len(x.count)
			if good < 100 || failed == 0 {
				t.Errorf("%d calls were successful, and %d failed", good, failed)
			}
			c.CloseIdleConnections()
			if synctest.Wait(); c.ConnsCount() != 0 {
				t.Errorf("seed %d: %d connections are open", seed, c.ConnsCount())
			}
		})
	}
}

// A server can want a request over HTTP/1, which it then gets, whatever its method. Without HTTP/1, the call fails.
func TestHTTP11Required(t *testing.T) {
	var over1, over2 atomic.Int32
	over1Only := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		over1.Add(1)
		fmt.Fprintf(w, "%s %s", r.Proto, body)
	})
	cases := []struct {
		name   string
		refuse func(fr *http2.Framer, id uint32)
		want   string // the error without HTTP/1
	}{
		{"RST_STREAM", func(fr *http2.Framer, id uint32) { fr.WriteRSTStream(id, http2.ErrCodeHTTP11Required) }, "HTTP_1_1_REQUIRED"},
		{"GOAWAY", func(fr *http2.Framer, id uint32) { fr.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) }, "HTTP_1_1_REQUIRED"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			over1.Store(0)
			over2.Store(0)
			s := httptest.NewUnstartedServer(over1Only)
			s.TLS = &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
			s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){"h2": func(_ *http.Server, nc *tls.Conn, _ http.Handler) {
				io.ReadFull(nc, make([]byte, len(http2.ClientPreface)))
				fr := http2.NewFramer(nc, nc)
				fr.WriteSettings()
				for {
					f, err := fr.ReadFrame()
					if err != nil {
						return
					}
					if _, ok := f.(*http2.HeadersFrame); ok {
						over2.Add(1)
						tc.refuse(fr, f.Header().StreamID)
					}
				}
			}}
			s.StartTLS()
			defer s.Close()
			c := secured(t, s.Listener.Addr().String())
			for range 3 {
				start(c, request(c, "POST", "/", "body")).want(t, "HTTP/1.1 body")
			}
			if over1.Load() != 3 || over2.Load() == 0 {
				t.Errorf("%d requests over HTTP/1, and %d over HTTP/2", over1.Load(), over2.Load())
			}
			only2 := secured(t, s.Listener.Addr().String())
			only2.Protocols = protocols(h2)
			start(only2, request(c, "POST", "/", "body")).fails(t, tc.want)
			stream := request(c, "POST", "/", "")
			stream.SetBodyStream(strings.NewReader("body"), -1)
			start(secured(t, s.Listener.Addr().String()), stream).fails(t, tc.want)
		})
	}
}

// A server that wants calm gets the request again after a pause.
func TestCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := scripted(t)
		call := start(c, request(c, "GET", "/", ""))
		s.accept()
		s.wants("HEADERS 1 end")
		began := time.Now()
		s.must(s.fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil))
		old := s.nc
		s.accept()
		if took := time.Since(began); took != time.Second {
			t.Errorf("the client tries again after %v", took)
		}
		s.wants("HEADERS 1 end")
		s.respond(1, "hello")
		call.want(t, "hello")
		old.Close()
	})
}

// A connection that does not serve a host may have a response of 421. The request is sent once more on another connection, if it
// was not the first one on its connection.
func TestMisdirected(t *testing.T) {
	for _, streams := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(t)
			c.StreamResponseBody = streams
			misdirect := func(id uint32) {
				s.head(id, false, ":status", "421")
				s.must(s.fr.WriteData(id, true, []byte("not here")))
			}
			first := start(c, request(c, "POST", "/", "body"))
			s.accept()
			s.wants("HEADERS 1", `DATA 1 "body" end`)
			misdirect(1)
			if first.want(t, "not here"); first.resp.StatusCode() != 421 {
				t.Error(first.resp.StatusCode())
			}
			second := start(c, request(c, "POST", "/", "body"))
			s.wants("HEADERS 3", `DATA 3 "body" end`)
			misdirect(3)
			s.accept()
			s.wants("HEADERS 1", `DATA 1 "body" end`)
			s.respond(1, "here")
			second.want(t, "here")

			stream := request(c, "POST", "/", "")
			stream.SetBodyStream(strings.NewReader("x"), 1)
			third := start(c, stream)
			s.wants("HEADERS 3", `DATA 3 "x"`, `DATA 3 "" end`)
			misdirect(3)
			third.want(t, "not here")

			fourth := start(c, request(c, "GET", "/", ""))
			s.wants("HEADERS 5 end")
			misdirect(5)
			s.accept()
			s.wants("HEADERS 1 end")
			misdirect(1)
			fourth.want(t, "not here")
		})
	}
}
