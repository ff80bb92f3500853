package framing_test

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// TestServerAllocatesByWhatArrives checks that n bytes on a new connection make the server allocate at most 16 KiB +
// 4n before the handler runs, whatever they announce.
func TestServerAllocatesByWhatArrives(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	if servertest.RaceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	inputs := map[string]string{
		"length of 4 MiB, nothing sent":   wiretest.Post("Content-Length: 4194304", ""),
		"length of 4 MiB, some sent":      wiretest.Post("Content-Length: 4194304", strings.Repeat("x", 10000)),
		"chunk of 4 MiB, nothing sent":    wiretest.Post("Transfer-Encoding: chunked", "3fffff\r\n"),
		"chunks of one octet":             wiretest.Post("Transfer-Encoding: chunked", strings.Repeat("1\r\nx\r\n", 10000)+"0\r\n\r\n"),
		"body of 1 MiB":                   wiretest.Post("Content-Length: 1048576", strings.Repeat("x", 1<<20)),
		"250 fields":                      get(strings.Repeat("A: b\r\n", 250) + "C: d"),
		"one field of 60 KiB":             get("A: " + strings.Repeat("b", 60<<10)),
		"head that never ends":            "GET / HTTP/1.1\r\n" + strings.Repeat("A: b\r\n", 20000),
		"line that never ends":            strings.Repeat("G", 1<<20),
		"target of 16 KiB":                "GET /" + strings.Repeat("a/", 8000) + " HTTP/1.1\r\nHost: a\r\n\r\n",
		"form of many parts, parsed late": multipartForm(2000),
		"many cookies":                    get("Cookie: " + strings.Repeat("a=b; ", 10000) + "c=d"),
		"one octet":                       "G",
		"nothing":                         "",
	}
	for _, c := range wiretest.ServerCases(t, func(c *wiretest.Case) bool { return len(c.Steps) == 0 }) {
		inputs[c.ID] = string(c.Bytes())
	}
	for name, stream := range map[string]bool{"whole bodies": false, "streamed bodies": true} {
		t.Run(name, func(t *testing.T) {
			for name, in := range inputs {
				bound := uint64(16<<10 + 4*len(in))
				var got []uint64
				for range 3 {
					got = append(got, allocatedBeforeHandler(in, stream))
				}
				slices.Sort(got)
				if median := got[len(got)/2]; median > bound {
					t.Errorf("%s: %d octets in, %d allocated, want at most %d", name, len(in), median, bound)
				}
			}
		})
	}
}

// allocatedBeforeHandler serves a connection that brings these bytes and ends. It returns how much was allocated
// until the handler first ran or, if it did not run, until the connection was closed.
func allocatedBeforeHandler(in string, stream bool) uint64 {
	var before, after runtime.MemStats
	var once sync.Once
	stop := func() { once.Do(func() { runtime.ReadMemStats(&after) }) }
	s := &gallop.Server{StreamRequestBody: stream, Logger: new(servertest.Log)}
	s.Handler = func(ctx *gallop.RequestCtx) {
		stop()
		ctx.SetConnectionClose()
	}
	client, server := wiretest.Pipe()
	_, _ = io.WriteString(client, in)
	_ = client.CloseWrite()
	runtime.ReadMemStats(&before)
	_ = s.ServeConn(server)
	stop()
	_ = client.Close()
	return after.TotalAlloc - before.TotalAlloc
}

// multipartForm is a request with a form of n small parts.
func multipartForm(n int) string {
	body := strings.Repeat("--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n", n) + "--X--\r\n"
	return wiretest.Post(fmt.Sprintf("Content-Type: multipart/form-data; boundary=X\r\nContent-Length: %d", len(body)), body)
}

// growth makes a request of about n bytes that must be read in a time linear in n.
type growth struct {
	name string
	make func(n int) string
	use  func(*gallop.RequestCtx)
}

func repeated(prefix, unit, suffix string) func(int) string {
	return func(n int) string { return prefix + strings.Repeat(unit, n/len(unit)) + suffix }
}

func inTarget(unit string) func(int) string {
	return repeated("GET /", unit, " HTTP/1.1\r\nHost: a\r\n\r\n")
}

