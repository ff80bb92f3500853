package rest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/rest"
)

// The shapes that large bodies have.
type (
	found struct {
		ID     int64     `json:"id"`
		Title  string    `json:"title"`
		Body   string    `json:"body"`
		Open   bool      `json:"open"`
		Labels []string  `json:"labels"`
		User   *finder   `json:"user"`
		At     time.Time `json:"at"`
		Score  float64   `json:"score"`
	}
	finder struct {
		Login string `json:"login"`
		ID    int    `json:"id"`
	}
	search struct {
		Total int     `json:"total"`
		Items []found `json:"items"`
	}
	graph struct {
		Data struct {
			Repository struct {
				Issues struct {
					Nodes []*found `json:"nodes"`
				} `json:"issues"`
			} `json:"repository"`
		} `json:"data"`
	}
	nested struct {
		Value found             `json:"value"`
		Kids  map[string]nested `json:"kids"`
	}
	// ownText reads itself.
	ownText string
)

func (o *ownText) UnmarshalJSON(b []byte) error { *o = ownText(b[:min(len(b), 100)]); return nil }

const oneFound = `{"id":123456789,"title":"A title of some words","body":"A body that is \"quoted\"\nand longer than the rest of it, as bodies are, with an ü",` +
	`"open":true,"labels":["bug","help wanted"],"user":{"login":"gopher","id":4711,"avatar":"https://example.com/a"},"at":"2026-01-02T03:04:05Z","score":1.25}`

// repeated returns about size bytes of one, with commas between them.
func repeated(one string, size int) string {
	n := max(size/(len(one)+1), 1)
	return strings.Repeat(one+",", n-1) + one
}

func kids(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `"kid %d":{"value":%s,"kids":{}},`, i, oneFound)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// largeShape is made for a size; value returns what it is decoded into.
type largeShape struct {
	name  string
	text  func(size int) string
	value func() any
	// extra is how much of the text has to be in memory in one piece beside the value, unsaid how much more if the
	// length of the body is unknown.
	extra, unsaid float64
}

var largeShapes = []largeShape{
	{"list", func(n int) string { return "[" + repeated(oneFound, n) + "]" }, func() any { return new([]found) }, 0, 0},
	{"search result", func(n int) string { return `{"total":1,"items":[` + repeated(oneFound, n) + "]}" }, func() any { return new(search) }, 0, 0},
	{"graph", func(n int) string {
		return `{"data":{"repository":{"issues":{"nodes":[` + repeated(oneFound, n) + "]}}}}"
	}, func() any { return new(graph) }, 0, 0},
	{"nested objects", func(n int) string { return `{"value":` + oneFound + `,"kids":{` + kids(n) + "}}" }, func() any { return new(nested) }, 0, 0},
	{"map", func(n int) string { return `{` + kids(n) + "}" }, func() any { return new(map[string]nested) }, 0, 0},
	{"any", func(n int) string { return `{"total":1,"items":[` + repeated(oneFound, n) + "]}" }, func() any { return new(any) }, 0, 0},
	{"string", func(n int) string { return `{"login":"` + strings.Repeat("0123456789abcdef", n/16) + `"}` }, func() any { return new(gopher) }, 0, 1},
	{"string with escapes", func(n int) string { return `"` + strings.Repeat(`0123456789ab\"\n`, n/16) + `"` }, func() any { return new(string) }, 0, 1},
	{"string with escapes first", func(n int) string {
		return `"` + strings.Repeat(`\u0041`, n/50) + strings.Repeat("0123456789abcdef", n/18) + `"`
	}, func() any { return new(string) }, 0.4, 1.4},
	{"raw message", func(n int) string { return `{"data":[` + repeated(oneFound, n) + "]}" }, func() any { return new(struct{ Data json.RawMessage }) }, 0, 1},
	{"raw messages", func(n int) string { return "[" + repeated(oneFound, n) + "]" }, func() any { return new([]json.RawMessage) }, 0, 0},
	{"own UnmarshalJSONs", func(n int) string { return "[" + repeated(oneFound, n) + "]" }, func() any { return new([]ownText) }, 0, 0},
	{"own UnmarshalJSON", func(n int) string { return "[" + repeated(oneFound, n) + "]" }, func() any { return new(ownText) }, 1, 1},
	{"numbers", func(n int) string { return `{"data":[` + repeated("1234567", n) + "]}" }, func() any { return new(struct{ Data []int }) }, 0, 0},
	{"long numbers", func(n int) string { return `{"data":[` + repeated("1234567890123456789", n) + "]}" }, func() any { return new(struct{ Data []int64 }) }, 0, 0},
	{"strings", func(n int) string { return `{"data":[` + repeated(`"gopher"`, n) + "]}" }, func() any { return new(struct{ Data []string }) }, 0, 0},
	{"ignored", func(n int) string { return `{"data":[` + repeated(oneFound, n) + `],"login":"x"}` }, func() any { return new(gopher) }, 0, 0},
}

// sizes returns the sizes to test a shape with: small only, unless all sizes are asked for, and 6 MB of an object, of
// which a decoder that keeps the text would exceed every limit.
func (s *largeShape) sizes(small int, more ...int) []int {
	switch {
	case os.Getenv("GALLOP_LARGE") != "":
		return append(more, small, 6<<20, 16<<20, 63<<20)
	case s.name == "ignored" || s.name == "nested objects":
		return []int{small, 6 << 20}
	}
	return []int{small}
}

