package raw

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/script"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// reply returns a server that answers the nth request, counted from 0, with bytes. It closes the connection if they are empty.
func reply(t *testing.T, answer func(n int64) string) *engine.Options {
	var n atomic.Int64
	return listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			wire := answer(n.Add(1) - 1)
			if wire == "" || wire == "reset" {
				if wire == "reset" {
					c.(*net.TCPConn).SetLinger(0)
				}
				return
			}
			io.WriteString(c, wire)
			if strings.HasSuffix(wire, "cut") {
				return
			}
		}
	})
}

const fine = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// TestFaults has one faulty response in ten. It is reported as what it is, and nothing else is affected.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ name, wire, kind string }{
		{"closed", "", "closed"},
		{"reset", "reset", "reset"},
		{"cut in the head", "HTTP/1.1 200 OK\r\ncut", "closed"},
		{"cut in the body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", "closed"},
		{"cut in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ncut", "closed"},
		{"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", "protocol"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", "protocol"},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "protocol"},
		{"too many bytes", fine + "x", "protocol"},
	} {
		t.Run(test.name, func(t *testing.T) {
			onHTTP1(t, func(t *testing.T, tr transport) {
				o := reply(t, func(n int64) string {
					if n%10 == 9 {
						return test.wire
					}
					return fine
				})
				sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(100, 1)))
				s := sum.series[0]
				// A machine that is busy may make a connection seem idle. Then the request is repeated.
				if s.Done+s.Failed != 100 || s.Failed+s.Raced != 10 || sum.kinds()[test.kind] != s.Failed || s.Failed < 5 {
					t.Errorf("%d done, %d failed, %d raced, errors %v", s.Done, s.Failed, s.Raced, s.Errors)
				}
				if s.Errors[0].Example == "" || s.Errors[0].First.IsZero() {
					t.Errorf("%+v", s.Errors[0])
				}
			})
		})
	}
}

func TestRefused(t *testing.T) {
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, ok)
		o.Address = wiretest.FreeAddress(t)
		for _, l := range []script.Load{iterations(5, 2), {Executor: script.ConstantArrivalRate, Rate: 50, Duration: 100 * time.Millisecond}} {
			sum := tr.load(t, t.Context(), o, scenario1(get("/"), l))
			if s := sum.series[0]; s.Failed != 5 || sum.kinds()["refused"] != 5 || s.Response.Count() != 0 {
				t.Errorf("%+v", s)
			}
		}
		o.Hold = 1
		if _, err := tr.try(t.Context(), o, scenario1(get("/"), iterations(5, 2))); err == nil {
			t.Error("the run starts without the connections to hold")
		}
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				select {
				case <-r.Context().Done():
				case <-time.After(2 * time.Second):
				}
			}
			ok(w, r)
		})
		o.Conns = 2
		s := &steps{names: []string{"slow", "fast"}, requests: []*script.Request{{Path: "/slow", Timeout: 50 * time.Millisecond}, {Kind: 1, Path: "/"}}}
		var errs atomic.Int64
		s.done = func(_ int, r *script.Response) {
			if r.Err != nil {
				errs.Add(1)
			}
		}
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(6, 2)))
		if sum.series[0].Failed != 6 || sum.kinds()["timeout"] != 6 || sum.series[1].Done != 6 || errs.Load() != 6 {
			t.Errorf("%d failed, %d done, %v", sum.series[0].Failed, sum.series[1].Done, sum.kinds())
		}
		if sum.took < 150*time.Millisecond || sum.took > 5*time.Second {
			t.Errorf("the run took %v", sum.took)
		}
	})
}

func TestSlowBody(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, tr transport) {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(20 * time.Millisecond)
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			time.Sleep(40 * time.Millisecond)
			io.WriteString(w, "b")
		})
		p := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(5, 1))).series[0]
		// On a busy machine, the generator may notice late that a request was sent or that a response begins.
		if p.Phases.Waiting.Max() < 19*time.Millisecond || p.Phases.Receiving.Max() < 30*time.Millisecond || p.Service.Min() < 59*time.Millisecond || p.BodyIn != 10 {
			t.Errorf("waiting %v, receiving %v, service %v", p.Phases.Waiting.Max(), p.Phases.Receiving.Max(), p.Service.Min())
		}
	})
}

// TestIdleConnectionClosed has a server that closes connections which are idle for a short time. On a busy machine, it notices some of
// them too late, and responds to another request.
func TestIdleConnectionClosed(t *testing.T) {
	onHTTP1(t, func(t *testing.T, tr transport) {
		var ended atomic.Int64
		o := listen(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			for n := 0; ; n++ {
				if n > 0 {
					c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
				}
				if _, err := http.ReadRequest(r); err != nil {
					ended.Add(1)
					return
				}
				io.WriteString(c, fine)
			}
		})
		s := &steps{names: []string{"get"}, requests: []*script.Request{{Path: "/", Pause: 40 * time.Millisecond}}}
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(5, 1)))
		want := max(ended.Load()-1, 1) // the last one may end after the run
		if s := sum.series[0]; s.Done != 5 || s.Failed != 0 || sum.closed+s.Raced < want {
			t.Errorf("%d done, %d closed and %d raced of %d, %v", s.Done, sum.closed, s.Raced, want, s.Errors)
		}
	})
}

