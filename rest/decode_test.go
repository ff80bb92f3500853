package rest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/rest"
)

func TestDoTargets(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler gallop.RequestHandler
		v       any
		want    string // of v, as JSON, or
		err     error
	}{
		{"a pointer", text(200, `{"login":"a"}`), new(gopher), `{"login":"a"}`, nil},
		{"a pointer to a pointer", text(200, `{"login":"a"}`), new(*gopher), `{"login":"a"}`, nil},
		{"any", text(200, `[1,"b"]`), new(any), `[1,"b"]`, nil},
		{"nothing", text(200, "hello world"), nil, "null", nil},
		{"an empty body", text(200, ""), new(gopher), `{"login":""}`, nil},
		{"white space", text(200, "  \n\t "), new(gopher), `{"login":""}`, nil},
		{"no content", text(204, ""), new(json.RawMessage), "null", nil},
		{"accepted", text(202, `{"login":"later"}`), new(gopher), `{"login":"later"}`, nil},
		{"trailing data", text(200, `{"login":"a"}}`), new(gopher), `{"login":"a"}`, nil},
		{"a failing writer", text(200, "hello world"), failingWriter{}, "{}", errFull},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachTransport(t, tc.handler, func(t *testing.T, a *api, over rest.Option) {
				c := a.client(over)
				for range 2 {
					resp, err := c.Do(newRequest(t, c, "GET", "a", nil), tc.v)
					if !errors.Is(err, tc.err) || resp == nil || resp.StatusCode/100 != 2 {
						t.Fatalf("got %v, %v, want %v", resp, err, tc.err)
					}
					if got, _ := json.Marshal(tc.v); string(got) != tc.want {
						t.Errorf("got %s, want %s", got, tc.want)
					}
				}
			})
		})
	}
	a := serve(t, text(200, "hello world"))
	c := a.client()
	var b bytes.Buffer
	if _, err := c.Do(newRequest(t, c, "GET", "a", nil), &b); err != nil || b.String() != "hello world" {
		t.Error(b.String(), err)
	}
}

func TestDecodeErrors(t *testing.T) {
	type wrong struct {
		Items []struct{ Name int }
	}
	long := strings.Repeat(" ", 1<<20)
	for _, tc := range []struct {
		name, body string
		v          any
		strict     bool
		offset     int64 // -1 is somewhere
		path       string
	}{
		{"no JSON", "not valid json", new(gopher), false, 2, ""},
		{"the wrong type", `{"Items":[{"Name":"x"}]}`, new(wrong), false, -1, "Items.Name"},
		{"cut off", `{"login":"a"`, new(gopher), false, 12, ""},
		{"trailing data, strict", `{"login":"a"}}`, new(gopher), true, 14, ""},
		{"no JSON, long", long + "not valid json", new(gopher), false, 1<<20 + 2, ""},
		{"an element, long", `[{"login":"a"},{"login":1}` + long + "]", new([]gopher), false, -1, "[1].login"},
		{"no list, long", long + `{}`, new([]gopher), false, 1<<20 + 1, ""},
		{"cut off, long", `[{"login":"a"}` + long, new([]gopher), false, -1, ""},
		{"trailing data, long and strict", `[{"login":"a"}]` + long + "]", new([]gopher), true, 1<<20 + 16, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := serve(t, text(200, tc.body))
			c := a.client(rest.WithCodec(codec.JSON{IgnoreTrailing: !tc.strict}))
			resp, err := c.Do(newRequest(t, c, "GET", "a?token=hush", nil), tc.v)
			e := as[*rest.DecodeError](t, err)
			if tc.offset < 0 && e.Offset > 0 && e.Offset <= int64(len(tc.body)) {
				tc.offset = e.Offset
			}
			if e.Offset != tc.offset || e.Path != tc.path || resp.StatusCode != 200 {
				t.Errorf("got %+v, want offset %d and path %q", e, tc.offset, tc.path)
			}
			if s := err.Error(); !strings.HasPrefix(s, "rest: GET http://api.test/v1/a?token=REDACTED: ") {
				t.Error(s)
			}
		})
	}
	a := serve(t, text(200, `{"login":"a","more":1}`))
	c := a.client(rest.WithCodec(codec.JSON{RefuseUnknown: true}))
	_, err := c.Do(newRequest(t, c, "GET", "a", nil), new(gopher))
	as[*rest.DecodeError](t, err)
}

