//go:build linux

package reliability

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// listenerDescriptor is where the server's process finds the listening socket it was handed.
const listenerDescriptor = 3

// serverConfig is what the judge tells the server's process.
type serverConfig struct {
	Kind     string
	Timeouts bool
	NoFile   uint64 // RLIMIT_NOFILE; 0 leaves it as it is
}

// serverStat is the server's own view of its memory, taken after a full collection.
type serverStat struct {
	Heap       uint64 // octets in live objects
	Stack      uint64 // octets in use by goroutine stacks
	Goroutines int
	Handled    uint64 // requests that a handler ended
	Logged     uint64 // lines the server wrote to its logger
}

// drainStat is what a shutdown came to.
type drainStat struct {
	serverStat
	AfterLast time.Duration // from the end of the last handler, or the call of Shutdown if that was later, to Shutdown's return
	Error     string
}

// An engine is one kind of server behind one listener.
type engine interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// engines makes each kind of server. All of them answer with [respond].
var engines = map[string]func(serverConfig, *countingLogger) engine{
	"gallop":   newGallop,
	"fasthttp": newFasthttp,
	"nethttp":  newNetHTTP,
	"bare":     newBare,
}

var (
	handled     atomic.Uint64
	lastHandled atomic.Int64 // Unix nanoseconds
	bigBody     = make([]byte, 1<<20)
)

// respond is the whole application: /ok/X answers X, /big answers 1 MiB, /sum answers the body's length and checksum,
// /panic panics.
func respond(path string, body []byte) (status int, answer []byte) {
	defer func() {
		handled.Add(1)
		lastHandled.Store(time.Now().UnixNano())
	}()
	switch {
	case strings.HasPrefix(path, "/ok/"):
		return 200, []byte(path[len("/ok/"):])
	case path == "/big":
		return 200, bigBody
	case path == "/sum":
		return 200, fmt.Appendf(nil, "%d %08x", len(body), crc32.ChecksumIEEE(body))
	case path == "/panic":
		panic("a handler panics on purpose")
	}
	return 404, nil
}

// countingLogger counts lines instead of printing them; it is a Printf logger and an io.Writer.
type countingLogger struct{ lines atomic.Uint64 }

func (l *countingLogger) Printf(format string, args ...any) {
	_ = fmt.Sprintf(format, args...) // its cost belongs to the server
	l.lines.Add(1)
}

func (l *countingLogger) Write(p []byte) (int, error) {
	l.lines.Add(1)
	return len(p), nil
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
	e := engines[config.Kind](config, logger)
	go func() {
		if err := e.Serve(ln); err != nil {
			fmt.Fprintln(os.Stderr, "server: Serve:", err)
		}
	}()
	return obey(e, logger)
}

// obey answers each command with one line of JSON.
func obey(e engine, logger *countingLogger) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode("ready"); err != nil {
		return err
	}
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		var err error
		switch commands.Text() {
		case "stat":
			err = out.Encode(statNow(logger))
		case "shutdown":
			err = out.Encode(drain(e, logger))
		}
		if err != nil {
			return err
		}
	}
	return commands.Err()
}

func statNow(logger *countingLogger) serverStat {
	runtime.GC()
	runtime.GC() // the second empties what the pools kept through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return serverStat{m.HeapAlloc, m.StackInuse, runtime.NumGoroutine(), handled.Load(), logger.lines.Load()}
}

func drain(e engine, logger *countingLogger) drainStat {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	called := time.Now()
	err := e.Shutdown(ctx)
	ended := time.Now()
	last := called
	if l := time.Unix(0, lastHandled.Load()); l.After(last) {
		last = l
	}
	d := drainStat{AfterLast: ended.Sub(last), serverStat: statNow(logger)}
	if err != nil {
		d.Error = err.Error()
	}
	return d
}

// Knows tells whether there is a server of the kind. Besides those that [Options] names there is "bare", which answers
// everything with 400.
func Knows(kind string) bool { return engines[kind] != nil }
