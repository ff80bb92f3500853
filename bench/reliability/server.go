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

// listenerDescriptor is the descriptor of the listening socket in the server's process.
const listenerDescriptor = 3

// serverConfig is the configuration that the judge sends to the server's process.
type serverConfig struct {
	Kind     string
	Timeouts bool
	NoFile   uint64 // RLIMIT_NOFILE; 0 leaves it unchanged
	Pinned   bool   // the server has a processor of its own
}

// serverStat is the server's own view of its memory, after a full garbage collection.
type serverStat struct {
	Heap       uint64 // bytes in live objects
	Stack      uint64 // bytes in use by goroutine stacks
	Goroutines int
	Handled    uint64 // requests whose handler has returned
	Logged     uint64 // lines that the server logged
	OnLoops    bool   // event loops have served requests
}

// dispatchStat counts how event loops called handlers since the server started. Without loops all counts are 0.
type dispatchStat struct{ Inline, Pooled, Overtaken uint64 }

// since describes how handlers were called after the counts in before.
func (d dispatchStat) since(before dispatchStat) string {
	inline, pooled, overtaken := d.Inline-before.Inline, d.Pooled-before.Pooled, d.Overtaken-before.Overtaken
	return fmt.Sprintf("%.2f %% on goroutines, %d overtaken", 100*float64(pooled)/float64(max(inline+pooled, 1)), overtaken)
}

// drainStat is the result of a shutdown.
type drainStat struct {
	serverStat
	AfterLast time.Duration // from the end of the last handler, or the call of Shutdown if that was later, until Shutdown returned
	Error     string
}

// newServer creates a server of this kind. All of them use [respond], except the bare one, which refuses every
// request.
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

// respond is the whole application: /ok/X returns X, /big returns 1 MiB, /sum returns the length and checksum of the
// request body, and /panic panics.
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
		panic("this handler panics on purpose")
	}
	return peers.Response{Status: 404}
}

// countingLogger counts lines instead of printing them.
type countingLogger struct{ lines atomic.Uint64 }

func (l *countingLogger) Printf(format string, args ...any) {
	_ = fmt.Sprintf(format, args...) // the server pays for the formatting
	l.lines.Add(1)
}

// serverMain runs the server's process. It serves the listener that it was handed, and executes commands from its
// standard input until that is closed.
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
	runtime.GC() // the second collection frees what the pools kept during the first
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

// Knows reports whether there is a server of this kind: "bare", which refuses everything, or one of package peers.
func Knows(kind string) bool {
	_, err := newServer(serverConfig{Kind: kind}, nil)
	return err == nil
}