// Bodies of all lengths around the sizes of buffers, with and without a length.
func TestDecodeSizes(t *testing.T) {
	unknown := func(ctx *gallop.RequestCtx, body string) {
		ctx.SetBodyStream(struct{ io.Reader }{strings.NewReader(body)}, -1)
	}
	for _, size := range []int{2, 3, 1022, 1023, 1024, 1025, 4096, 65535, 1<<20 - 1, 1 << 20, 1<<20 + 1} {
		body := `"` + strings.Repeat("x", size-2) + `"`
		a := serve(t, func(ctx *gallop.RequestCtx) {
			if ctx.QueryArgs().Has("unknown") {
				unknown(ctx, body)
				return
			}
			ctx.WriteString(body)
		})
		c := a.client()
		for _, path := range []string{"a", "a?unknown"} {
			got, err := rest.Get[string](t.Context(), c, path)
			if err != nil || got != body[1:size-1] {
				t.Errorf("%d bytes, %s: got %d, %v", size, path, len(got), err)
			}
		}
		small := a.client(rest.WithMaxBody(int64(size - 1)))
		exact := a.client(rest.WithMaxBody(int64(size)))
		for _, path := range []string{"a", "a?unknown"} {
			if _, err := rest.Get[string](t.Context(), small, path); !errors.Is(err, rest.ErrBodyTooLarge) {
				t.Errorf("%d bytes, %s: %v", size, path, err)
			} else {
				as[*rest.DecodeError](t, err)
			}
			if _, err := rest.Get[string](t.Context(), exact, path); err != nil {
				t.Errorf("%d bytes, %s, at the limit: %v", size, path, err)
			}
		}
	}
}

