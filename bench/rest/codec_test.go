package rest

import (
	"bytes"
	stdjson "encoding/json"
	"io"
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
