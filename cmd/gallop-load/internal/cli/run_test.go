package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// TestMain lets the test binary act as gallop-load, so that signals can be sent to it.
func TestMain(m *testing.M) {
	if os.Getenv("GALLOP_LOAD_TEST_COMMAND") != "" {
		os.Exit(Main(os.Args[1:], commandline.Env{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}))
	}
	os.Exit(m.Run())
}

// load runs a command line and returns the exit status and the result.
func load(t *testing.T, args ...string) (int, *result.Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result.json")
	stdout, stderr, status := printed(append([]string{"--quiet", "-o", "json=" + file}, args...)...)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: status %d\n%s%s", err, status, stdout, stderr)
	}
	r := &result.Result{}
	if err := json.Unmarshal(data, r); err != nil {
		t.Fatal(err)
	}
	checkSums(t, r)
	return status, r
}

// checkSums checks what holds for each result.
func checkSums(t *testing.T, r *result.Result) {
	t.Helper()
	var done, sent, opened, closed int64
	for _, s := range r.Seconds {
		done, sent, opened, closed = done+s.Done, sent+s.Sent, opened+s.Opened, closed+s.Closed
	}
	if c := r.Connections; opened != c.Opened || closed != c.ClosedByPeer {
		t.Errorf("the time line has %d connections opened and %d closed, the result has %d and %d", opened, closed, c.Opened, c.ClosedByPeer)
	}
	total := r.Total()
	if done != total.Done || sent != total.Sent {
		t.Errorf("the time line has %d sent and %d done, the series have %d and %d", sent, done, total.Sent, total.Done)
	}
	if r.Plan.WarmUp == 0 && total.Sent != total.Done+total.Failed+total.Aborted {
		t.Errorf("sent %d, done %d, failed %d, aborted %d", total.Sent, total.Done, total.Failed, total.Aborted)
	}
	if n := total.Response.Count() + total.UnexpectedResponse.Count(); n != total.Done {
		t.Errorf("%d latencies of %d responses", n, total.Done)
	}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }

func TestIterations(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { served.Add(1); ok(w, r) })
	status, r := load(t, "-c", "4", "-n", "200", url)
	total := r.Total()
	if status != 0 || served.Load() != 200 || total.Done != 200 || total.Status[200] != 200 || total.BodyIn != 400 || r.Scenarios[0].Users.Iterations != 200 || r.Scenarios[0].Users.Most > 4 {
		t.Errorf("status %d, %d served, %+v", status, served.Load(), total)
	}
	if r.Tool.Engine == "" || r.Target.Peer == "" || r.Target.Proto != "HTTP/1.1" || r.Series[0].Method != "GET" || r.Series[0].Name != "GET /" {
		t.Errorf("%+v %+v %+v", r.Tool, r.Target, r.Series[0])
	}
	if r.Connections.Opened < 1 || r.Connections.Opened > 4 {
		t.Errorf("%+v", r.Connections)
	}
	status, r = load(t, "--executor", "per-vu-iterations", "-c", "3", "-n", "5", url)
	if status != 0 || r.Total().Done != 15 {
		t.Errorf("status %d, %d requests of 3 users with 5 each", status, r.Total().Done)
	}
}

func TestConstantRate(t *testing.T) {
	t.Parallel()
	url := serve(t, ok)
	status, r := load(t, "-r", "200/s", "-d", "2s", "--seed", "1", url)
	if n := r.Total().Done; status != 0 || n != 400 {
		t.Errorf("status %d, %d requests at 200/s in 2 s", status, n)
	}
	if s := r.Scenarios[0]; !s.Open || s.Rate != 200 {
		t.Errorf("%+v", s)
	}
	status, r = load(t, "--stage", "2s:200/s", url)
	if n := r.Total().Done; status != 0 || n < 190 || n > 210 {
		t.Errorf("status %d, %d requests of a ramp to 200/s in 2 s", status, n)
	}
}

