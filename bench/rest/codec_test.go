package rest

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bytedance/sonic"
	"github.com/gallop-http/gallop/bench/rest/data"
	gallopcodec "github.com/gallop-http/gallop/codec"
	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	goccy "github.com/goccy/go-json"
	segmentio "github.com/segmentio/encoding/json"
)

// codec is a JSON package under comparison.
type codec struct {
	name   string
	decode func([]byte, any) error
	encode func(io.Writer, any) error
}

// galloped is the codec that package rest uses.
var galloped = gallopcodec.JSON{KeepHTML: true, IgnoreTrailing: true}

var codecs = []codec{
	{"std", stdjson.Unmarshal, func(w io.Writer, v any) error {
		e := stdjson.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}},
	{"rest", galloped.Decode, galloped.Encode},
	{"experiment-v2", func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) }, func(w io.Writer, v any) error { return jsonv2.MarshalWrite(w, v) }},
	{"experiment-v1", jsonv1.Unmarshal, func(w io.Writer, v any) error {
		e := jsonv1.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}},
	{"goccy", goccy.Unmarshal, func(w io.Writer, v any) error {
		return goccy.NewEncoder(w).EncodeWithOption(v, goccy.DisableHTMLEscape())
	}},
	{"sonic", sonic.ConfigStd.Unmarshal, func(w io.Writer, v any) error {
		e := sonic.ConfigStd.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}},
	{"segmentio", segmentio.Unmarshal, func(w io.Writer, v any) error {
		e := segmentio.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}},
}

func BenchmarkCodecDecode500KB(b *testing.B) {
	text := data.JSON(500 << 10)
	for _, c := range codecs {
		b.Run("codec="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var list []data.Issue
				if err := c.decode(text, &list); err != nil || len(list) < 100 {
					b.Fatal(err, len(list))
				}
			}
		})
	}
}

func BenchmarkCodecEncode500KB(b *testing.B) {
	list := data.IssuesOf(500 << 10)
	for _, c := range codecs {
		b.Run("codec="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			var buf bytes.Buffer
			for b.Loop() {
				buf.Reset()
				if err := c.encode(&buf, list); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// shapes are documents of different structure, and the values that they are decoded into.
var shapes = []struct {
	name  string
	text  func(size int) []byte
	value func() any
}{
	{"list", data.JSON, func() any { return new([]data.Issue) }},
	{"any", data.JSON, func() any { return new(any) }},
	{"maps", data.JSON, func() any { return new([]map[string]any) }},
	{"object", func(n int) []byte { return wrap(`{"total":1,"items":`, data.JSON(n), "}") }, func() any { return new(struct{ Items []data.Issue }) }},
	{"map", members, func() any { return new(map[string]data.Issue) }},
	{"raw", func(n int) []byte { return wrap(`{"data":`, data.JSON(n), "}") }, func() any { return new(struct{ Data stdjson.RawMessage }) }},
	{"ignored", func(n int) []byte { return wrap(`{"data":`, data.JSON(n), "}") }, func() any { return new(struct{ Other int }) }},
	{"string", repeated(`"`, "0123456789abcdef", "", `"`), func() any { return new(string) }},
	{"escapes", repeated(`"`, `0123456789ab\"\n`, "", `"`), func() any { return new(string) }},
	{"strings", repeated("[", `"gopher"`, ",", "]"), func() any { return new([]string) }},
	{"integers", repeated("[", "1234567890123456789", ",", "]"), func() any { return new([]int64) }},
	{"floats", repeated("[", "-123.456", ",", "]"), func() any { return new([]float64) }},
}

func wrap(before string, text []byte, after string) []byte {
	return slices.Concat([]byte(before), text, []byte(after))
}

// repeated returns a function that repeats one until there are about size bytes.
func repeated(before, one, between, after string) func(size int) []byte {
	return func(size int) []byte {
		return []byte(before + strings.Repeat(one+between, size/(len(one)+len(between))) + one + after)
	}
}

// members returns about size bytes of issues as the members of an object.
func members(size int) []byte {
	m := map[string]data.Issue{}
	for i, issue := range data.IssuesOf(size) {
		m["issue "+strconv.Itoa(i)] = issue
	}
	text, err := stdjson.Marshal(m)
	if err != nil {
		panic(err)
	}
	return text
}

// BenchmarkDecodeShapes decodes a body of 4 MB while it arrives. encoding/json decodes it after io.ReadAll.
func BenchmarkDecodeShapes(b *testing.B) {
	for _, shape := range shapes {
		text := shape.text(4 << 20)
		for _, c := range []struct {
			name   string
			decode func(io.Reader, any) error
		}{
			{"std", func(r io.Reader, v any) error {
				all, err := io.ReadAll(r)
				if err != nil {
					return err
				}
				return stdjson.Unmarshal(all, v)
			}},
			{"rest", galloped.DecodeFrom},
		} {
			b.Run("shape="+shape.name+"/codec="+c.name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if err := c.decode(bytes.NewReader(text), shape.value()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
