package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// Shutdown ends a hundred thousand idle connections (fewer in the short form) within a second of virtual time, although
// no client closes its end. Responses in flight arrive completely, and requests that are on their way are served.
func TestShutdownEndsManyInMemory(t *testing.T) {
	t.Parallel()
	n := 20_000
	if servertest.RaceEnabled {
		n = 5_000
	} else if wiretest.Long() {
		n = 100_000
	}
	large := bytes.Repeat([]byte("0123456789"), 10_000)
	slow := make(chan struct{})
	s := &gallop.Server{Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			<-slow
			ctx.SetBody(large)
		}
	}}
	synctest.Test(t, func(t *testing.T) {
		slow = make(chan struct{})
		ln := servertest.ListenOnLoop(s)
		servertest.SetLoops(s, 2)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		dial := func(request string) *client {
			c, server := wiretest.Pipe()
			if ln.Connect(server) == nil {
				t.Fatal("the listener is closed")
			}
			if request != "" {
				_, _ = io.WriteString(c, request)
			}
			return &client{c, bufio.NewReaderSize(c, 16)}
		}
		var idle, fresh, busy []*client
		for i := range n {
			switch {
			case i%1000 == 0:
				busy = append(busy, dial(wiretest.Get("/slow")))
			case i%2 == 0:
				idle = append(idle, dial(wiretest.Get("/")))
			default:
				fresh = append(fresh, dial(""))
			}
		}
		for _, c := range idle {
			wantResponse(t, c, nil)
		}
		synctest.Wait()
		began := make(chan struct{})
		s.RegisterOnShutdown(func() { close(began) })
		ended := make(chan error, 1)
		start := time.Now()
		go func() { ended <- s.Shutdown() }()
		<-began
		var late []*client
		for _, step := range []struct {
			at time.Duration
			on []*client
		}{{2 * time.Millisecond, idle}, {300 * time.Millisecond, fresh}} {
			time.Sleep(step.at)
			for i := 0; i < len(step.on); i += 500 {
				_, _ = io.WriteString(step.on[i], wiretest.Get("/"))
				late = append(late, step.on[i])
			}
		}
		for _, c := range late {
			wantResponse(t, c, nil)
		}
		close(slow)
		if err := <-ended; err != nil || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		for _, c := range busy {
			wantResponse(t, c, large)
		}
		for _, all := range [][]*client{idle, fresh, busy} {
			for _, c := range all {
				if b, err := c.in.ReadByte(); err != io.EOF {
					t.Fatalf("%q, %v, want the end of the connection", b, err)
				}
			}
		}
		k := servertest.Kernel(s)
		if open, misuse := k.Open(), k.Misuse(); open != 0 || misuse != nil {
			t.Errorf("%d connections are open, %q", open, misuse)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// wantResponse reads a response and compares its body.
func wantResponse(t *testing.T, c *client, body []byte) {
	t.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r.Body); r.StatusCode != 200 || !bytes.Equal(got, body) || err != nil {
		t.Fatalf("%d with %d bytes, %v, want 200 with %d", r.StatusCode, len(got), err, len(body))
	}
}

// Shutdown ends many idle connections within a second, although no client closes its end. The clients are two other
// processes. One has had a response on each of its connections, the other has sent nothing.
func TestShutdownEndsManySockets(t *testing.T) {
	if order := os.Getenv(childVariable); order != "" {
		connectMany(t, order)
		return
	}
	if !wiretest.Beside(t) {
		return
	}
	servertest.OnSockets(t, func(t *testing.T, over gallop.EngineType) {
		each := manySockets(t)
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		slow, large := make(chan struct{}), bytes.Repeat([]byte("0123456789"), 100_000)
		s := &gallop.Server{Engine: over, Logger: servertest.Quiet, Handler: func(ctx *gallop.RequestCtx) {
			if string(ctx.Path()) == "/slow" {
				<-slow
				ctx.SetBody(large)
			}
		}}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		var busy []*client
		for range 10 {
			c, err := net.Dial("tcp4", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, wiretest.Get("/slow"))
			busy = append(busy, &client{c, bufio.NewReader(c)})
		}
		wiretest.Eventually(t, func() bool { return s.Stats().Active == uint64(len(busy)) })
		before := descriptors(t)
		for _, request := range []string{wiretest.Get("/"), ""} {
			defer startMany(t, ln.Addr().String(), each, request)()
		}
		all := int32(2*each + len(busy))
		wiretest.Eventually(t, func() bool { return s.GetOpenConnectionsCount() == all })
		start := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown() }()
		for s.GetOpenConnectionsCount() > int32(len(busy)) {
			if time.Since(start) > time.Minute {
				t.Fatalf("%d connections are open after a minute", s.GetOpenConnectionsCount())
			}
			time.Sleep(time.Millisecond)
		}
		took := time.Since(start)
		t.Logf("%d idle connections ended after %v", 2*each, took)
		limit := time.Second
		if !wiretest.Long() { // other tests may run at the same time
			limit = 5 * time.Second
		}
		if took > limit && !servertest.RaceEnabled {
			t.Errorf("that took longer than %v", limit)
		}
		close(slow)
		for _, c := range busy {
			wantResponse(t, c, large)
		}
		for _, err := range []error{<-ended, <-served} {
			if err != nil {
				t.Error(err)
			}
		}
		// The pipes to the two processes are still open, and the listener is closed.
		wiretest.Eventually(t, func() bool { return descriptors(t) <= before+3 })
	})
}

// manySockets returns how many connections each of the two client processes makes.
func manySockets(t *testing.T) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	each := 1000
	if wiretest.Long() {
		each = 7500
	}
	return max(min(each, (int(limit.Cur)-1000)/2), 10) // 1000 for everything else
}

// descriptors returns the number of descriptors of this process.
func descriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// startMany starts a process that makes n connections, sends the request on each unless it is empty, and ignores
// everything after the response. The returned function ends the process.
func startMany(t *testing.T, address string, n int, request string) (end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestShutdownEndsManySockets$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", childVariable, address, n, request))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "connected\n" {
		end()
		t.Fatalf("a client process says %q, %v", line, err)
	}
	return end
}

// connectMany is the client process.
func connectMany(t *testing.T, order string) {
	parts := strings.SplitN(order, " ", 3)
	at, err := net.ResolveTCPAddr("tcp4", parts[0])
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(parts[1])
	request := []byte(parts[2])
	response := make([]byte, 1<<10)
	for range n {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err == nil {
			err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())})
		}
		if err == nil && len(request) > 0 {
			if _, err = syscall.Write(fd, request); err == nil {
				_, err = syscall.Read(fd, response)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("connected")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
