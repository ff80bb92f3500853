package pprofhandler_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	stdpprof "net/http/pprof"
	"reflect"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
	"github.com/gallop-http/gallop/pprofhandler"
)

var handler = pprofhandler.Handler("")

func TestHandler(t *testing.T) {
	for _, tt := range []struct {
		name, target string
		status       int
		kind, body   string // a part of the body
	}{
		{"list", "/debug/pprof/", 200, "text/html; charset=utf-8", "goroutine"},
		{"profile by name", "/debug/pprof/goroutine?debug=1", 200, "text/plain; charset=utf-8", "goroutine profile: total"},
		{"profile for tools", "/debug/pprof/heap", 200, "application/octet-stream", "\x1f\x8b"},
		{"command line", "/debug/pprof/cmdline", 200, "text/plain; charset=utf-8", "pprofhandler"},
		{"symbols", "/debug/pprof/symbol", 200, "text/plain; charset=utf-8", "num_symbols"},
		{"list without its slash", "/debug/pprof", 301, "text/html; charset=utf-8", `"/debug/pprof/"`},
		{"no such profile", "/debug/pprof/no-such-profile", 404, "text/plain; charset=utf-8", "Unknown profile"},
		{"slash behind a profile", "/debug/pprof/heap/", 404, "text/plain; charset=utf-8", ""},
		{"another path", "/debug/", 404, "text/plain; charset=utf-8", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ctx gallop.RequestCtx
			ctx.Request.SetRequestURI("http://localhost" + tt.target)
			handler(&ctx)
			resp := &ctx.Response
			if resp.StatusCode() != tt.status || string(resp.Header.ContentType()) != tt.kind || !strings.Contains(string(resp.Body()), tt.body) {
				t.Errorf("%d, %q, %.200q", resp.StatusCode(), resp.Header.ContentType(), resp.Body())
			}
		})
	}
}

// Odd questions are answered at once, with 400 or as net/http/pprof answers them.
func TestHostile(t *testing.T) {
	for target, status := range map[string]int{
		"profile?seconds=NaN": 400, "profile?seconds=nan": 400, "profile?seconds=Inf": 400, "profile?seconds=%2BInf": 400, "profile?seconds=1e300": 400,
		"profile?seconds=99999999999999999999": 400, "profile?seconds=9223372036854775807": 400, "profile?seconds=86401": 400, "profile?seconds=0x1p99": 400,
		"trace?seconds=NaN": 400, "trace?seconds=Infinity": 400, "trace?seconds=1e300": 400, "trace?seconds=0.001": 200, "trace?seconds=1e-9": 200,
		"heap?seconds=NaN": 400, "heap?seconds=-1": 400, "heap?seconds=x": 400, "heap?debug=x": 200, "heap?debug=99": 200, "heap?debug=-1": 200, "heap?gc=x": 200,
		"goroutine?debug=2": 200, "..%2fheap": 404, "%00": 404, "heap%00": 404, "%3Cscript%3E": 404, strings.Repeat("a", 10_000): 404,
		"?debug=1": 200, "symbol?0x0": 200, "symbol?" + strings.Repeat("0x1+", 1000): 200, "cmdline?seconds=1": 200, "threadcreate": 200,
	} {
		var ctx gallop.RequestCtx
		ctx.Request.SetRequestURI("http://localhost/debug/pprof/" + target)
		begun := time.Now()
		handler(&ctx)
		resp := &ctx.Response
		if took := time.Since(begun); resp.StatusCode() != status || took > 5*time.Second {
			t.Errorf("%.40s: %d after %v, %.100q", target, resp.StatusCode(), took, resp.Body())
		}
		if kind := string(resp.Header.ContentType()); status != 200 && (!strings.HasPrefix(kind, "text/plain") || bytes.Contains(resp.Body(), []byte("aaaaaaaaaa"))) {
			t.Errorf("%.40s: %s, %.100q", target, kind, resp.Body())
		}
	}
}

