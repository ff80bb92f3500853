// Package middleware compares the cost of gallop's middleware with the middleware of fiber and echo that has the same
// purpose.
//
//	go test -bench . -cpu 1
//
// One operation passes a request to the framework's own entry point, without a server. The result is the CPU time of the
// process for a request with the middleware, minus the CPU time for the same request without the middleware. Batches with and
// without the middleware take turns.
package middleware

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// handler passes requests to a framework.
type handler struct {
	// do passes one request and returns the status and the first Set-Cookie line of the response.
	do func(r request) (status int, setCookie string)

	// prepare returns a function that passes the same request again and again.
	prepare func(r request) func()
}

// request is a request. Names of headers and their values take turns in fields.
type request struct {
	method, target string
	fields         []string
}

// row is one middleware. A framework that has no such middleware has no function.
type row struct {
	name    string
	request request
	gallop  func(on bool) handler
	fiber   func(on bool) handler
	echo    func(on bool) handler

	// login changes a request to one of a client that h knows.
	login func(h handler, r request) request
	// of changes a request for a framework.
	of map[string]func(h handler, r request) request
}

type framework struct {
	name string
	make func(on bool) handler
}

func (r *row) frameworks() []framework {
	all := []framework{{"gallop", r.gallop}, {"fiber", r.fiber}, {"echo", r.echo}}
	return slices.DeleteFunc(all, func(f framework) bool { return f.make == nil })
}

// requestFor returns the request of the row for a framework.
func (r *row) requestFor(f framework, h handler) request {
	q := r.request
	if q.method == "" {
		q.method = "GET"
	}
	if q.target == "" {
		q.target = "/"
	}
	if r.login != nil {
		q = r.login(h, q)
	}
	if change := r.of[f.name]; change != nil {
		q = change(h, q)
	}
	return q
}

// TestRows checks that all requests succeed.
func TestRows(t *testing.T) {
	for _, r := range rows {
		for _, f := range r.frameworks() {
			t.Run(r.name+"/"+f.name, func(t *testing.T) {
				h := f.make(true)
				q := r.requestFor(f, h)
				for range 3 {
					if status, _ := h.do(q); status != 200 {
						t.Errorf("with the middleware: status %d", status)
					}
					if status, _ := f.make(false).do(q); status != 200 {
						t.Errorf("without the middleware: status %d", status)
					}
				}
			})
		}
	}
}

func BenchmarkMiddleware(b *testing.B) {
	for _, r := range rows {
		for _, f := range r.frameworks() {
			b.Run(r.name+"/server="+f.name, func(b *testing.B) {
				h := f.make(true)
				q := r.requestFor(f, h)
				own(b, h.prepare(q), f.make(false).prepare(q))
			})
		}
	}
}

// BenchmarkLibrary measures work that gallop's middleware leaves to the standard library and that fiber's twin does not do. compare takes
// it out before it compares a row with its goal.
func BenchmarkLibrary(b *testing.B) {
	for _, l := range libraries {
		b.Run(l.row+"/server=gallop", func(b *testing.B) { own(b, l.with(), l.without()) })
	}
}

// batch is how many requests are between two readings of the CPU time. One reading takes about a microsecond.
const batch = 1024

// own reports the difference between two functions as the result of the benchmark.
func own(b *testing.B, with, without func()) {
	var spent [2]time.Duration
	b.ReportAllocs()
	for b.Loop() {
		for i, f := range []func(){with, without} {
			start := cpu()
			for range batch {
				f()
			}
			spent[i] += cpu() - start
		}
	}
	n := float64(b.N * batch)
	b.ReportMetric(float64(spent[0]-spent[1])/n, "ns/op")
	b.ReportMetric(float64(spent[1])/n, "without-ns/op")
	b.ReportMetric(testing.AllocsPerRun(1000, with)-testing.AllocsPerRun(1000, without), "allocs/op")
	b.ReportMetric(0, "B/op")
}

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
