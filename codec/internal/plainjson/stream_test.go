package plainjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// checkStream decodes text as a stream through a small window and compares with encoding/json. Errors must have the
// same kind and position. After an error about a type, the values must be equal, too.
func checkStream(t *testing.T, text []byte, typ reflect.Type, window int, strict, refuse bool) {
	t.Helper()
	want := reflect.New(typ)
	j := json.NewDecoder(bytes.NewReader(text))
	if refuse {
		j.DisallowUnknownFields()
	}
	wantErr := j.Decode(want.Interface())
	if wantErr == nil && strict {
		wantErr = json.Unmarshal(text, new(json.RawMessage))
	}
	if wantErr == io.EOF {
		wantErr = io.ErrUnexpectedEOF
	}
	var src io.Reader = bytes.NewReader(text)
	if window%2 == 0 && len(text) < 4096 {
		src = iotest.OneByteReader(iotest.DataErrReader(src))
	}
	got := reflect.New(typ)
	err := DecodeFrom(src, got.Interface(), Options{make([]byte, 0, window), strict, refuse})
	where := fmt.Sprintf("%s, window of %d, strict %t, refuse %t: %.200q", typ, window, strict, refuse, text)
	var syntax, gotSyntax *json.SyntaxError
	var mistyped, gotMistyped *json.UnmarshalTypeError
	switch {
	case (err == nil) != (wantErr == nil):
		t.Fatalf("%s:\ngot  %v\nwant %v", where, err, wantErr)
	case err == nil:
		if !same(got.Interface(), want.Interface()) {
			t.Fatalf("%s:\ngot  %+v\nwant %+v", where, got.Elem(), want.Elem())
		}
	case err.Offset < 0 || err.Offset > int64(len(text)):
		t.Fatalf("%s: offset %d of %d", where, err.Offset, len(text))
	case errors.Is(wantErr, io.ErrUnexpectedEOF):
		if err.Err != io.ErrUnexpectedEOF {
			t.Fatalf("%s:\ngot  %v\nwant %v", where, err.Err, wantErr)
		}
	case errors.As(wantErr, &syntax):
		if !errors.As(err.Err, &gotSyntax) || syntax.Error() != gotSyntax.Error() || gotSyntax.Offset != syntax.Offset {
			t.Fatalf("%s:\ngot  %+v at %d\nwant %+v at %d", where, err.Err, err.Offset, wantErr, syntax.Offset)
		}
	case errors.As(wantErr, &mistyped):
		mistyped.Offset = min(mistyped.Offset, int64(len(text))) // encoding/json may count one more
		found := errors.As(err.Err, &gotMistyped)
		if number := bytes.TrimLeft(text, " \t\r\n"); found && len(number) > 0 && strings.IndexByte("-0123456789", number[0]) >= 0 {
			// A json.Decoder finds the end of a number in the byte after it, and counts that byte.
			mistyped.Offset -= min(max(mistyped.Offset-gotMistyped.Offset, 0), 1)
		}
		if !found || *gotMistyped != *mistyped && typ != reflect.TypeFor[unusual]() {
			t.Fatalf("%s:\ngot  %+v\nwant %+v", where, err.Err, wantErr)
		}
		if !same(got.Interface(), want.Interface()) {
			t.Fatalf("%s:\ngot  %+v\nwant %+v", where, got.Elem(), want.Elem())
		}
	}
}

func TestStreamTexts(t *testing.T) {
	for i, text := range texts() {
		for _, typ := range types {
			checkStream(t, []byte(text), typ, 16, i%2 == 0, i%3 == 0)
			checkStream(t, []byte(text), typ, 17, i%2 == 1, false)
		}
	}
}

func TestStreamRandomValues(t *testing.T) {
	total := 10_000
	if os.Getenv("GALLOP_LONG") != "" {
		total = 200_000
	}
	g := &gen{Rand: rand.New(rand.NewPCG(3, 4))}
	for i := range total {
		typ := types[g.IntN(len(types))]
		checkStream(t, g.next(typ), typ, 16+g.IntN(100), i%2 == 0, i%5 == 0)
	}
}

// Streams decode into existing values, and merge like encoding/json.
func TestStreamMerges(t *testing.T) {
	one := 1
	for _, text := range []string{
		`{"name":"x","left":{"s":"y"},"kids":[{"s":"z"},{"name":"k"},{}],"loose":{"a":1},"names":["n"]}`, `{"left":null,"kids":[],"loose":null,"names":null}`, `{"kids":[{}]}`, `null`, `{}`, `[]`,
	} {
		fresh := func() *tree {
			return &tree{Name: "old", Left: &tree{Name: "left"}, Kids: append(make([]tree, 0, 4), tree{Name: "a"}, tree{Name: "b"}), Loose: &one}
		}
		got, want := fresh(), fresh()
		err := DecodeFrom(strings.NewReader(text), got, Options{Window: make([]byte, 0, 16)})
		wantErr := json.Unmarshal([]byte(text), want)
		if (err == nil) != (wantErr == nil) || !same(got, want) {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v, %v", text, got, err, want, wantErr)
		}
	}
}