// The argument may be in a form, and symbol's addresses may be in the body.
func TestPost(t *testing.T) {
	for target, want := range map[string]string{"trace": "the argument seconds", "symbol": "num_symbols: 1\n0x"} {
		var ctx gallop.RequestCtx
		ctx.Request.SetRequestURI("http://localhost/debug/pprof/" + target)
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType("application/x-www-form-urlencoded")
		ctx.Request.SetBodyString("seconds=NaN")
		if target == "symbol" {
			ctx.Request.SetBodyString(fmt.Sprintf("%#x", reflect.ValueOf(pprofhandler.Handler).Pointer()))
		}
		handler(&ctx)
		if body := string(ctx.Response.Body()); !strings.Contains(body, want) {
			t.Errorf("%s: %q", target, body)
		}
	}
}

// hasBegun reports whether a handler has begun a profile over time, and waits for its end. To begin another one would stop it from
// beginning.
func hasBegun() bool {
	stacks := make([]byte, 1<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("pprofhandler.wait("))
}

// A client that goes away ends its profile, so that another one can begin. Two at once are refused.
func TestClientLeaves(t *testing.T) {
	for _, over := range []gallop.EngineType{gallop.EngineLoop, gallop.EngineGoroutine} {
		for _, kind := range []string{"profile", "trace", "heap"} {
			s := &gallop.Server{Handler: handler, Engine: over}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go s.Serve(ln)
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "GET /debug/pprof/%s?seconds=30 HTTP/1.1\r\nHost: a\r\n\r\n", kind)
			for end := time.Now().Add(10 * time.Second); !hasBegun(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: it does not begin", kind)
				}
			}
			if kind == "profile" {
				resp, err := http.Get("http://" + ln.Addr().String() + "/debug/pprof/profile?seconds=1")
				if err != nil {
					t.Fatal(err)
				}
				if resp.Body.Close(); resp.StatusCode != 500 {
					t.Errorf("two profiles at once: %d", resp.StatusCode)
				}
			}
			c.Close()
			begun := time.Now()
			for s.Stats().Connections > 0 && time.Since(begun) < 10*time.Second {
				time.Sleep(time.Millisecond)
			}
			if kind == "profile" {
				if err := pprof.StartCPUProfile(io.Discard); err != nil {
					t.Errorf("after %v: %v", time.Since(begun), err)
				} else {
					pprof.StopCPUProfile()
				}
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("%s: it went on for %v", kind, took)
			}
			http.DefaultClient.CloseIdleConnections()
			s.Close()
		}
	}
}

// get returns the response of a handler to a GET.
func get(h gallop.RequestHandler, target string) *gallop.Response {
	return getDuring(context.Background(), h, target)
}

// getDuring is get from a client that leaves when life ends.
func getDuring(life context.Context, h gallop.RequestHandler, target string) *gallop.Response {
	var ctx gallop.RequestCtx
	ctx.InitContext(life)
	ctx.Request.SetRequestURI("http://localhost" + target)
	h(&ctx)
	return &ctx.Response
}

// stdHandler serves what net/http/pprof registers.
var stdHandler = nethttp.FromHTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/debug/pprof/cmdline":
		stdpprof.Cmdline(w, r)
	case "/debug/pprof/profile":
		stdpprof.Profile(w, r)
	case "/debug/pprof/symbol":
		stdpprof.Symbol(w, r)
	case "/debug/pprof/trace":
		stdpprof.Trace(w, r)
	default:
		stdpprof.Index(w, r)
	}
}), nethttp.Gather())

