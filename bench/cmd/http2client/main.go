//go:build linux

// Command http2client compares HTTP/2 clients: that of gallop and that of net/http. Both call the same gallop server.
//
//	go run ./cmd/http2client          # all rows
//	go run ./cmd/http2client -n 3 tls # some of them
//
// Run it in bench/. It needs Linux and two processors. The server has core 0, and each client has core 1 with GOMAXPROCS=1. The
// figures are the client's user and system time per call, how much of that is system time, and the rate.
//
// With one call at a time, a third client shows the floor. It writes the bytes of an HTTP/1.1 request to a socket, and reads the
// response without looking at it. No client on Go's poller needs less system time.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/measure"
)

// row is one load: so many calls at the same time. gallop's CPU time has to be at most goal times that of net/http.
type row struct {
	Name   string
	AtOnce int
	Calls  int
	TLS    bool
	goal   float64
}

var rows = []row{
	{"c1", 1, 40_000, false, 0.35},
	{"c32", 32, 200_000, false, 0.35},
	{"c256", 256, 200_000, false, 0.35},
	{"tls-c1", 1, 40_000, true, 0},
	{"tls-c32", 32, 200_000, true, 0},
}

// clients returns the names of the clients in a row.
func (r *row) clients() []string {
	if r.AtOnce == 1 && !r.TLS {
		return []string{"gallop", "nethttp", "floor"}
	}
	return []string{"gallop", "nethttp"}
}

// job is what a client does.
type job struct {
	Client, URL string
	Row         row
}

// report is what a client has used.
type report struct{ CPU, System, Rate float64 }

func main() {
	child.Play(child.Roles{"server": serve, "client": client})
	rounds := flag.Int("n", 5, "rounds")
	flag.Parse()
	met, err := compare(*rounds, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "http2client:", err)
		os.Exit(2)
	}
	if !met {
		os.Exit(1)
	}
}

// compare runs the rows whose names contain one of names, or all, and reports whether all goals were met.
func compare(rounds int, names []string) (met bool, err error) {
	fmt.Printf("%-8s %-8s %10s %10s %12s\n", "row", "client", "CPU µs", "system µs", "calls/s")
	met = true
	for _, r := range rows {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(r.Name, name) }) {
			continue
		}
		cpu, err := compareRow(r, rounds)
		if err != nil {
			return false, fmt.Errorf("%s: %w", r.Name, err)
		}
		ratio := cpu["gallop"] / cpu["nethttp"]
		verdict := ""
		if r.goal > 0 {
			verdict = fmt.Sprintf(", goal at most %.2f: met", r.goal)
			if ratio > r.goal {
				verdict, met = fmt.Sprintf(", goal at most %.2f: MISSED", r.goal), false
			}
		}
		fmt.Printf("%-8s gallop's CPU time is %.2f of that of net/http%s\n\n", r.Name, ratio, verdict)
	}
	return met, nil
}

// compareRow returns the median CPU time per call of each client.
func compareRow(r row, rounds int) (map[string]float64, error) {
	address, err := child.FreeAddress()
	if err != nil {
		return nil, err
	}
	cmd, err := child.Command("server", struct {
		Address string
		TLS     bool
	}{address, r.TLS}, "GOMAXPROCS=1")
	if err != nil {
		return nil, err
	}
	if err := child.Pin(cmd, 0); err != nil {
		return nil, err
	}
	if _, err := child.Start(cmd); err != nil {
		return nil, err
	}
	defer child.End(cmd)
	if err := child.AwaitListener(address); err != nil {
		return nil, err
	}
	url := "http://" + address + "/"
	if r.TLS {
		url = "https://" + address + "/"
	}
	cpu, system, rate := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for range rounds {
		for _, name := range r.clients() {
			got, err := load(job{name, url, r})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			cpu[name], rate[name] = append(cpu[name], got.CPU), append(rate[name], got.Rate)
			system[name] = append(system[name], got.System)
		}
	}
	medians := map[string]float64{}
	for _, name := range r.clients() {
		medians[name] = measure.Median(cpu[name])
		fmt.Printf("%-8s %-8s %10.2f %10.2f %12.0f\n", r.Name, name, medians[name], measure.Median(system[name]), measure.Median(rate[name]))
	}
	return medians, nil
}

