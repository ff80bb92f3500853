package rest

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"testing"

	"github.com/bytedance/sonic"
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

var codecs = []codec{
	{"std", stdjson.Unmarshal, func(w io.Writer, v any) error {
		e := stdjson.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}},
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
	data := issuesJSON(500 << 10)
	for _, c := range codecs {
		b.Run("codec="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				var list []issue
				if err := c.decode(data, &list); err != nil || len(list) < 100 {
					b.Fatal(err, len(list))
				}
			}
		})
	}
}

func BenchmarkCodecEncode500KB(b *testing.B) {
	list := issuesOf(500 << 10)
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

// What encoding/json makes of a text, and whether another package agrees. TestCodecsAgree
// prints the differences; it is how the default was chosen.
func TestCodecsAgree(t *testing.T) {
	for _, text := range []string{
		`{"login":"a","login":"b"}`, `{"LOGIN":"a"}`, `{"login":"\ud800"}`, "{\"login\":\"\xff\"}", `{"login":null}`, `{"id":1e3}`,
		`{"id":12345678901234567890}`, `{"id":"1"}`, `{"login":"a"} x`, `{"login":"a",}`, "{\"login\":\"a\nb\"}", `{"login":"a\/b"}`,
		`{"id":01}`, `{"id":1.0}`, `{"login":"\u0000"}`, `nul`, `{"x":` + nested(200) + `}`, `{"x":` + nested(20000) + `}`, `{"login" "a"}`, `{'login':'a'}`, `[1]`, `{"site_admin":1}`,
	} {
		var want user
		wantErr := stdjson.Unmarshal([]byte(text), &want)
		for _, c := range codecs[1:] {
			var got user
			err := c.decode([]byte(text), &got)
			if (err == nil) != (wantErr == nil) || err == nil && got != want {
				t.Logf("%s: %.40q: %+v, %v; encoding/json: %+v, %v", c.name, text, got, err, want, wantErr)
			}
		}
	}
}