// TestStall uses a server that stalls for a while. In an open loop, the requests that were due meanwhile are late, although few of
// them were in flight when the stall began.
func TestStall(t *testing.T) {
	const before, stall = 500 * time.Millisecond, 500 * time.Millisecond
	stalling := func() string {
		var first atomic.Pointer[time.Time]
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			now := time.Now()
			first.CompareAndSwap(nil, &now)
			if at := time.Since(*first.Load()); at > before && at < before+stall {
				time.Sleep(before + stall - at)
			}
			ok(w, r)
		})
	}
	_, r := load(t, "-r", "200/s", "-d", "2s", stalling())
	total := r.Total()
	if p90 := total.Response.Quantile(.9); p90 < stall/2 || p90 > stall*3/2 {
		t.Errorf("open loop: p90 is %v; of 2 s, 0.5 s were a stall", p90)
	}
	_, r = load(t, "-r", "200/s", "-d", "2s", "--conns", "1", stalling())
	total = r.Total()
	if p90 := total.Response.Quantile(.9); p90 < stall/2 || p90 > stall*3/2 {
		t.Errorf("open loop with one connection: p90 is %v; of 2 s, 0.5 s were a stall", p90)
	}
	if p90 := total.Service.Quantile(.9); p90 > stall/4 {
		t.Errorf("open loop with one connection: p90 of the service time is %v, although one request met the stall", p90)
	}
	_, r = load(t, "-c", "2", "-d", "2s", stalling())
	if p90 := r.Total().Response.Quantile(.9); p90 > stall/4 {
		t.Errorf("closed loop: p90 is %v, although two requests met the stall", p90)
	}
}

// TestDroppedIterations runs an open loop with too few users. The exit status says so.
func TestDroppedIterations(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(100 * time.Millisecond); ok(w, r) })
	status, r := load(t, "-r", "100/s", "--max-vus", "2", "-d", "1s", url)
	if users := r.Scenarios[0].Users; status != exitThresholds || users.Dropped < 50 || users.Most > 2 || len(r.Thresholds) != 1 || r.Thresholds[0].OK {
		t.Errorf("status %d, %+v, %+v", status, users, r.Thresholds)
	}
	status, _ = load(t, "-r", "100/s", "--max-vus", "2", "-d", "1s", "--threshold", "dropped:count<1k", url)
	if status != 0 {
		t.Errorf("status %d although a threshold allows dropped iterations", status)
	}
}

func TestThresholdsDecideTheStatus(t *testing.T) {
	t.Parallel()
	url := serve(t, ok)
	for threshold, want := range map[string]int{"http_reqs:count==20": 0, "http_req_failed:rate<1%": 0, "http_req_duration:p(95)<0.0001": exitThresholds, "checks:rate>0.9": exitThresholds} {
		if status, r := load(t, "-n", "20", "--check", "body contains no", "--threshold", threshold, url); status != want || r.Thresholds[0].OK != (want == 0) {
			t.Errorf("%s: status %d, %+v", threshold, status, r.Thresholds)
		}
	}
}

func TestAbortOnFail(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		http.Error(w, "no", 500)
	})
	start := time.Now()
	status, r := load(t, "-d", "1m", "--threshold", "http_req_failed:rate<0.5", "--abort-on-fail", url)
	if took := time.Since(start); status != exitThresholds || took > 20*time.Second || !r.Thresholds[0].Abort {
		t.Errorf("status %d after %v, %+v", status, took, r.Thresholds)
	}
}

// TestErrors counts requests that fail in several ways.
func TestErrors(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 4096)
				read, _ := c.Read(buf)
				switch path := strings.Split(string(buf[:read])+"  ", " ")[1]; path {
				case "/cut":
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
				case "/nonsense":
					io.WriteString(c, "nonsense\r\n\r\n")
				case "/reset":
					c.(*net.TCPConn).SetLinger(0)
				case "/silent":
					time.Sleep(3 * time.Second)
				default:
					io.WriteString(c, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
				}
			}()
		}
	}()
	base := "http://" + ln.Addr().String()
	for path, kinds := range map[string]string{"/cut": "closed", "/nonsense": "protocol", "/reset": "reset closed", "/silent": "timeout"} {
		timeout := "20s"
		if path == "/silent" {
			timeout = "500ms"
		}
		status, r := load(t, "-n", "3", "--timeout", timeout, base+path)
		total := r.Total()
		if status != 0 || total.Failed != 3 || len(total.Errors) != 1 || !strings.Contains(kinds, total.Errors[0].Kind) || total.Errors[0].Count != 3 || total.Response.Count() != 0 {
			t.Errorf("%s: status %d, %d failed: %+v", path, status, total.Failed, total.Errors)
		}
	}
	status, r := load(t, "-n", "3", base+"/other")
	if total := r.Total(); status != 0 || total.Done != 3 || total.Unexpected != 3 || total.Status[404] != 3 || total.UnexpectedResponse.Count() != 3 {
		t.Errorf("404: status %d, %+v", status, total)
	}
}

