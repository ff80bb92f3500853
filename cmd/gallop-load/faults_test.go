package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// The faults of a faulty server.
const (
	faultyDelay  = 30 * time.Millisecond // of /delay
	faultyPause  = 10 * time.Millisecond // between the five parts of the body of /slow
	fine         = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
	begun        = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun"
	redirected   = "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"
	serverFailed = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
)

// faulty is a server whose paths have one fault each.
type faulty struct {
	net.Listener
	requests, faults atomic.Int64
}

func newFaulty(t *testing.T) *faulty {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{Listener: ln}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := f.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					req, err := http.ReadRequest(in)
					if err != nil || !f.respond(c, req.URL.Path) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		f.Close()
		all.Wait()
	})
	return f
}

// respond sends a response, and reports whether the connection stays open.
func (f *faulty) respond(c net.Conn, path string) bool {
	n := f.requests.Add(1)
	wire, stays := fine, true
	switch path {
	case "/delay":
		time.Sleep(faultyDelay)
	case "/errors":
		if n%100 == 0 {
			wire = serverFailed
		}
	case "/resets", "/closes":
		if n%10 == 0 {
			wire, stays = begun, false
		}
	case "/slow":
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n")
		for range 5 {
			io.WriteString(c, "xx")
			time.Sleep(faultyPause)
		}
		wire = "fine"
	case "/redirects":
		wire = redirected
	}
	if wire != fine && path != "/slow" {
		f.faults.Add(1)
	}
	io.WriteString(c, wire)
	if path == "/resets" && !stays {
		time.Sleep(faultyPause) // or the reset overtakes the response
		c.(*net.TCPConn).SetLinger(0)
	}
	return stays
}

// TestFaults has a server with one fault at a time. The result has what the server has done, no more and no less. On a busy machine, the
// generator may notice late that a request was sent or that a response begins, so the medians of phases count.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		path  string
		args  []string
		line  string // part of the summary, with single spaces
		wrong func(f *faulty, s *result.Series) bool
	}{
		{"/delay", []string{"-c", "4"}, "http_req_failed................: 0.00% ✓ 0 ✗ 200", func(_ *faulty, s *result.Series) bool {
			return s.Done != 200 || s.Response.Min() < faultyDelay || s.Phases.Waiting.Quantile(0.5) < faultyDelay*99/100 || s.Response.Quantile(0.5) > 4*faultyDelay
		}},
		{"/errors", nil, "http_req_failed................: 1.00% ✓ 2 ✗ 198", func(f *faulty, s *result.Series) bool {
			return s.Done != 200 || s.Status[500] != 2 || s.Status[200] != 198 || s.Unexpected != 2 || s.UnexpectedResponse.Count() != 2 || s.Response.Count() != 198
		}},
		{"/resets", nil, "reset 20 ×", func(f *faulty, s *result.Series) bool {
			return s.Done != 180 || s.Failed != f.faults.Load() || len(s.Errors) != 1 || s.Errors[0].Count != s.Failed || s.Response.Count() != 180
		}},
		{"/closes", nil, "closed 20 ×", func(f *faulty, s *result.Series) bool {
			return s.Done != 180 || s.Failed != f.faults.Load() || len(s.Errors) != 1 || s.Errors[0].Count != s.Failed || s.Response.Count() != 180
		}},
		{"/slow", []string{"-c", "4"}, "http_req_failed................: 0.00% ✓ 0 ✗ 200", func(_ *faulty, s *result.Series) bool {
			return s.Done != 200 || s.BodyIn != 200*14 || s.Response.Min() < 5*faultyPause || s.Phases.Receiving.Quantile(0.5) < 4*faultyPause || s.Phases.Waiting.Quantile(0.5) > 4*faultyPause
		}},
		{"/redirects", nil, "302", func(_ *faulty, s *result.Series) bool {
			return s.Status[302] != 200 || s.Failed != 0 || s.BodyIn != 0
		}},
		{"/redirects", []string{"--redirects", "3"}, "engine: client", func(f *faulty, s *result.Series) bool {
			return s.Status[200] != 200 || s.Failed != 0 || s.BodyIn != 200*4 || f.requests.Load() != 400
		}},
	} {
		for _, engine := range engines {
			if engine == "raw" && strings.Contains(strings.Join(test.args, " "), "--redirects") {
				continue
			}
			t.Run(strings.Join(append([]string{engine, test.path}, test.args...), " "), func(t *testing.T) {
				t.Parallel()
				f := newFaulty(t)
				_, summary, r := run(t, append([]string{"--engine", engine, "-n", "200", "http://" + f.Addr().String() + test.path}, test.args...)...)
				if s := r.Total(); s.Sent != 200 || s.Sent != s.Done+s.Failed || test.wrong(f, s) || !strings.Contains(strings.Join(strings.Fields(summary), " "), test.line) {
					t.Errorf("%d requests and %d faults, by the server's record\n%s", f.requests.Load(), f.faults.Load(), summary)
				}
			})
		}
	}
}
