package raw

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/script"
)

// after is a script with one request.
func after(a script.After) *steps {
	return &steps{names: []string{"after"}, requests: []*script.Request{{Method: "GET", Path: "/", After: a}}}
}

// TestAfter has servers that close connections after the response, or should have done so.
func TestAfter(t *testing.T) {
	const last = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
	for _, test := range []struct {
		name, wire string
		after      script.After
		stays      bool
		kind       string // of the errors; empty: none
	}{
		{"announced", last, script.Close, false, ""},
		{"not announced", fine, script.Close, false, ""},
		{"the end of the body", "HTTP/1.1 200 OK\r\n\r\nok", script.Close, false, ""},
		{"half-closed", last, script.Shut, false, ""},
		{"not closed", last, script.Close, true, "timeout"},
		{"not closed after a half-close", last, script.Shut, true, "timeout"},
		{"bytes after the response", last + "HTTP", script.Close, false, "protocol"},
		{"no response", "", script.Shut, false, "closed"},
		{"half a response", last[:len(last)-1], script.Close, false, "closed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onHTTP1(t, func(t *testing.T, tr transport) {
				o := listen(t, func(c net.Conn) {
					r := bufio.NewReader(c)
					if _, err := http.ReadRequest(r); err != nil {
						return
					}
					if test.after == script.Shut {
						if _, err := r.ReadByte(); err != io.EOF {
							t.Errorf("the request is followed by %v", err)
						}
					}
					io.WriteString(c, test.wire)
					if test.stays {
						time.Sleep(200 * time.Millisecond)
					}
				})
				s := after(test.after)
				if test.stays {
					s.requests[0].Timeout = 50 * time.Millisecond
				}
				sum := tr.load(t, t.Context(), o, scenario1(s, iterations(6, 2)))
				got := sum.series[0]
				if test.kind == "" && got.Done != 6 || test.kind != "" && (got.Done != 0 || sum.kinds()[test.kind] != 6) || sum.opened != 6 {
					t.Errorf("%d done on %d connections, %v", got.Done, sum.opened, got.Errors)
				}
			})
		})
	}
}

// TestShutAfterALargeRequest shows that all of a request is sent before the half-close.
func TestShutAfterALargeRequest(t *testing.T) {
	for _, tr := range []transport{transports[0], transports[1], transports[4]} {
		t.Run(tr.name, func(t *testing.T) {
			o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
				if n, err := io.Copy(io.Discard, r.Body); n != 3<<20 || err != nil {
					t.Errorf("%d bytes, %v", n, err)
				}
				w.Header().Set("Connection", "close")
				ok(w, r)
			})
			s := after(script.Shut)
			s.requests[0].Method, s.requests[0].Body = "PUT", make([]byte, 3<<20)
			if sum := tr.load(t, t.Context(), o, scenario1(s, iterations(4, 2))); sum.series[0].Done != 4 {
				t.Errorf("%+v", sum.series[0])
			}
		})
	}
}

func TestReset(t *testing.T) {
	onHTTP1(t, func(t *testing.T, tr transport) {
		var resets atomic.Int64
		o := listen(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			http.ReadRequest(r)
			if _, err := r.ReadByte(); errors.Is(err, syscall.ECONNRESET) {
				resets.Add(1)
			}
		})
		for _, conns := range []int{0, 1} {
			o.Conns = conns
			sum := tr.load(t, t.Context(), o, scenario1(after(script.Reset), iterations(10, 2)))
			for end := time.Now().Add(10 * time.Second); resets.Load() < 10 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if s := sum.series[0]; s.Resets != 10 || s.Done != 0 || resets.Swap(0) != 10 || sum.opened != 10 {
				t.Errorf("%d reset on %d connections, %d done, %v", s.Resets, sum.opened, s.Done, s.Errors)
			}
		}
	})
}

// TestAlone runs requests with connections of their own beside a scenario whose connections are limited.
func TestAlone(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		var conns atomic.Int64
		o := listenHTTP(t, tr, &conns)
		o.Conns = 2
		alone := get("/")
		alone.requests[0].Alone = true
		sum := tr.load(t, t.Context(), o, scenario1(get("/"), script.Load{VUs: 2, Duration: 300 * time.Millisecond, Grace: time.Minute}),
			engine.Scenario{Name: "alone", Script: alone, Load: script.Load{Executor: script.ConstantArrivalRate, Rate: 100, Duration: 200 * time.Millisecond, MaxVUs: 50, Grace: time.Minute}})
		if s := sum.series[1]; s.Done != 20 || sum.opened != 22 || s.Phases.Connect.Count() != 20 || sum.series[0].Failed > 0 || sum.closed > 0 {
			t.Errorf("%d done alone on %d connections, %d connects, %v %v", s.Done, sum.opened, s.Phases.Connect.Count(), s.Errors, sum.series[0].Errors)
		}
	})
}
