package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// besideEnv has the test below serve, in a process of its own, with a goroutine that calls the URL that it names. The process
// serves on goroutines if besideGoroutinesEnv is set.
const (
	besideEnv           = "GALLOP_TEST_BESIDE"
	besideGoroutinesEnv = "GALLOP_TEST_BESIDE_GOROUTINES"
)

// Goroutines of the program that wait for the network or for a timer run beside a loop that has the only processor. On a slow
// machine, they wait at most twice as long as beside goroutines that serve.
func TestGoroutinesRunBesideLoops(t *testing.T) {
	if url := os.Getenv(besideEnv); url != "" {
		serveBeside(url)
	}
	other := &gallop.Server{Engine: gallop.EngineGoroutine, Handler: servertest.Say}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = other.Serve(ln) }()
	defer other.Close()
	for _, conns := range []int{0, 2, 32} {
		t.Run(fmt.Sprint(conns, " connections"), func(t *testing.T) {
			const most = 4 * time.Millisecond
			var call, sleep, usualCall, usualSleep time.Duration
			for range 8 {
				call, sleep = mediansBeside(t, "http://"+ln.Addr().String(), conns)
				if call <= most && sleep <= most {
					return
				}
				usualCall, usualSleep = mediansBeside(t, "http://"+ln.Addr().String(), conns, besideGoroutinesEnv+"=1")
				if call <= max(most, 2*usualCall) && sleep <= max(most, 2*usualSleep) {
					return
				}
			}
			t.Errorf("half of the calls take %v, half of the sleeps of 1 ms %v; beside goroutines %v and %v", call, sleep, usualCall, usualSleep)
		})
	}
}

// mediansBeside returns the medians of calls of the URL and of sleeps in a process that also serves so many connections.
func mediansBeside(t *testing.T, url string, conns int, env ...string) (call, sleep time.Duration) {
	t.Helper()
	addr := startBeside(t, url, env...)
	defer keepBusy(t, addr, conns)()
	samples := 30
	if wiretest.Full() {
		samples = 100
	}
	wiretest.Eventually(t, func() bool {
		resp, err := http.Get("http://" + addr + "/medians")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var calls, sleeps int
		if _, err := fmt.Fscan(resp.Body, &call, &calls, &sleep, &sleeps); err != nil {
			t.Fatal(err)
		}
		return calls >= samples && sleeps >= samples
	})
	return call, sleep
}

// startBeside starts the process that serves.
func startBeside(t *testing.T, url string, env ...string) (addr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestGoroutinesRunBesideLoops$")
	cmd.Env = append(os.Environ(), append(env, besideEnv+"="+url, "GOMAXPROCS=1")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// keepBusy makes requests on so many connections until stop is called.
func keepBusy(t *testing.T, addr string, conns int) (stop func()) {
	t.Helper()
	var all sync.WaitGroup
	var open []net.Conn
	for range conns {
		c := dialTCP(t, addr)
		open = append(open, c)
		all.Go(func() {
			p := make([]byte, 4096)
			for {
				if _, err := io.WriteString(c, wiretest.Get("/")); err != nil {
					return
				}
				if _, err := c.Read(p); err != nil {
					return
				}
			}
		})
	}
	return func() {
		for _, c := range open {
			c.Close()
		}
		all.Wait()
	}
}

// serveBeside serves until the process is killed.
func serveBeside(url string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	call := medianOf(func() {
		resp, err := http.Get(url)
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	})
	sleep := medianOf(func() { time.Sleep(time.Millisecond) })
	engine := gallop.EngineLoop
	if os.Getenv(besideGoroutinesEnv) != "" {
		engine = gallop.EngineGoroutine
	}
	s := &gallop.Server{Engine: engine, Handler: func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/medians" {
			fmt.Fprintln(ctx, call(), sleep())
		}
	}}
	fmt.Println(ln.Addr())
	panic(s.Serve(ln))
}

// medianOf does something again and again, and returns a function for the median of how long it took in nanoseconds, and how
// often it has been done.
func medianOf(do func()) func() string {
	var mu sync.Mutex
	var took []time.Duration
	go func() {
		for {
			start := time.Now()
			do()
			mu.Lock()
			took = append(took, time.Since(start))
			mu.Unlock()
			time.Sleep(time.Millisecond)
		}
	}()
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if len(took) == 0 {
			return "0 0"
		}
		slices.Sort(took)
		return fmt.Sprint(int64(took[len(took)/2]), len(took))
	}
}