func inField(line, unit string) func(int) string {
	return repeated("GET / HTTP/1.1\r\nHost: a\r\n"+line, unit, "\r\n\r\n")
}

func inForm(unit string) func(int) string {
	return func(n int) string {
		body := strings.Repeat(unit, n/len(unit))
		return wiretest.Post(fmt.Sprintf("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d", len(body)), body)
	}
}

func inChunks(unit string) func(int) string {
	return repeated("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", unit, "0\r\n\r\n")
}

func usePath(ctx *gallop.RequestCtx)  { ctx.Path() }
func useQuery(ctx *gallop.RequestCtx) { ctx.QueryArgs().Peek("none") }
func usePost(ctx *gallop.RequestCtx)  { ctx.PostArgs().Peek("none") }
func useForm(ctx *gallop.RequestCtx)  { _, _ = ctx.MultipartForm() }
func useCookies(ctx *gallop.RequestCtx) {
	ctx.Request.Header.Cookie("none")
	for range ctx.Request.Header.Cookies() {
	}
}
func useFields(ctx *gallop.RequestCtx) {
	ctx.Request.Header.Peek("None")
	ctx.Request.Header.PeekAll("A")
	for range ctx.Request.Header.All() {
	}
}

var growths = []growth{
	{"many fields", inField("", "A: b\r\n"), useFields},
	{"many fields with names of their own", func(n int) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "X-%d: %d\r\n", i, i)
		}
		return get(b.String() + "A: b")
	}, useFields},
	{"many empty fields", inField("", "A:\r\n"), useFields},
	{"many fields of blanks", inField("", "A: \t \t \t \t\r\n"), useFields},
	{"long value", inField("A: ", "b"), useFields},
	{"long value of blanks", inField("A: b", " "), useFields},
	{"long name", inField("", "b"), useFields},
	{"long list of connection options", inField("Connection: ", "a, "), useFields},
	{"many connection fields", inField("", "Connection: a\r\n"), useFields},
	{"long list of expectations", inField("Expect: ", "a, "), useFields},
	{"long list of accepted codings", inField("Accept-Encoding: ", "gzip;q=0, "), func(ctx *gallop.RequestCtx) {
		ctx.Request.Header.HasAcceptEncoding("none")
	}},
	{"many trailers announced", inField("Trailer: ", "a, "), useFields},
	{"many cookies", inField("Cookie: ", "a=b; "), useCookies},
	{"cookies of nothing", inField("Cookie: ", ";"), useCookies},
	{"many cookie fields", inField("", "Cookie: a=b\r\n"), useCookies},
	{"quoted cookie without end", inField(`Cookie: a="`, "b"), useCookies},
	{"long target", inTarget("a"), usePath},
	{"many segments", inTarget("a/"), usePath},
	{"many empty segments", inTarget("/"), usePath},
	{"many dot segments", inTarget("./"), usePath},
	{"many segments back", inTarget("../"), usePath},
	{"there and back", inTarget("a/../"), usePath},
	{"all the way there, all the way back", func(n int) string {
		return "GET /" + strings.Repeat("a/", n/5) + strings.Repeat("../", n/5) + " HTTP/1.1\r\nHost: a\r\n\r\n"
	}, usePath},
	{"percent-encoded", inTarget("%41"), usePath},
	{"percent-encoded dots", inTarget("%2e%2e/"), usePath},
	{"percent signs", inTarget("%25"), usePath},
	{"many parameters", inTarget("?a=b&"), useQuery},
	{"parameters of nothing", repeated("GET /?", "&", " HTTP/1.1\r\nHost: a\r\n\r\n"), useQuery},
	{"parameters of equals signs", repeated("GET /?", "=", " HTTP/1.1\r\nHost: a\r\n\r\n"), useQuery},
	{"parameters of plus signs", repeated("GET /?", "+", " HTTP/1.1\r\nHost: a\r\n\r\n"), useQuery},
	{"long authority", repeated("GET http://", "a.", "/ HTTP/1.1\r\nHost: a\r\n\r\n"), usePath},
	{"long Host", repeated("GET / HTTP/1.1\r\nHost: ", "a.", "\r\n\r\n"), usePath},
	{"form of many values", inForm("a=b&"), usePost},
	{"form of nothing", inForm("&"), usePost},
	{"form of percent signs", inForm("%41=%42&"), usePost},
	{"form of many parts", func(n int) string { return multipartForm(n / 53) }, useForm},
	{"form of boundaries that are none", func(n int) string {
		body := strings.Repeat("\r\n--Y", n/5)
		return wiretest.Post(fmt.Sprintf("Content-Type: multipart/form-data; boundary=X\r\nContent-Length: %d", len(body)), body)
	}, useForm},
	{"long boundary", repeated("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Type: multipart/form-data; boundary=", "X", "\r\n\r\n"), useForm},
	{"many chunks", inChunks("1\r\nx\r\n"), usePost},
	{"many chunks with extensions", inChunks("1;a=b\r\nx\r\n"), usePost},
	{"chunk size of many digits", inChunks("0"), usePost},
	{"long body", func(n int) string { return wiretest.Post(fmt.Sprintf("Content-Length: %d", n), strings.Repeat("x", n)) }, usePost},
	{"many requests", func(n int) string { return strings.Repeat(get("A: b"), n/33) }, useFields},
	{"line that never ends", repeated("", "G", ""), usePath},
	{"empty lines", repeated("", "\r\n", ""), usePath},
}