// Responses have the statuses, the fields and, where it does not change by itself, the body of net/http/pprof's.
func TestAsNetHTTP(t *testing.T) {
	symbols := fmt.Sprintf("symbol?%#x+0x0+x+%#x", reflect.ValueOf(pprofhandler.Handler).Pointer(), reflect.ValueOf(get).Pointer())
	targets := []string{
		"", "cmdline", "symbol", symbols, "profile?seconds=1", "trace?seconds=0.01", "no-such-profile", "heap?seconds=x", "heap?seconds=-1",
		"heap?seconds=1&debug=1", "heap?seconds=1", "cmdline?seconds=1",
	}
	for _, p := range pprof.Profiles() {
		targets = append(targets, p.Name(), p.Name()+"?debug=1", p.Name()+"?debug=2", p.Name()+"?gc=1")
	}
	for _, target := range targets {
		var got, want *gallop.Response
		life, end := context.Background(), context.CancelFunc(func() {})
		if strings.HasPrefix(target, "profile?") {
			life, end = context.WithTimeout(life, time.Millisecond) // shorter than a second, which is the least for seconds
		}
		both := func(*testing.T) {
			got, want = getDuring(life, handler, "/debug/pprof/"+target), getDuring(life, stdHandler, "/debug/pprof/"+target)
		}
		if strings.HasPrefix(target, "heap?seconds") {
			synctest.Test(t, both) // in virtual time, in which profiles of the processor and traces cannot be taken
		} else {
			both(t)
		}
		end()
		if got.StatusCode() != want.StatusCode() {
			t.Errorf("%s: status %d, want %d", target, got.StatusCode(), want.StatusCode())
		}
		for _, name := range []string{"Content-Type", "Content-Disposition", "X-Content-Type-Options", "X-Go-Pprof"} {
			if a, b := got.Header.Peek(name), want.Header.Peek(name); !bytes.Equal(a, b) {
				t.Errorf("%s: %s %q, want %q", target, name, a, b)
			}
		}
		if name, _, _ := strings.Cut(target, "?"); (name == "cmdline" || name == "symbol") && !bytes.Equal(got.Body(), want.Body()) {
			t.Errorf("%s: %q, want %q", target, got.Body(), want.Body())
		}
	}
}

// The list has the rows of net/http/pprof's, with what each is good for.
func TestIndex(t *testing.T) {
	row := regexp.MustCompile(`<td><a href='([^']+)'>([^<]+)</a></td>`)
	got := row.FindAllStringSubmatch(string(get(handler, "/debug/pprof/").Body()), -1)
	want := row.FindAllStringSubmatch(string(get(stdHandler, "/debug/pprof/").Body()), -1)
	if !reflect.DeepEqual(got, want) || len(want) < 8 {
		t.Errorf("%v, want %v", got, want)
	}
	for line := range strings.Lines(string(get(handler, "/debug/pprof/").Body())) {
		if strings.Contains(line, "<td></td>") && !strings.Contains(line, "gallop") {
			t.Errorf("a profile has no description: %s", line)
		}
	}
}

func TestPrefix(t *testing.T) {
	for _, prefix := range []string{"/internal/<profiles>/", "/internal/<profiles>"} {
		h := pprofhandler.Handler(prefix)
		for target, want := range map[string]int{
			"/internal/%3Cprofiles%3E": 301, "/internal/%3Cprofiles%3E/": 200, "/internal/%3Cprofiles%3E/goroutine?debug=1": 200,
			"/debug/pprof/": 404, "/internal/%3Cprofiles%3Eheap": 404,
		} {
			if resp := get(h, target); resp.StatusCode() != want || bytes.Contains(resp.Body(), []byte("<profiles>")) {
				t.Errorf("%s: %d, %s", target, resp.StatusCode(), resp.Body())
			}
		}
	}
	if status := get(pprofhandler.Handler("/"), "/goroutine?debug=1").StatusCode(); status != 200 {
		t.Errorf("at the root: %d", status)
	}
	defer func() {
		if recover() == nil {
			t.Error("a prefix without a slash before it is taken")
		}
	}()
	pprofhandler.Handler("debug/pprof")
}

// A long body of program counters is not kept.
func TestLongSymbols(t *testing.T) {
	var ctx gallop.RequestCtx
	ctx.Request.SetRequestURI("http://localhost/debug/pprof/symbol")
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.SetBodyString(strings.Repeat("0+", 1<<20))
	handler(&ctx)
	if body := string(ctx.Response.Body()); !strings.Contains(body, "the body cannot be read") {
		t.Errorf("%.200q", body)
	}
}