// Trailing data does not change the error for a value that does not fit.
func TestMistypedBeforeTrailing(t *testing.T) {
	for _, text := range []string{`{"login":1}`, `{"login":1} x`, `{"login":1}{}`} {
		var v gopher
		var mistyped *json.UnmarshalTypeError
		if err := rest.Decode(rest.DefaultCodec, []byte(text), &v); !errors.As(err, &mistyped) || as[*rest.DecodeError](t, err).Path != "login" {
			t.Errorf("%s: %v", text, err)
		}
		var syntax *json.SyntaxError
		if err := rest.Decode(rest.DefaultCodec, []byte(text[:len(text)-1]+"]"), &v); !errors.As(err, &syntax) && !errors.As(err, &mistyped) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNoAnswerAtAll(t *testing.T) {
	c, err := rest.New("http://api.test/", rest.WithTransport(roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil })), rest.WithRetry(rest.Retry{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Request().Get("a", nil)
	as[*rest.RequestError](t, err)
}

// An http.Response that somebody has put together may have a body and say nothing of its length.
func TestLengthNotSet(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		c, err := rest.New("http://api.test/", rest.WithTimeout(timeout), rest.WithTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"login":"x"}`))}, nil
		})))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := rest.Get[gopher](t.Context(), c, "a"); err != nil || got.Login != "x" {
			t.Error(got, err)
		}
	}
}

func TestNoLimit(t *testing.T) {
	a := serve(t, text(200, `"a"`))
	if got, err := rest.Get[string](t.Context(), a.client(rest.WithMaxBody(math.MaxInt64)), "a"); err != nil || got != "a" {
		t.Error(got, err)
	}
}

// A list that is decoded element by element is what it would be otherwise.
func TestDecodeLists(t *testing.T) {
	pad := strings.Repeat(" ", 1<<17)
	one := 1
	check := func(body string, v, want any) {
		t.Helper()
		err := rest.DecodeFrom(rest.DefaultCodec, strings.NewReader(body), v)
		wantErr := json.Unmarshal([]byte(body), want)
		got, _ := json.Marshal(v)
		wanted, _ := json.Marshal(want)
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, wanted) {
			t.Errorf("%.20q: %s, %v; want %s, %v", body, got, err, wanted, wantErr)
		}
	}
	for _, body := range []string{"[]", "null", " [1, 2,\n3 ] ", "[1,null]", "[" + pad + "7]"} {
		check(body, new([]int), new([]int))
		check(body, &[]int{9, 8}, &[]int{9, 8})
		check(body, new([]*int), new([]*int))
		check(body, &[]*int{&one}, &[]*int{&one})
		check(body, new([]any), new([]any))
		check(body, new([3]int), new([3]int))
		check(body, new(json.RawMessage), new(json.RawMessage))
	}
	check(`"AAEC"`, new([]byte), new([]byte))
}

// Lists that are longer than what is in memory of them, whole and broken, are what encoding/json makes of them, however
// their bytes come.
func TestDecodeWindows(t *testing.T) {
	rounds, most := 8, 400
	if wiretest.Full() {
		rounds = 24
	}
	if rest.RaceEnabled {
		rounds, most = 4, 150
	}
	random := rand.New(rand.NewPCG(1, 2))
	for round := range rounds {
		var text []byte
		for i := range 1 + random.IntN(most) {
			text = append(text, "[,"[min(i, 1)])
			for range random.IntN(3) {
				text = append(text, " \n\t"[random.IntN(3)])
			}
			size := random.IntN(500)
			if random.IntN(100) == 0 {
				size = 150_000 + random.IntN(100_000)
			}
			text = fmt.Appendf(text, `{"login":"%s","n":%d}`, strings.Repeat("x", size), random.IntN(1000))
		}
		text = append(text, " ]\n"...)
		switch at := random.IntN(len(text)); round % 4 {
		case 0:
			text = text[:at]
		case 1:
			text[at] = `]},"0 `[random.IntN(6)]
		case 2:
			text = append(text[:at:at], append([]byte(`,{"n":"wrong"},{"LOGIN":"folds"},`), text[at:]...)...)
		}
		type element struct {
			gopher // makes it no plain one
			N      int
		}
		for _, v := range [][2]any{{new([]logged), new([]logged)}, {new([]element), new([]element)}, {new([]map[string]any), new([]map[string]any)}} {
			wantErr := json.Unmarshal(text, v[1])
			for _, src := range []io.Reader{bytes.NewReader(text), iotest.HalfReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
				reflect.ValueOf(v[0]).Elem().SetZero()
				err := rest.DecodeFrom(codec.JSON{}, src, v[0])
				if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(v[0], v[1]) {
					t.Fatalf("round %d, %T: %v, want %v", round, v[0], err, wantErr)
				}
				if err != nil {
					e := as[*rest.DecodeError](t, err)
					if e.Offset < 0 || e.Offset > int64(len(text)) {
						t.Errorf("round %d: offset %d of %d", round, e.Offset, len(text))
					}
					var syntax, want *json.SyntaxError
					if errors.As(err, &syntax) && errors.As(wantErr, &want) && max(e.Offset-want.Offset, want.Offset-e.Offset) > 2000 {
						t.Errorf("round %d, %T: offset %d, want about %d", round, v[0], e.Offset, want.Offset) // a json.Decoder does not count what is between elements
					}
				}
			}
		}
	}
}