// load runs a client.
func load(j job) (r report, err error) {
	cmd, err := child.Command("client", j, "GOMAXPROCS=1")
	if err != nil {
		return r, err
	}
	if err := child.Pin(cmd, 1); err != nil {
		return r, err
	}
	cmd.Stdout = nil
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

// serve is the role of the server.
func serve(config []byte) error {
	var c struct {
		Address string
		TLS     bool
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	var p gallop.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	s := &gallop.Server{Protocols: &p, Handler: func(ctx *gallop.RequestCtx) { ctx.WriteString("Hello, World!") }}
	ln, err := net.Listen("tcp", c.Address)
	if err != nil {
		return err
	}
	if !c.TLS {
		return s.Serve(ln)
	}
	cert, key, err := gallop.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		return err
	}
	return s.ServeTLSEmbed(ln, cert, key)
}

// client is the role of a client.
func client(config []byte) error {
	var j job
	if err := json.Unmarshal(config, &j); err != nil {
		return err
	}
	call := callers[j.Client](j.URL)
	run(call, j.Row.AtOnce, j.Row.Calls/10)
	user0, system0 := used()
	began := time.Now()
	run(call, j.Row.AtOnce, j.Row.Calls)
	took := time.Since(began)
	user, system := used()
	user, system = user-user0, system-system0
	perCall := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(j.Row.Calls) }
	return json.NewEncoder(os.Stdout).Encode(report{
		CPU:    perCall(user + system),
		System: perCall(system),
		Rate:   float64(j.Row.Calls) / took.Seconds(),
	})
}

// run makes calls on so many goroutines.
func run(newCall func() func() error, atOnce, calls int) {
	var group sync.WaitGroup
	for range atOnce {
		group.Go(func() {
			call := newCall()
			for range calls / atOnce {
				if err := call(); err != nil {
					fmt.Fprintln(os.Stderr, "http2client:", err)
					os.Exit(1)
				}
			}
		})
	}
	group.Wait()
}

// used returns the user and system time of this process.
func used() (user, system time.Duration) {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// callers return a function per client, which returns a function that makes a call.
var callers = map[string]func(url string) func() func() error{
	"gallop": func(url string) func() func() error {
		var p gallop.Protocols
		if p.SetHTTP2(true); !strings.HasPrefix(url, "https") {
			p.SetUnencryptedHTTP2(true)
		}
		c := &gallop.Client{Protocols: &p, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		return func() func() error {
			req, resp := &gallop.Request{}, &gallop.Response{}
			req.SetRequestURI(url)
			return func() error {
				err := c.DoTimeout(req, resp, time.Minute)
				if err == nil && string(resp.Body()) != "Hello, World!" {
					err = fmt.Errorf("body %q", resp.Body())
				}
				return err
			}
		}
	},
	"floor": func(url string) func() func() error {
		host := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
		request, buf := []byte("GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"), make([]byte, 4096)
		c, err := net.Dial("tcp", host)
		return func() func() error {
			return func() error {
				if err == nil {
					_, err = c.Write(request)
				}
				if err == nil {
					_, err = c.Read(buf)
				}
				return err
			}
		}
	},
	"nethttp": func(url string) func() func() error {
		p := new(http.Protocols)
		if p.SetHTTP2(true); !strings.HasPrefix(url, "https") {
			p.SetUnencryptedHTTP2(true)
		}
		c := &http.Client{Transport: &http.Transport{Protocols: p, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		return func() func() error {
			return func() error {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
				if err != nil {
					return err
				}
				resp, err := c.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err == nil && string(body) != "Hello, World!" {
					err = fmt.Errorf("body %q", body)
				}
				return err
			}
		}
	},
}
