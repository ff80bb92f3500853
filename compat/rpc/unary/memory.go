//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// inMemory is the name of grpc-go's ServeHTTP without a server: goroutines call it with requests and responses in memory. No server on
// which ServeHTTP runs can take less.
const inMemory = "grpc in memory"

// measureInMemory has another process call ServeHTTP for some time. It returns the CPU time and the number of calls.
func measureInMemory(length time.Duration) (cpu time.Duration, calls int64, err error) {
	cmd := exec.Command("taskset", "-c", "0", os.Args[0], "-t", length.String(), "-serve", inMemory)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		_, err = fmt.Sscan(string(out), &cpu, &calls)
	}
	return cpu, calls, err
}

// callInMemory is the role of the process of measureInMemory. It prints what it has measured.
func callInMemory(length time.Duration) error {
	s := newGRPC()
	callFor(s, length/4)
	before := usedHere()
	calls := callFor(s, length)
	fmt.Println(int64(usedHere()-before), calls)
	return nil
}

// callFor has as many goroutines call as there are calls at a time with a server. It returns the number of calls.
func callFor(s *grpc.Server, length time.Duration) int64 {
	var calls atomic.Int64
	var group sync.WaitGroup
	until := time.Now().Add(length)
	for range connections * callsEach {
		group.Go(func() {
			for time.Now().Before(until) {
				call(s)
				calls.Add(1)
			}
		})
	}
	group.Wait()
	return calls.Load()
}

// call calls ServeHTTP as a server does.
func call(s *grpc.Server) {
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), http.LocalAddrContextKey, localAddr))
	defer cancel()
	r := &http.Request{
		Method: http.MethodPost, ProtoMajor: 2, URL: &url.URL{Path: healthpb.Health_Check_FullMethodName}, Host: "localhost", RemoteAddr: "127.0.0.1:1",
		Header: http.Header{"Content-Type": {"application/grpc"}, "User-Agent": {"grpc-go"}, "Te": {"trailers"}},
		Body:   &emptyMessage{},
	}
	s.ServeHTTP(discards{http.Header{}}, r.WithContext(ctx))
}

var localAddr = &net.TCPAddr{}

// emptyMessage is the body of a request with one message, which is empty.
type emptyMessage struct{ read bool }

// Read implements io.Reader.
func (b *emptyMessage) Read(p []byte) (int, error) {
	if b.read {
		return 0, io.EOF
	}
	b.read = true
	return copy(p, make([]byte, 5)), io.EOF
}

// Close implements io.Closer.
func (b *emptyMessage) Close() error { return nil }

// discards is a response of which nothing is kept but the header.
type discards struct{ header http.Header }

// Header implements http.ResponseWriter.
func (w discards) Header() http.Header { return w.header }

// Write implements http.ResponseWriter.
func (w discards) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader implements http.ResponseWriter.
func (w discards) WriteHeader(int) {}

// Flush implements http.Flusher.
func (w discards) Flush() {}

// usedHere returns the user and system time of this process.
func usedHere() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