// An element may end where there is no more in memory, or only seem to.
func TestDecodeNumbersInWindows(t *testing.T) {
	var want []int
	for i := range 30_000 {
		want = append(want, 1234567*i)
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	places := 12
	if rest.RaceEnabled {
		places = 3
	}
	for from := range places {
		var got []int
		if err := rest.DecodeFrom(rest.DefaultCodec, strings.NewReader(strings.Repeat(" ", from)+string(text)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %d numbers, %v", from, len(got), err)
		}
	}
}

// logged is a plain type.
type logged struct {
	Login string
	N     int
}

// Decoded values do not change with the buffers, which race builds overwrite.
func TestDecodedIsKept(t *testing.T) {
	body := `{"login":"` + strings.Repeat("gopher", 50) + `"}`
	a := serve(t, text(200, body, "X-Kept: for ever"))
	c := a.client()
	var raw json.RawMessage
	resp, err := c.Do(newRequest(t, c, "GET", "a", nil), &raw)
	first, err2 := rest.Get[gopher](t.Context(), c, "a")
	for range 20 {
		_, _ = rest.Post[gopher](t.Context(), c, "a", strings.Repeat("!", 900))
	}
	if err != nil || err2 != nil || string(raw) != body || first.Login != strings.Repeat("gopher", 50) || resp.Header("x-kept") != "for ever" {
		t.Errorf("got %s, %v, %v", raw, first, resp)
	}
}

func TestGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(`{"login":"` + strings.Repeat("a", 5000) + `"}`))
	w.Close()
	zipped := func(ctx *gallop.RequestCtx) {
		if got := string(ctx.Request.Header.Peek("Accept-Encoding")); got != "gzip" {
			t.Errorf("Accept-Encoding %q", got)
		}
		answer(ctx, 200, z.String(), "Content-Encoding: gzip")
	}
	eachTransport(t, zipped, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for range 3 {
			if got, err := rest.Get[gopher](t.Context(), c, "a"); err != nil || len(got.Login) != 5000 {
				t.Fatal(len(got.Login), err)
			}
		}
		if _, err := rest.Get[gopher](t.Context(), a.client(over, rest.WithMaxBody(4000)), "a"); !errors.Is(err, rest.ErrBodyTooLarge) {
			t.Error("what is decompressed is not limited", err)
		}
	})
	eachTransport(t, echo, func(t *testing.T, a *api, over rest.Option) { // who wants none gets none
		c := a.client(over)
		if got := said(t, c, c.Request().SetContext(t.Context()).SetHeader("Accept-Encoding", "").SetTarget("GET", "a")); strings.Contains(got, "gzip") || strings.Count(got, "Accept-Encoding:") != 1 {
			t.Errorf("%q", got)
		}
	})
	a := serve(t, text(200, "no gzip at all", "Content-Encoding: gzip"))
	_, err := rest.Get[gopher](t.Context(), a.client(), "a")
	as[*rest.RequestError](t, err)
}

// A call does not wait for a stream that nobody wants, whether it follows a response or a redirect.
func TestUnwantedStreams(t *testing.T) {
	eachTransport(t, func(ctx *gallop.RequestCtx) {
		if string(ctx.Path()) == "/v1/moved" {
			ctx.SetStatusCode(302)
			ctx.Response.Header.Set("Location", "stream")
		}
		ctx.SetBodyStream(&dripping{}, -1)
	}, func(t *testing.T, a *api, over rest.Option) {
		tr := &http.Transport{DialContext: a.dial}
		t.Cleanup(tr.CloseIdleConnections)
		for _, over := range []rest.Option{over, rest.WithTransport(roundTripper(tr.RoundTrip))} { // also if it is one around another
			c := a.client(over)
			for _, path := range []string{"stream", "moved"} {
				begun := time.Now()
				if _, err := c.Request().SetContext(t.Context()).Get(path, nil); err != nil {
					t.Error(err)
				}
				if took := time.Since(begun); took > 500*time.Millisecond {
					t.Errorf("%s: %v", path, took)
				}
			}
		}
		time.Sleep(time.Minute) // what the server sends meanwhile is for nobody
	})
}

// Connections are used again whatever became of the body.
func TestConnectionsAreKept(t *testing.T) {
	eachTransport(t, text(200, `{"login":"a"} `+strings.Repeat(" ", 30000)), func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		for _, v := range []any{nil, new(gopher), failingWriter{}, new(int), new(gopher)} {
			_, _ = c.Do(newRequest(t, c, "GET", "a", nil), v)
			if synctest.Wait(); a.dials.Load() != 1 {
				t.Errorf("%T: %d connections", v, a.dials.Load())
			}
		}
	})
}