func TestNothingListens(t *testing.T) {
	t.Parallel()
	address := wiretest.FreeAddress(t)
	_, stderr, status := printed("-n", "1", "http://"+address)
	if status != exitFailed || !strings.Contains(stderr, "cannot connect to http://"+address) {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// TestNegotiation runs the example whose server answers 406 by design.
func TestNegotiation(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Accept"); strings.HasPrefix(a, "image/") || strings.HasPrefix(a, "video/") {
			w.WriteHeader(406)
			return
		}
		ok(w, r)
	})
	file := filepath.Join(t.TempDir(), "r.json")
	_, stderr, status := printed("run", "../../examples/negotiation.yml", url, "-d", "2s", "-o", "json="+file, "--quiet")
	results, err := report.ReadFiles(file)
	if status != 0 || err != nil {
		t.Fatalf("status %d, %s, %v", status, stderr, err)
	}
	r := results[0]
	checkSums(t, r)
	total := r.Total()
	share := float64(total.Status[406]) / float64(total.Done)
	if len(r.Series) != 5 || total.Unexpected != 0 || share < .3 || share > .5 || r.Scenarios[0].VUs != 25 || r.Scenarios[0].Users.Most != 25 {
		t.Errorf("%d series, %d unexpected, %.2f of the responses are 406", len(r.Series), total.Unexpected, share)
	}
	for _, s := range r.Series {
		if s.Done < total.Done/10 {
			t.Errorf("%s: %d of %d", s.Name, s.Done, total.Done)
		}
	}
}

// TestSession runs the example with steps, cookies, captured values and a data file.
func TestSession(t *testing.T) {
	t.Parallel()
	var wrong atomic.Value
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		name := "nobody"
		if c, err := r.Cookie("session"); err == nil {
			name = c.Value
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/login":
			var in struct{ User, Password string }
			if err := json.Unmarshal(body, &in); err != nil || in.User == "ann" && in.Password != "one" {
				wrong.Store(string(body))
			}
			http.SetCookie(w, &http.Cookie{Name: "session", Value: in.User})
			io.WriteString(w, "{}")
		case r.URL.Path == "/cart":
			fmt.Fprintf(w, `{"id": "cart-of-%s"}`, name)
		case r.URL.Path == "/orders/cart-of-"+name && name != "nobody":
			w.WriteHeader(201)
			io.WriteString(w, `{"state": "open"}`)
		default:
			wrong.Store(r.URL.Path + " of " + name)
		}
	})
	file := filepath.Join(t.TempDir(), "r.json")
	data, err := os.ReadFile("../../examples/session.yml")
	if err != nil {
		t.Fatal(err)
	}
	quick := strings.NewReplacer(`["30s:50", "1m:50", "10s:0"]`, `["0s:4", "2s:4"]`, "1s-3s", "1ms-3ms", "500ms", "5ms", "users.csv", mustAbs(t, "../../examples/users.csv")).Replace(string(data))
	scenario := filepath.Join(t.TempDir(), "s.yml")
	if err := os.WriteFile(scenario, []byte(quick), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := printed("run", scenario, url, "-o", "json="+file, "--quiet")
	if status != 0 || wrong.Load() != nil {
		t.Fatalf("status %d, %s, %v", status, stderr, wrong.Load())
	}
	results, err := report.ReadFiles(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range results[0].Series {
		if s.Done < 10 || len(s.Checks) == 0 {
			t.Errorf("%s: %d, %+v", s.Name, s.Done, s.Checks)
		}
		for _, c := range s.Checks {
			if c.Fail > 0 || c.Pass == 0 {
				t.Errorf("%s: %+v", s.Name, c)
			}
		}
	}
}

func mustAbs(t *testing.T, file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// TestWarmUp has ten requests served long before the end of the warm-up, and ten long after it. It goes on with a longer warm-up
// if the machine is too slow for that.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	const each = 10
	for warmUp := time.Second; ; warmUp *= 2 {
		var served atomic.Int64
		begun, early := time.Now(), true
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if served.Add(1) == each+1 {
				early = time.Since(begun) < warmUp/2
				time.Sleep(time.Until(begun.Add(3 * warmUp)))
			}
			ok(w, r)
		})
		_, r := load(t, "-n", fmt.Sprint(2*each), "-c", "1", "--warm-up", warmUp.String(), "--check", "status=200", url)
		took := time.Since(begun)
		if !early && warmUp < time.Minute {
			continue
		}
		if n := r.Total().Done; served.Load() != 2*each || n != each {
			t.Errorf("%d of %d requests count, although %d were in the warm-up", n, served.Load(), each)
		}
		if c := r.Series[0].Checks[0]; c.Pass != each {
			t.Errorf("%d checks count", c.Pass)
		}
		if e := r.Elapsed(); r.Seconds[0].T != 0 || e <= 0 || e > took-warmUp*9/10 {
			t.Errorf("%v of %v, %+v", e, took, r.Seconds)
		}
		return
	}
}