// TestServerTimeIsLinear checks that twice the bytes take at most 2.5 times as long,
// under limits that let all of them in. That is measured over four doublings, since
// a single one shows steps, of caches and of pools, that say nothing about growth.
func TestServerTimeIsLinear(t *testing.T) {
	if servertest.RaceEnabled {
		t.Skip("how long something takes under the race detector says nothing")
	}
	size, attempts := 8<<10, 12
	if wiretest.Long() {
		size, attempts = 64<<10, 20
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it runs when it likes
	const most = 2.5 * 2.5 * 2.5 * 2.5
	for _, g := range growths {
		t.Run(g.name, func(t *testing.T) {
			small, large := g.make(size), g.make(16*size)
			var ratio float64
			for range attempts {
				a, b := fastest(g, small), fastest(g, large)
				if ratio = float64(b) / float64(a); ratio <= most {
					return
				}
			}
			t.Errorf("%d octets take %.1f times as long as %d, want at most %.1f", len(large), ratio, len(small), most)
		})
	}
}

// fastest serves the bytes a few times and returns the shortest duration: longer ones are not the server's fault.
func fastest(g growth, in string) time.Duration {
	s := &gallop.Server{
		Logger:              new(servertest.Log),
		MaxHeaderBytes:      64 << 20,
		MaxHeaderFields:     1 << 24,
		MaxRequestLineBytes: 64 << 20,
		MaxRequestBodySize:  64 << 20,
		Handler:             g.use,
	}
	runtime.GC()
	best := time.Hour
	for range 5 {
		client, server := wiretest.Pipe()
		_, _ = io.WriteString(client, in)
		_ = client.CloseWrite()
		best = min(best, timeOf(func() { _ = s.ServeConn(server) }))
		_ = client.Close()
	}
	return best
}

func timeOf(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// TestServerOutlivesAClientThatDoesNotRead pipelines requests without reading the responses: the server must stop
// reading requests instead of gathering responses forever.
func TestServerOutlivesAClientThatDoesNotRead(t *testing.T) {
	if !wiretest.Beside(t) {
		return
	}
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		wiretest.CheckLeaks(t)
		var calls int
		s := &gallop.Server{Logger: new(servertest.Log), Handler: func(ctx *gallop.RequestCtx) {
			calls++
			ctx.SetBody(make([]byte, 1000))
		}}
		client, server := wiretest.Pipe()
		client.SetWindow(64 << 10)
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = on.Serve(s)(server)
		}()
		const n = 10000
		_, _ = io.WriteString(client, strings.Repeat(get("A: b"), n))
		if client.AwaitPeer(50 * time.Millisecond) {
			t.Error("the server read everything though nobody reads its answers")
		}
		_ = client.Close()
		<-served
		if calls > 1000 {
			t.Errorf("%d requests handled for a client that reads no answers", calls)
		}
	})
}
