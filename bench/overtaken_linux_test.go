package bench

import (
	"bufio"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// BenchmarkServerOvertaken compares two handlers that are called on the event loop. One returns at once. The other one
// sleeps, so the loop is taken over by another worker for each request. cpu-ns/op is the CPU time of a request, including
// that of the client. The difference is what it costs to take a loop over.
func BenchmarkServerOvertaken(b *testing.B) {
	b.Run("handler=plain", func(b *testing.B) { benchOvertaken(b, 0) })
	b.Run("handler=overtaken", func(b *testing.B) { benchOvertaken(b, 3*time.Millisecond) })
}

// overtakenConns is how many connections bring requests at the same time.
const overtakenConns = 64

func benchOvertaken(b *testing.B, sleep time.Duration) {
	ln, dial := listenTCP(b)
	s := &gallop.Server{Dispatch: gallop.DispatchInline, Handler: func(ctx *gallop.RequestCtx) {
		if sleep > 0 {
			time.Sleep(sleep)
		}
		ctx.SetBodyString("Hello, World!")
	}}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	defer func() {
		s.Close()
		if err := <-served; err != nil {
			b.Error(err)
		}
	}()

	before := s.Stats().Loop.Overtaken
	b.ResetTimer()
	used := cpuTime(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	var callers sync.WaitGroup
	for range min(overtakenConns, b.N) {
		c, err := dial()
		if err != nil {
			b.Fatal(err)
		}
		callers.Go(func() {
			defer c.Close()
			for left.Add(-1) >= 0 {
				if err := getOnce(c); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	b.ReportMetric(float64(cpuTime(b)-used)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(s.Stats().Loop.Overtaken-before)/float64(b.N), "overtaken/op")
}

// getOnce sends a request and reads the response.
func getOnce(c net.Conn) error {
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		return err
	}
	r := bufio.NewReaderSize(c, 512)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == 2 {
			_, err = r.Discard(len("Hello, World!"))
			return err
		}
	}
}

// cpuTime returns how much CPU time this process has used, in nanoseconds.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