func TestRepeatAndMerge(t *testing.T) {
	t.Parallel()
	url := serve(t, ok)
	dir := t.TempDir()
	file, merged := filepath.Join(dir, "a.json"), filepath.Join(dir, "m.json")
	stdout, stderr, status := printed("-n", "50", "--repeat", "3", "--quiet", "--threshold", "http_reqs:count>100", "-o", "json="+file, url)
	if status != exitThresholds || strings.Count(stdout, "complete and 0 interrupted iterations") != 3 {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	stdout, stderr, status = printed("merge", "-o", merged, file)
	all, err := report.ReadFiles(merged)
	if status != 0 || err != nil || len(all) != 1 {
		t.Fatalf("status %d, %v\n%s%s", status, err, stdout, stderr)
	}
	if r := all[0]; r.Total().Done != 150 || r.Plan.Parts != 3 || r.Total().Response.Count() != 150 || !r.Thresholds[0].OK || r.Thresholds[0].Value != 150 {
		t.Errorf("%+v, %+v", r.Plan, r.Thresholds)
	}
	if stdout, _, status := printed("compare", file, file); status != 0 || !strings.Contains(stdout, "p50-sec") {
		t.Errorf("status %d, %s", status, stdout)
	}
	other := filepath.Join(dir, "b.json")
	printed("-n", "5", "--quiet", "-o", "json="+other, url+"/other")
	if _, stderr, status := printed("merge", file, other); status != exitInvalid || !strings.Contains(stderr, "different targets") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

func TestOutputToStdout(t *testing.T) {
	t.Parallel()
	url := serve(t, ok)
	stdout, stderr, status := printed("-n", "5", "--quiet", "-o", "json", url)
	if r := (&result.Result{}); status != 0 || json.Unmarshal([]byte(stdout), r) != nil || r.Total().Done != 5 || !strings.Contains(stderr, "5 complete") {
		t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
	}
	if stdout, stderr, _ := printed("-n", "5", "--summary", "off", "--quiet", url); stdout+stderr != "" {
		t.Errorf("%s%s", stdout, stderr)
	}
}

// TestInterrupt sends a signal. The command ends soon, with a summary and a status of its own.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	if os.PathSeparator == '\\' {
		t.Skip("there are no such signals on Windows")
	}
	url := serve(t, ok)
	cmd := exec.Command(os.Args[0], "-c", "2", "-d", "1m", url)
	cmd.Env = append(os.Environ(), "GALLOP_LOAD_TEST_COMMAND=1")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(line, "/s  p50 ") {
		t.Errorf("the first line is %q, %v", line, err)
	}
	start := time.Now()
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || time.Since(start) > 20*time.Second || !strings.Contains(stdout.String(), "http_reqs") {
		t.Errorf("status %d after %v\n%s", code, time.Since(start), stdout.String())
	}
}

