package bench

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/memnet"
	"github.com/valyala/fasthttp/fasthttputil"
)

// The names and the numbers of callers are those of fasthttp's published figures. The number of callers is per
// processor, and each caller has a connection of its own. One operation is one call. The floor writes and reads the
// same numbers of bytes without HTTP.

func BenchmarkClientGetEndToEnd1TCP(b *testing.B)    { benchClients(b, listenTCP, 1) }
func BenchmarkClientGetEndToEnd10TCP(b *testing.B)   { benchClients(b, listenTCP, 10) }
func BenchmarkClientGetEndToEnd100TCP(b *testing.B)  { benchClients(b, listenTCP, 100) }
func BenchmarkClientGetEndToEnd1000TCP(b *testing.B) { benchClients(b, listenTCP, 1000) }

func BenchmarkClientGetEndToEnd1Inmemory(b *testing.B)    { benchClients(b, listenMemory, 1) }
func BenchmarkClientGetEndToEnd10Inmemory(b *testing.B)   { benchClients(b, listenMemory, 10) }
func BenchmarkClientGetEndToEnd100Inmemory(b *testing.B)  { benchClients(b, listenMemory, 100) }
func BenchmarkClientGetEndToEnd1000Inmemory(b *testing.B) { benchClients(b, listenMemory, 1000) }
func BenchmarkClientGetEndToEnd10KInmemory(b *testing.B)  { benchClients(b, listenMemory, 10_000) }

// These benchmarks use each project's own in-memory listener for its client and server, like the published figures.
// net/http has none and uses fasthttp's.

func BenchmarkClientGetEndToEnd1InmemoryOwnListener(b *testing.B)   { benchClientsOwn(b, 1) }
func BenchmarkClientGetEndToEnd10InmemoryOwnListener(b *testing.B)  { benchClientsOwn(b, 10) }
func BenchmarkClientGetEndToEnd100InmemoryOwnListener(b *testing.B) { benchClientsOwn(b, 100) }

// BenchmarkClientOverBareServer10TCP makes all clients talk to the server of the floor, which reads and writes fixed
// bytes. The difference to the floor is what a client adds.
func BenchmarkClientOverBareServer10TCP(b *testing.B) {
	eachClient(b, func(b *testing.B, p clientPeer) {
		p.serve = serveFloor
		benchCalls(b, p, listenTCP, 10)
	})
	b.Run("server=floor", func(b *testing.B) { benchCalls(b, floorPeer, listenTCP, 10) })
}

// runCalls makes b.N calls.
func runCalls(b *testing.B, c caller) {
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		call := c.newCall()
		for pb.Next() {
			if err := call(); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// network returns a listener and a function that connects to it.
type network func(b *testing.B) (net.Listener, func() (net.Conn, error))

func listenTCP(b *testing.B) (net.Listener, func() (net.Conn, error)) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address := ln.Addr().String()
	return ln, func() (net.Conn, error) { return net.Dial("tcp4", address) }
}

func listenMemory(*testing.B) (net.Listener, func() (net.Conn, error)) {
	ln := memnet.NewListener()
	return ln, ln.Dial
}

func listenFasthttpMemory(*testing.B) (net.Listener, func() (net.Conn, error)) {
	ln := fasthttputil.NewInmemoryListener()
	return ln, ln.Dial
}

func benchClients(b *testing.B, listen network, callers int) {
	eachClient(b, func(b *testing.B, p clientPeer) { benchCalls(b, p, listen, callers) })
	b.Run("server=floor", func(b *testing.B) { benchCalls(b, floorPeer, listen, callers) })
}

func benchClientsOwn(b *testing.B, callers int) {
	eachClient(b, func(b *testing.B, p clientPeer) { benchCalls(b, p, p.listen, callers) })
}

// benchCalls makes this many callers per processor call the server of their own project.
func benchCalls(b *testing.B, p clientPeer, listen network, callers int) {
	benchCallsOver(b, p, listen, callers, callers*runtime.GOMAXPROCS(0))
}

// benchCallsOver is like benchCalls with at most conns connections.
func benchCallsOver(b *testing.B, p clientPeer, listen network, callers, conns int) {
	ln, dial := listen(b)
	defer serveUntil(ln, p.serve)()
	c := p.newCaller(dial, conns)
	defer c.close()
	b.SetParallelism(callers)
	runCalls(b, c)
}

// serveUntil serves until the returned function is called.
func serveUntil(ln net.Listener, serve func(net.Listener) error) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(ln)
	}()
	return func() {
		_ = ln.Close()
		<-done
	}
}

// BenchmarkClient1000CallersOn100Conns makes callers wait for each other's connections. It also reports the 99th
// percentile of the calls. Over TCP, gallop's server runs on event loops in the same process as its clients. For
// comparison it also runs on goroutines, as it does on systems without event loops.
func BenchmarkClient1000CallersOn100Conns(b *testing.B) {
	const callers, conns = 1000, 100
	bench := func(b *testing.B, p clientPeer) {
		ln, dial := listenTCP(b)
		defer serveUntil(ln, p.serve)()
		c := p.newCaller(dial, conns)
		defer c.close()
		var all measure.Latencies
		var left atomic.Int64
		var group sync.WaitGroup
		left.Store(int64(b.N))
		b.ReportAllocs()
		b.ResetTimer()
		for range callers {
			group.Go(func() {
				call := c.newCall()
				for left.Add(-1) >= 0 {
					start := time.Now()
					if err := call(); err != nil {
						b.Error(err)
						return
					}
					all.Add(time.Since(start))
				}
			})
		}
		group.Wait()
		b.StopTimer()
		b.ReportMetric(float64(all.Quantile(0.5))/1e3, "p50-µs")
		b.ReportMetric(float64(all.Quantile(0.99))/1e3, "p99-µs")
	}
	eachClient(b, bench)
	b.Run("server=gallop-goroutines", func(b *testing.B) { bench(b, goroutinesPeer) })
	b.Run("server=floor", func(b *testing.B) { bench(b, floorPeer) })
}

// BenchmarkClientDoFastServer uses a connection that responds at once on the caller's goroutine, so only the client
// is measured.
func BenchmarkClientDoFastServer(b *testing.B) {
	eachClient(b, func(b *testing.B, p clientPeer) {
		c := p.newCaller(func() (net.Conn, error) { return newCannedConn(), nil }, 1000*runtime.GOMAXPROCS(0))
		defer c.close()
		runCalls(b, c)
	})
}

// cannedConn responds to each write with floorAnswer. A read waits for a write, because some clients always keep a
// read pending.
type cannedConn struct {
	loadConn
	written chan struct{}
	ended   chan struct{}
	once    sync.Once
	rest    []byte
}

var cannedAnswer = []byte(floorAnswer)

func newCannedConn() *cannedConn {
	return &cannedConn{written: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (c *cannedConn) Write(p []byte) (int, error) {
	c.written <- struct{}{}
	return len(p), nil
}

func (c *cannedConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		select {
		case <-c.written:
		case <-c.ended:
			return 0, io.EOF
		}
		c.rest = cannedAnswer
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *cannedConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return nil
}

// TestFloorAnswer shows that the floor returns the same body as the other servers.
func TestFloorAnswer(t *testing.T) {
	if !bytes.HasSuffix([]byte(floorAnswer), targetBytes) {
		t.Error("the floor answers something else")
	}
}
