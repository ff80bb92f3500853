//go:build linux

package reliability

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/peers"
)

// listenerDescriptor is where the server's process finds the listening socket it was handed.
const listenerDescriptor = 3

// serverConfig is what the judge tells the server's process.
type serverConfig struct {
	Kind     string
	Timeouts bool
	NoFile   uint64 // RLIMIT_NOFILE; 0 leaves it as it is
	Pinned   bool   // it has a processor of its own
}

// serverStat is the server's own view of its memory, taken after a full collection.
type serverStat struct {
	Heap       uint64 // octets in live objects
	Stack      uint64 // octets in use by goroutine stacks
	Goroutines int
	Handled    uint64 // requests that a handler ended
	Logged     uint64 // lines the server wrote to its logger
	OnLoops    bool   // event loops have served requests
}

// dispatchStat is how event loops have called handlers since the server started; all 0 without loops.
type dispatchStat struct{ Inline, Pooled, Overtaken uint64 }

// since says how handlers were called after before.
func (d dispatchStat) since(before dispatchStat) string {
	inline, pooled, overtaken := d.Inline-before.Inline, d.Pooled-before.Pooled, d.Overtaken-before.Overtaken
	return fmt.Sprintf("%.2f %% on goroutines, %d overtaken", 100*float64(pooled)/float64(max(inline+pooled, 1)), overtaken)
}

// drainStat is what a shutdown came to.
type drainStat struct {
	serverStat
	AfterLast time.Duration // from the end of the last handler, or the call of Shutdown if that was later, to Shutdown's return
	Error     string
}

// newServer makes a server of the kind. All of them answer with [respond], but for the bare one, which refuses.
func newServer(config serverConfig, logger peers.Logger) (peers.Server, error) {
	if config.Kind == "bare" {
		return bareServer{}, nil
	}
	return peers.New(config.Kind, peers.Simple(respond), peers.Options{Logger: logger, Timeouts: config.Timeouts})
}

var (
	handled     atomic.Uint64
	lastHandled atomic.Int64 // Unix nanoseconds
	bigBody     = make([]byte, 1<<20)
)

// respond is the whole application: /ok/X answers X, /big answers 1 MiB, /sum answers the body's length and checksum,
// /panic panics.
func respond(r peers.Request) peers.Response {
	defer func() {
		handled.Add(1)
		lastHandled.Store(time.Now().UnixNano())
	}()
	if id, ok := bytes.CutPrefix(r.Path, []byte("/ok/")); ok {
		return peers.Response{Status: 200, Body: id}
	}
	switch string(r.Path) {
	case "/big":
		return peers.Response{Status: 200, Body: bigBody, Static: true}
	case "/sum":
		return peers.Response{Status: 200, Body: fmt.Appendf(nil, "%d %08x", len(r.Body), crc32.ChecksumIEEE(r.Body))}
	case "/panic":
		panic("a handler panics on purpose")
	}
	return peers.Response{Status: 404}
}

// countingLogger counts lines instead of printing them.
type countingLogger struct{ lines atomic.Uint64 }

func (l *countingLogger) Printf(format string, args ...any) {
	_ = fmt.Sprintf(format, args...) // its cost belongs to the server
	l.lines.Add(1)
}

// serverMain is the server's process: it serves the listener it was handed and obeys lines on its standard input until
// that ends.
func serverMain(raw []byte) error {
	var config serverConfig
	if err := json.Unmarshal(raw, &config); err != nil {
		return err
	}
	if config.NoFile != 0 {
		limit := syscall.Rlimit{Cur: config.NoFile, Max: config.NoFile}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			return err
		}
	}
	inherited := os.NewFile(listenerDescriptor, "listener")
	ln, err := net.FileListener(inherited)
	if err != nil {
		return err
	}
	inherited.Close()
	logger := new(countingLogger)
	s, err := newServer(config, logger)
	if err != nil {
		return err
	}
	go func() {
		if err := s.Serve(ln); err != nil {
			fmt.Fprintln(os.Stderr, "server: Serve:", err)
		}
	}()
	return child.Obey("ready", func(command string) any {
		switch command {
		case "shutdown":
			return drain(s, logger)
		case "trim":
			debug.FreeOSMemory()
		case "dispatch":
			stats, _ := peers.OnLoops(s)
			return dispatchStat{stats.Inline, stats.Pooled, stats.Overtaken}
		}
		return statNow(s, logger)
	})
}

func statNow(s peers.Server, logger *countingLogger) serverStat {
	runtime.GC()
	runtime.GC() // the second empties what the pools kept through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_, onLoops := peers.OnLoops(s)
	return serverStat{m.HeapAlloc, m.StackInuse, runtime.NumGoroutine(), handled.Load(), logger.lines.Load(), onLoops}
}

func drain(s peers.Server, logger *countingLogger) drainStat {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	called := time.Now()
	err := s.Shutdown(ctx)
	ended := time.Now()
	last := called
	if l := time.Unix(0, lastHandled.Load()); l.After(last) {
		last = l
	}
	d := drainStat{AfterLast: ended.Sub(last), serverStat: statNow(s, logger)}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}

// Knows tells whether there is a server of the kind: "bare", which refuses everything, or one of package peers.
func Knows(kind string) bool {
	_, err := newServer(serverConfig{Kind: kind}, nil)
	return err == nil
}