// TestGraceCutsOffRedirects shows that requests end with their grace although redirects are followed.
func TestGraceCutsOffRedirects(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/slow", http.StatusFound)
			return
		}
		<-r.Context().Done()
	})
	begun := time.Now()
	status, r := load(t, "-c", "2", "-d", "100ms", "--graceful-stop", "100ms", "--timeout", "1m", "--redirects", "1", url)
	if took, total := time.Since(begun), r.Total(); status != 0 || total.Aborted != 2 || took > 50*time.Second {
		t.Errorf("status %d, %d requests aborted, %d failed after %v", status, total.Aborted, total.Failed, took)
	}
}

func TestHTTPSAndHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	if _, stderr, status := printed("-n", "1", s.URL); status != exitFailed || !strings.Contains(stderr, "certificate") {
		t.Errorf("status %d, %s", status, stderr)
	}
	status, r := load(t, "-n", "20", "-c", "4", "--insecure", "--check", "body = HTTP/2.0", s.URL)
	if c := r.Series[0].Checks[0]; status != 0 || r.Target.Proto != "HTTP/2" || c.Pass != 20 || r.Connections.Opened != 1 {
		t.Errorf("status %d, %+v, %+v, %+v", status, r.Target, c, r.Connections)
	}
	status, r = load(t, "-n", "20", "--insecure", "--proto", "http1", "--check", "body = HTTP/1.1", s.URL)
	if c := r.Series[0].Checks[0]; status != 0 || r.Target.Proto != "HTTP/1.1" || !strings.HasPrefix(r.Target.TLS, "TLS") || c.Pass != 20 {
		t.Errorf("status %d, %+v, %+v", status, r.Target, c)
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	if errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Skip("the system has no unix sockets: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })}
	go srv.Serve(ln)
	defer srv.Close()
	if status, r := load(t, "-n", "3", "--unix", socket, "--check", "body = example.com", "http://example.com/"); status != 0 || r.Series[0].Checks[0].Pass != 3 {
		t.Errorf("status %d, %+v", status, r.Series[0])
	}
}

func TestRedirectsAndProxy(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		io.WriteString(w, "host "+r.Host)
	})
	if status, r := load(t, "-n", "2", url+"/from"); status != 0 || r.Total().Status[302] != 2 {
		t.Errorf("status %d, %v", status, r.Total().Status)
	}
	if status, r := load(t, "-n", "2", "--redirects", "3", url+"/from"); status != 0 || r.Total().Status[200] != 2 || r.Tool.Engine != "client" {
		t.Errorf("status %d, %v", status, r.Total().Status)
	}
	var tunnels atomic.Int64
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		tunnels.Add(1)
		to, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil || r.Method != "CONNECT" || r.Host != "example.com:80" {
			t.Errorf("%s %s, %v", r.Method, r.Host, err)
			return
		}
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go io.Copy(to, from)
		io.Copy(from, to)
	})
	if status, r := load(t, "-n", "2", "--proxy", proxy, "--check", "body = host example.com", "http://example.com/x"); status != 0 || r.Series[0].Checks[0].Pass != 2 || tunnels.Load() != 1 {
		t.Errorf("status %d, %d tunnels, %+v", status, tunnels.Load(), r.Series[0])
	}
}

// TestServerUsage watches this process as if it were the server.
func TestServerUsage(t *testing.T) {
	url := serve(t, ok)
	_, r := load(t, "-c", "4", "-d", "2s", "--server-pid", fmt.Sprint(os.Getpid()), url)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	if r.Server == nil || r.Server.CPU < 50*time.Millisecond || r.Server.MaxRSS < 1<<20 || r.Server.PerCall <= 0 || r.Generator.CPU < 50*time.Millisecond {
		t.Errorf("%+v, %+v", r.Server, r.Generator)
	}
}