// TestRaced has a server that closes a connection instead of responding to its second request.
func TestRaced(t *testing.T) {
	onHTTP1(t, func(t *testing.T, tr transport) {
		o := listen(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			if _, err := http.ReadRequest(r); err == nil {
				io.WriteString(c, fine)
				http.ReadRequest(r)
			}
		})
		s := &steps{names: []string{"get"}, requests: []*script.Request{{Path: "/", Pause: 2 * leastIdle}}}
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(5, 1)))
		if s := sum.series[0]; s.Done != 5 || s.Raced != 4 || s.Sent != 5 || sum.opened != 5 {
			t.Errorf("%d done, %d raced on %d connections, %v", s.Done, s.Raced, sum.opened, s.Errors)
		}
	})
}

func TestIsRaced(t *testing.T) {
	reset := &failure{"reset", io.EOF}
	for _, test := range []struct {
		name string
		user user
		err  *failure
		want bool
	}{
		{"idle and closed", user{idle: leastIdle}, errClosed, true},
		{"idle and reset", user{idle: leastIdle}, reset, true},
		{"busy", user{idle: leastIdle - 1}, errClosed, false},
		{"heard", user{idle: leastIdle, heard: 1}, errClosed, false},
		{"repeated already", user{idle: leastIdle, retried: true}, errClosed, false},
		{"another error", user{idle: leastIdle}, errTimeout, false},
	} {
		if got := new(conn).isRaced(&test.user, test.err); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestPipelining has a server that collects requests and responds to them in order, with the number of each.
func TestPipelining(t *testing.T) {
	onHTTP1(t, func(t *testing.T, tr transport) {
		var most atomic.Int64
		var closes atomic.Bool
		o := listen(t, func(c net.Conn) {
			r := bufio.NewReader(c)
			for served := 0; ; {
				var paths []string
				for {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					paths = append(paths, req.URL.Path)
					if r.Buffered() == 0 {
						break
					}
				}
				most.Store(max(most.Load(), int64(len(paths))))
				var wire strings.Builder
				for _, path := range paths {
					if served++; closes.Load() && served == 25 {
						fmt.Fprintf(&wire, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
						io.WriteString(c, wire.String())
						return
					}
					fmt.Fprintf(&wire, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
				}
				io.WriteString(c, wire.String())
			}
		})
		o.Conns, o.Pipeline = 1, 8
		for _, closing := range []bool{false, true} {
			closes.Store(closing)
			next := 0
			s := &simple{make: func(n int, r *script.Request) {
				r.KeepBody = -1
				r.Wire = fmt.Appendf(r.Wire, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", n)
			}}
			s.done = func(r *script.Response) {
				if want := fmt.Sprint("/", next); string(r.Body) != want && !closing {
					t.Errorf("the response has %s, not %s", r.Body, want)
				}
				next++
			}
			sum := tr.load(t, t.Context(), o, scenario1(s, iterations(200, 8)))
			got := sum.series[0]
			if got.Done != 200 || most.Load() < 4 || most.Load() > 8 {
				t.Errorf("closing %v: %d done, %d together, %d raced, %v", closing, got.Done, most.Load(), got.Raced, got.Errors)
			}
			if closing && got.Raced == 0 || !closing && got.Raced > 0 {
				t.Errorf("closing %v: %d raced", closing, got.Raced)
			}
		}
	})
}

func TestTLSFailures(t *testing.T) {
	tr := transports[4]
	o := tr.serve(t, ok)
	o.TLS = &tls.Config{ServerName: "example.com"} // and an unknown authority
	if sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(3, 1))); sum.kinds()["tls"] != 3 {
		t.Errorf("unknown authority: %v", sum.series[0].Errors)
	}
	o.TLS = &tls.Config{InsecureSkipVerify: true}
	o.Address = transports[0].serve(t, ok).Address
	if sum := tr.load(t, t.Context(), o, scenario1(get("/"), iterations(3, 1))); sum.kinds()["tls"] != 3 {
		t.Errorf("server without TLS: %v", sum.series[0].Errors)
	}
}

// TestALPN lets the server choose.
func TestALPN(t *testing.T) {
	for _, tr := range transports[4:] {
		o := tr.serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
		o.Proto = engine.Auto
		s := get("/")
		s.requests[0].KeepBody = -1
		var proto string
		s.done = func(_ int, r *script.Response) { proto = string(r.Body) }
		sum := tr.load(t, t.Context(), o, scenario1(s, iterations(3, 1)))
		want := "HTTP/1.1"
		if tr.http2 {
			want = "HTTP/2.0"
		}
		if proto != want || sum.series[0].Done != 3 || !strings.HasPrefix(want, sum.series[0].Proto) {
			t.Errorf("%s: %s, %+v", tr.name, proto, sum.series[0])
		}
	}
}