func TestOpen(t *testing.T) {
	eachTransport(t, text(200, "hello", "X-A: 1", "X-B: 2", "x-a: 3"), func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithTimeout(time.Minute))
		resp, err := c.Open(newRequest(t, c, "GET", "a", nil))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if string(body) != "hello" || err != nil || resp.URL() != "http://api.test/v1/a" {
			t.Error(body, err, resp.URL())
		}
		resp.Body.Close()
		resp.Body.Close()
		seen := map[string]string{}
		for name, values := range resp.Headers() {
			if _, again := seen[name]; again {
				t.Errorf("%s comes twice", name)
			}
			seen[name] = strings.Join(values, ",")
		}
		if seen["X-A"] != "1,3" || seen["X-B"] != "2" || resp.Header("x-b") != "2" || resp.Header("none") != "" {
			t.Error(seen)
		}
		resp, err = c.Request().Head("a")
		if err != nil || resp.StatusCode != 200 {
			t.Error(resp, err)
		}
	})
}

// A body may be closed while it is read, as those of net/http may: its reader gets an error, and its memory goes to
// no other call before that.
func TestBodiesMayBeClosedWhileTheyAreRead(t *testing.T) {
	endless := func(w *bufio.Writer) {
		for {
			if _, err := w.WriteString(strings.Repeat("x", 4096)); err != nil {
				return
			}
		}
	}
	for name, h := range map[string]gallop.RequestHandler{
		"plain": func(ctx *gallop.RequestCtx) { ctx.SetBodyStreamWriter(endless) },
		"gzip": func(ctx *gallop.RequestCtx) {
			ctx.Response.Header.Set("Content-Encoding", "gzip")
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				z, _ := gzip.NewWriterLevel(w, gzip.NoCompression)
				endless(bufio.NewWriter(z))
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := serve(t, h)
			c := a.client(rest.WithTimeout(time.Minute), rest.WithCache(1<<20))
			for range 50 {
				resp, err := c.Open(newRequest(t, c, "GET", "a", nil))
				if err != nil {
					t.Fatal(err)
				}
				begun, ended := make(chan struct{}), make(chan error, 1)
				go func() {
					p := make([]byte, 100)
					_, err := io.ReadFull(resp.Body, p)
					close(begun)
					for err == nil {
						if _, err = resp.Body.Read(p); bytes.ContainsFunc(p, func(r rune) bool { return r != 'x' }) {
							err = fmt.Errorf("read %q", p)
						}
					}
					ended <- err
				}()
				<-begun
				resp.Body.Close()
				if err := <-ended; !errors.Is(err, gallop.ErrBodyClosed) {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestCallsEnd(t *testing.T) {
	slow := func(ctx *gallop.RequestCtx) { time.Sleep(time.Hour) }
	eachTransport(t, slow, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over, rest.WithTimeout(time.Second))
		begun := time.Now()
		_, err := rest.Get[gopher](t.Context(), c, "a?api_key=hush")
		if e := as[*rest.RequestError](t, err); !errors.Is(err, context.DeadlineExceeded) || e.URL != "http://api.test/v1/a?api_key=REDACTED" || time.Since(begun) != time.Second {
			t.Error(err, time.Since(begun))
		}
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(why) })
		if _, err = rest.Get[gopher](ctx, c, "a"); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

// If the context ended a body, the error is the context's, whatever the transport returns.
func TestBodiesEnd(t *testing.T) {
	eachTransport(t, func(ctx *gallop.RequestCtx) { ctx.SetBodyStream(&dripping{}, -1) }, func(t *testing.T, a *api, over rest.Option) {
		why := errors.New("why")
		for _, v := range []any{io.Discard, new([]string), new(any)} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			_, err := a.client(over).Request().SetContext(ctx).Get("a", v)
			if as[*rest.RequestError](t, err); !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
				t.Errorf("%T: %v", v, err)
			}
			_, err = a.client(over, rest.WithTimeout(time.Second)).Request().SetContext(t.Context()).Get("a", v)
			if as[*rest.RequestError](t, err); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
				t.Errorf("%T: %v", v, err)
			}
		}
		time.Sleep(time.Minute) // what the server sends meanwhile is for nobody
	})
}