// overLength returns a client whose bodies are text, of a length that is said or not.
func overLength(t testing.TB, text []byte, said bool) *rest.Client {
	t.Helper()
	c, err := rest.New("http://api.test/", rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: -1, Request: r}
		if said {
			resp.ContentLength = int64(len(text))
		}
		return resp, nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// allocated returns how many bytes f allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// Bodies of every shape and size become the values that encoding/json makes. They cost the memory that encoding/json
// needs for the value, and a bounded buffer. A single long text may cost twice if the length of the body is unknown.
func TestLargeBodies(t *testing.T) {
	if rest.RaceEnabled {
		t.Skip("race builds allocate more")
	}
	if !wiretest.Beside(t) {
		return
	}
	const bounded = 1400 << 10
	for _, shape := range largeShapes {
		t.Run(shape.name, func(t *testing.T) {
			for _, size := range shape.sizes(1025<<10, 465<<10) {
				text := []byte(shape.text(size))
				want := shape.value()
				value := allocated(func() {
					if err := json.Unmarshal(text, want); err != nil {
						t.Fatal(err)
					}
				})
				for _, said := range []bool{true, false} {
					c := overLength(t, text, said)
					got := shape.value()
					most := 1.1*(value+shape.extra*float64(len(text))) + bounded
					if !said {
						most += shape.unsaid*float64(len(text)) + 1<<20 // buffers that grow to 1 MiB
					}
					bytes := allocated(func() {
						if _, err := c.Request().Get("a", got); err != nil {
							t.Fatal(err)
						}
					})
					if bytes > most {
						t.Errorf("%d bytes, length said %t: %.0f allocated, want at most %.0f", len(text), said, bytes, most)
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%d bytes, length said %t: another value", len(text), said)
					}
				}
			}
		})
	}
}

// A large body whose values do not fit is the error that encoding/json makes of it, and costs hardly more than one
// whose values do.
func TestLargeMistyped(t *testing.T) {
	if rest.RaceEnabled {
		t.Skip("race builds allocate more")
	}
	for _, one := range []string{`"x"`, "[1]", "{}", "true", "1.5", "12345678901234567890", "-1e999"} {
		text := []byte(`{"data":[1,` + repeated(one, 1100<<10) + "]}")
		var v, want struct{ Data []int }
		wantErr := json.Unmarshal(text, &want)
		c := overLength(t, text, true)
		var err error
		bytes := allocated(func() { _, err = c.Request().Get("a", &v) })
		var got, mistyped *json.UnmarshalTypeError
		if !errors.As(err, &got) || !errors.As(wantErr, &mistyped) || *got != *mistyped || as[*rest.DecodeError](t, err).Path != "Data" {
			t.Errorf("%s: got %+v, want %+v", one, got, mistyped)
		}
		if most := 15*8*float64(len(want.Data)) + 300<<10; bytes > most || !slices.Equal(v.Data, want.Data) {
			t.Errorf("%s: %.0f bytes allocated, want at most %.0f; %d elements, want %d", one, bytes, most, len(v.Data), len(want.Data))
		}
	}
}

// gauge is a body that looks at what is in memory while it is read.
type gauge struct {
	text []byte
	next int // when it looks again
	peak uint64
}

func (g *gauge) Read(p []byte) (n int, err error) {
	if len(g.text) <= g.next {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		g.peak = max(g.peak, m.HeapAlloc)
		g.next = len(g.text) - len(g.text)/4 - 1
	}
	if len(g.text) == 0 {
		return 0, io.EOF
	}
	n = copy(p, g.text)
	g.text = g.text[n:]
	return n, nil
}

// live returns how much is in memory behind a collection of garbage. Two of them empty the pools.
func live() float64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// peakOf decodes a body of a length that is said or not, and returns how much is in memory at most, and behind it,
// for the value.
func peakOf(t *testing.T, text []byte, said bool, v any) (peak, value float64) {
	t.Helper()
	g := &gauge{text: text, next: len(text)}
	length := int64(-1)
	if said {
		length = int64(len(text))
	}
	c, err := rest.New("http://api.test/", rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(g), ContentLength: length, Request: r}, nil
	})))
	if err != nil {
		t.Fatal(err)
	}
	before := live()
	if _, err := c.Request().Get("a", v); err != nil {
		t.Fatal(err)
	}
	value = live() - before
	runtime.KeepAlive(v)
	runtime.KeepAlive(text)
	return float64(g.peak) - before, value
}

// At no time more is in memory than the value and a bounded buffer.
func TestLargeBodiesPeak(t *testing.T) {
	if rest.RaceEnabled {
		t.Skip("race builds allocate more")
	}
	if !wiretest.Beside(t) {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // or most of the time goes to waiting for threads that sweep
	for _, shape := range largeShapes {
		t.Run(shape.name, func(t *testing.T) {
			for _, size := range shape.sizes(1500 << 10) {
				text := []byte(shape.text(size))
				for _, said := range []bool{true, false} {
					bounded, extra := float64(600<<10), shape.extra
					if !said {
						bounded += 2 << 20 // the buffer of 1 MiB, and the smaller ones that it has grown from
						extra += shape.unsaid
					}
					peak, value := peakOf(t, text, said, shape.value())
					if most := 1.1*(value+extra*float64(size)) + bounded; peak > most {
						t.Errorf("%d bytes, length said %t: %.0f in memory, want at most %.0f for a value of %.0f", size, said, peak, most, value)
					}
				}
			}
		})
	}
}

func BenchmarkLargeBodies(b *testing.B) {
	for _, shape := range largeShapes {
		for _, size := range []int{465 << 10, 1025 << 10, 8 << 20, 63 << 20} {
			text := []byte(shape.text(size))
			c := overLength(b, text, true)
			b.Run(fmt.Sprintf("%s/%dKB/rest", shape.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Request().Get("a", shape.value()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%dKB/json", shape.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					all, err := io.ReadAll(bytes.NewReader(text))
					if err != nil || json.Unmarshal(all, shape.value()) != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
