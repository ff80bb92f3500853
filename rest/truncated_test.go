package rest_test

import (
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gallop-http/gallop/codec"
	"github.com/gallop-http/gallop/rest"
)

// A document that is cut off anywhere is io.ErrUnexpectedEOF, if a json.Decoder says so, however long it is.
func TestCutAnywhere(t *testing.T) {
	document := `{"login":"a \"quoted\" \u00fc\ud83d\ude00 ü","id":-12.5e+3,"site":true,"gone":null,"list":[1,[2],{"a":{"b":[false]}}],"at":"2026-01-02T03:04:05Z"}`
	type user struct {
		Login string
		ID    float64
		Site  bool
		Gone  *int
		List  []any
		At    json.RawMessage
	}
	type embedded struct{ user }
	long := `{"pad":"` + strings.Repeat("x", 1<<20) + `","deep":[{"a":` + strings.Repeat(" ", 70_000) + `1}],` + document[1:]
	types := []reflect.Type{
		reflect.TypeFor[user](), reflect.TypeFor[embedded](), reflect.TypeFor[map[string]json.RawMessage](), reflect.TypeFor[any](), reflect.TypeFor[ownText](),
		reflect.TypeFor[json.RawMessage](),
	}
	for _, typ := range types {
		for cut := 1; cut < len(document); cut++ {
			for _, one := range []codec.JSON{rest.DefaultCodec, {KeepHTML: true}, {IgnoreTrailing: true, RefuseUnknown: true}} {
				checkCut(t, one, document[:cut], typ)
			}
		}
		for _, cut := range []int{1 << 16, 1<<16 + 1, 1<<20 + 8, 1<<20 + 9, 1<<20 + 16, 1<<20 + 60_000, 1<<20 + 70_020, len(long) - 9, len(long) - 2, len(long) - 1} {
			err := rest.DecodeFrom(rest.DefaultCodec, strings.NewReader(long[:cut]), reflect.New(typ).Interface())
			if e := as[*rest.DecodeError](t, err); !errors.Is(err, io.ErrUnexpectedEOF) || e.Offset != int64(cut) {
				t.Errorf("%s, %d bytes: %v", typ, cut, err)
			}
		}
	}
	for _, whole := range []string{`"text"`, "-12.5e+3", "true", "[1,2]", `"\ud83d\ude00"`, "[[[]]]"} {
		for cut := 1; cut < len(whole); cut++ {
			checkCut(t, rest.DefaultCodec, whole[:cut], reflect.TypeFor[any]())
		}
	}
}

// checkCut decodes text in every way and compares with a json.Decoder.
func checkCut(t *testing.T, c codec.JSON, text string, typ reflect.Type) {
	t.Helper()
	err := json.NewDecoder(strings.NewReader(text)).Decode(reflect.New(typ).Interface())
	cut := errors.Is(err, io.ErrUnexpectedEOF)
	got := map[string]error{
		"whole":  rest.Decode(c, []byte(text), reflect.New(typ).Interface()),
		"stream": rest.DecodeFrom(c, strings.NewReader(text), reflect.New(typ).Interface()),
		"bytes":  rest.DecodeFrom(c, iotest.OneByteReader(strings.NewReader(text)), reflect.New(typ).Interface()),
	}
	for way, err := range got {
		if errors.Is(err, io.ErrUnexpectedEOF) != cut {
			t.Errorf("%+v, %s, %s, %d bytes …%q: got %v, cut %t", c, typ, way, len(text), text[max(len(text)-30, 0):], err, cut)
		}
		if cut && as[*rest.DecodeError](t, err).Offset != int64(len(text)) {
			t.Errorf("%s, %s, %d bytes: %v", typ, way, len(text), err)
		}
	}
}

// Calls say it as well, whatever the length of the body, and whether it is said.
func TestCutBodies(t *testing.T) {
	for _, size := range []int{20, 1000, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2 << 20} {
		text := `{"login":"` + strings.Repeat("x", size-12) + `"}`
		for _, said := range []bool{true, false} {
			for _, cut := range []int{1, len(text) / 2, len(text) - 1} {
				_, err := rest.Get[gopher](t.Context(), overLength(t, []byte(text[:cut]), said), "a")
				if as[*rest.DecodeError](t, err); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%d of %d bytes, length said %t: %v", cut, len(text), said, err)
				}
			}
		}
	}
}

// Data after the value is treated alike at every size: it is ignored, or it is encoding/json's error at its position.
func TestBehindTheValue(t *testing.T) {
	for _, pad := range []int{0, 1 << 20} {
		value := `{"login":"` + strings.Repeat("x", pad) + `"}`
		for _, behind := range []string{"", " \n", "}", "x", "  {}", "1", `"`, "\x00", "\ufeff", strings.Repeat(" ", pad+70_000) + "]"} {
			for _, one := range []codec.JSON{rest.DefaultCodec, {KeepHTML: true}, {RefuseUnknown: true}} {
				for _, said := range []bool{true, false} {
					c, err := overLength(t, []byte(value+behind), said).Clone(rest.WithCodec(one))
					if err != nil {
						t.Fatal(err)
					}
					got, err := rest.Get[gopher](t.Context(), c, "a")
					wrong := !one.IgnoreTrailing && strings.TrimSpace(behind) != ""
					var syntax *json.SyntaxError
					switch {
					case !wrong && len(got.Login) != pad:
						t.Errorf("%d bytes, behind %.5q, %+v: the value is missing", pad, behind, one)
					case !wrong && err != nil:
						t.Errorf("%d bytes, behind %.5q, %+v: %v", pad, behind, one, err)
					case wrong && !errors.As(err, &syntax):
						t.Errorf("%d bytes, behind %.5q, %+v: got %v, want a json.SyntaxError", pad, behind, one, err)
					case wrong:
						at := int64(len(value) + len(behind) - len(strings.TrimLeft(behind, " ")) + 1)
						if e := as[*rest.DecodeError](t, err); e.Offset != at || syntax.Offset != at {
							t.Errorf("%d bytes, behind %.5q, %+v: %v, want offset %d", pad, behind, one, e, at)
						}
					}
				}
			}
		}
	}
	for _, blanks := range []int{0, 5, 1<<20 - 1, 1 << 20, 2 << 20} {
		for _, said := range []bool{true, false} {
			got := gopher{Login: "as it was"}
			if _, err := overLength(t, []byte(strings.Repeat(" ", blanks)), said).Request().Get("a", &got); err != nil || got.Login != "as it was" {
				t.Errorf("%d bytes of white space, length said %t: %+v, %v", blanks, said, got, err)
			}
		}
	}
}
