package codec_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/codec"
)

// The types whose values are compared with encoding/json.
type (
	plain struct {
		Name  string           `json:"name"`
		Count int              `json:"count,omitempty"`
		Ratio float64          `json:"ratio"`
		Small int8             `json:"small"`
		Done  bool             `json:"done"`
		Tags  []string         `json:"tags"`
		Next  *plain           `json:"next,omitempty"`
		Any   any              `json:"any"`
		At    time.Time        `json:"at,omitzero"`
		Table map[string]plain `json:"table,omitempty"`
		Raw   json.RawMessage  `json:"raw,omitempty"`
	}
	inner   struct{ A, B int }
	Outer   struct{ A string }
	deep    struct{ *Outer }
	strange struct {
		inner
		Outer
		N      json.Number            `json:"n"`
		Quoted int                    `json:"quoted,string"`
		Bytes  []byte                 `json:"bytes"`
		Array  [2]int                 `json:"array"`
		Addr   netip.Addr             `json:"addr"`
		Big    *big.Int               `json:"big"`
		Keys   map[int]string         `json:"keys"`
		Texts  map[netip.Addr]int     `json:"texts"`
		Iface  encoding.TextMarshaler `json:"iface"`
		Folds  int                    `json:"FOLDS"`
		Folds2 int                    `json:"folds"`
	}
	upper  string             // has MarshalText and UnmarshalText
	loud   struct{ s string } // has MarshalJSON and UnmarshalJSON
	broken struct{}           // fails to marshal and to unmarshal
	cycle  struct{ Next *cycle }
	list   []list
)

func (u upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(u))), nil }
func (u *upper) UnmarshalText(text []byte) error {
	*u = upper(strings.ToLower(string(text)))
	return nil
}
func (l loud) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, ` { "<%s>" : "&\u2028" } `, l.s), nil
}
func (l *loud) UnmarshalJSON(text []byte) error { l.s = "<" + string(text) + ">"; return nil }

// twice is a struct with two fields of the same name, both of which are ignored.
var twice = reflect.StructOf([]reflect.StructField{
	{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
})

var errBroken = errors.New("broken <&>")

func (broken) MarshalJSON() ([]byte, error) { return nil, errBroken }
func (*broken) UnmarshalJSON([]byte) error  { return errBroken }

// values are compared with json.Marshal.
func values() []any {
	loop := &cycle{}
	loop.Next = loop
	seven := 7
	self := list{nil}
	self[0] = self
	return []any{
		nil, true, 0, -1, int64(math.MinInt64), uint64(math.MaxUint64), 0.0, math.Copysign(0, -1), 1e20, 1e21, 1e-6, 1e-7, float32(1e-7), math.Pi,
		"", "<script>&amp;</script>", "\u2028\u2029", "\x00\x1f\x7f", "\xff\xc3(\xed\xa0\x80", "ü😀\\\"/", strings.Repeat("12345678<", 9),
		plain{}, &plain{Name: "<a>", Tags: []string{"&", ""}, Any: map[string]any{"<": []any{1.5, nil, "x"}}, Raw: json.RawMessage(` { "a" : "<\u2028>" } `)},
		plain{Next: &plain{At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))}, Table: map[string]plain{"b&": {}, "a": {Count: 1}}},
		strange{}, strange{Outer: Outer{"o"}, N: "1.50", Quoted: 3, Bytes: []byte("<>"), Addr: netip.IPv6Unspecified(), Big: big.NewInt(12), Keys: map[int]string{2: "<", -1: ""}},
		strange{Iface: upper("a<b"), Texts: map[netip.Addr]int{netip.IPv6Unspecified(): 1}}, deep{}, deep{&Outer{"x"}}, reflect.New(twice).Interface(),
		upper("a<b"), map[upper]int{"x&": 1}, []upper{"a", "b"}, loud{"x"}, &loud{"y"}, []loud{{"z"}}, map[string]loud{"k": {"v"}}, (*loud)(nil),
		json.Number("12e3"), json.Number(""), json.Number("x"), []json.Number{"1"}, json.RawMessage(nil), json.RawMessage("[1, 2]"), json.RawMessage("{"), []byte(nil), []byte{},
		[]int(nil), []int{}, [0]int{}, map[string]int(nil), map[string]int{}, &seven, (*int)(nil), struct{}{}, []any{}, [3]any{},
		math.Inf(1), math.NaN(), []any{math.Inf(-1)}, func() {}, make(chan int), map[string]any{"f": func() {}}, complex(1, 2), map[bool]int{true: 1}, broken{}, []any{"before", broken{}},
		loop, self, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Time{}, time.Duration(5), &time.Time{}, struct{ X any }{loud{"<"}}, reflect.TypeFor[int](),
	}
}

// sameError reports whether two errors have the same text, and are of the same types all the way down.
func sameError(a, b error) bool {
	for a != nil && b != nil {
		if a.Error() != b.Error() || reflect.TypeOf(a) != reflect.TypeOf(b) {
			return false
		}
		a, b = errors.Unwrap(a), errors.Unwrap(b)
	}
	return a == nil && b == nil
}

// checkEncode compares Encode and AppendEncode with encoding/json.
func checkEncode(t *testing.T, v any) {
	t.Helper()
	want, wantErr := json.Marshal(v)
	var got bytes.Buffer
	err := codec.JSON{}.Encode(&got, v)
	if !sameError(err, wantErr) || got.String() != string(want) {
		t.Errorf("%T %.200v:\ngot  %q, %v\nwant %q, %v", v, v, got.String(), err, want, wantErr)
	}
	appended, err := codec.JSON{}.AppendEncode([]byte("before"), v, nil)
	if !sameError(err, wantErr) || string(appended) != "before"+string(want) {
		t.Errorf("%T %.200v, appended:\ngot  %q, %v\nwant %q, %v", v, v, appended, err, want, wantErr)
	}
	var kept bytes.Buffer
	e := json.NewEncoder(&kept)
	e.SetEscapeHTML(false)
	wantErr = e.Encode(v)
	got.Reset()
	err = codec.JSON{KeepHTML: true}.Encode(&got, v)
	if !sameError(err, wantErr) || wantErr == nil && got.String()+"\n" != kept.String() {
		t.Errorf("%T %.200v, KeepHTML:\ngot  %q, %v\nwant %q, %v", v, v, got.String(), err, kept.String(), wantErr)
	}
}

func TestEncodeAgrees(t *testing.T) {
	for _, v := range values() {
		checkEncode(t, v)
	}
}

// texts are decoded into all destinations. Most of them fit only some.
var texts = []string{
	"", " ", "null", "nul", "true", "tru", "1", "-", "01", "1.", "1e", "1e400", "1E+2", "9223372036854775808", "-0", "NaN", `"`, `"a`, `"a"`, `"\q"`, `"\u12"`, `"\ud800"`, `"\ud83d\ude00"`,
	"\"\xff\"", "\"\x01\"", "'a'", "[]", "[", "[1,]", "[1 2]", "[1,2]", `["a"]`, "[null]", "{}", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, "\ufeff{}", " {} \n", "\v{}",
	`{} x`, `{}{}`, `{"name":"x"}]`, `1 2`, `"a" "b"`, `{"name":1} x`, `null null`,
	`{"name":"a","name":"b"}`, `{"next":{"name":"a"},"next":{"count":1}}`, `{"table":{"a":{"name":"x"}},"table":{"a":{"count":2},"b":{}}}`, `{"any":{"a":1},"any":[1]}`,
	`{"NAME":"folds","Count":3}`, "{\"co\u017fnt\":1,\"ta\u212ags\":[],\"TAG\u017f\":[\"x\"]}", `{"\u006eame":"x"}`, `{"tags":["a","b"],"tags":["c"]}`,
	`{"name":null,"count":null,"tags":null,"next":null,"any":null,"at":null,"raw":null}`, `{"name":1}`, `{"count":"1"}`, `{"count":1.5}`, `{"count":1e2}`, `{"small":128}`, `{"done":0}`,
	`{"tags":[1,"a",2]}`, `{"next":{"next":{"small":"x"}}}`, `{"next":[],"name":"after"}`, `{"at":"2026-01-02T03:04:05Z"}`, `{"at":"yesterday"}`, `{"at":5}`, `{"raw": [ 1 , 2 ] }`, `{"raw":tru}`,
	`{"unknown":{"a":[1,{"b":"\u00zz"}]}}`, `{"unknown":1e}`, `{"A":1,"B":2,"a":3}`, `{"A":"x"}`, `{"n":1.50,"quoted":"3","bytes":"AAEC","array":[1,2,3],"addr":"::1","big":123456789012345678901234567890}`,
	`{"n":"x"}`, `{"quoted":3}`, `{"quoted":"x"}`, `{"bytes":"?"}`, `{"addr":"x"}`, `{"keys":{"1":"a","x":"b"}}`, `{"texts":{"::1":1}}`, `{"iface":"x"}`, `{"folds":1,"FOLDS":2,"Folds":3}`, `{"x":1}`,
	strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001), strings.Repeat("[", 1001) + strings.Repeat("]", 1001), `{"any":` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + "}",
}

// destinations returns values that texts are decoded into, some of which are not zero, and some of which nothing can be decoded into.
func destinations() []any {
	five := 5
	pointer := &five
	return []any{
		new(plain), &plain{Name: "old", Tags: []string{"1", "2", "3"}, Next: &plain{Name: "older"}, Any: &five, Table: map[string]plain{"a": {Name: "old"}}}, new(strange), &strange{Keys: map[int]string{9: "z"}},
		new(deep), &deep{&Outer{"old"}}, reflect.New(twice).Interface(), new(any), &[]any{&five}[0], new([]any), new(map[string]any), &map[string]any{"old": 1}, new(string), new(int), new(uint8), new(float32), new(bool), new([]string), &[]string{"a", "b"},
		new([2]int), new([]plain), new(map[string]plain), new(*int), &pointer, new(json.RawMessage), new(json.Number), new(upper), new(loud), new([]loud), new(broken), new([]broken), new(map[upper]int), new(map[int]int),
		new(time.Time), new([]byte), new(chan int), new(func()), new(io.Reader), new(encoding.TextUnmarshaler), new(struct{ X io.Reader }),
		nil, plain{}, (*plain)(nil), 5,
	}
}

// checkDecode decodes text and compares with json.Unmarshal.
func checkDecode(t *testing.T, text []byte, got, want any) {
	t.Helper()
	before := bytes.Clone(text)
	wantErr := json.Unmarshal(text, want)
	err := codec.JSON{}.Decode(text, got)
	if !sameError(err, wantErr) || !reflect.DeepEqual(err, wantErr) && !errors.Is(wantErr, errBroken) || !reflect.DeepEqual(got, want) {
		t.Errorf("%T, %.100q:\ngot  %+v, %#v\nwant %+v, %#v", got, text, got, err, want, wantErr)
	}
	if !bytes.Equal(text, before) {
		t.Errorf("%q was changed to %q", before, text)
	}
}

func TestDecodeAgrees(t *testing.T) {
	for _, text := range texts {
		gots, wants := destinations(), destinations()
		for i := range gots {
			checkDecode(t, []byte(text), gots[i], wants[i])
		}
	}
}

// With IgnoreTrailing and RefuseUnknown, Decode agrees with a json.Decoder.
func TestDecodeOptionsAgree(t *testing.T) {
	for _, text := range texts {
		for _, c := range []codec.JSON{{IgnoreTrailing: true}, {IgnoreTrailing: true, RefuseUnknown: true}, {RefuseUnknown: true}} {
			gots, wants := destinations(), destinations()
			for i, got := range gots {
				d := json.NewDecoder(strings.NewReader(text))
				if c.RefuseUnknown {
					d.DisallowUnknownFields()
				}
				wantErr := json.Unmarshal([]byte(text), new(json.RawMessage))
				if wantErr == nil || c.IgnoreTrailing {
					wantErr = d.Decode(wants[i])
				}
				if wantErr == io.EOF {
					wantErr = io.ErrUnexpectedEOF
				}
				if err := c.Decode([]byte(text), got); !sameError(err, wantErr) || !reflect.DeepEqual(got, wants[i]) {
					t.Errorf("%+v, %T, %.100q:\ngot  %+v, %v\nwant %+v, %v", c, got, text, got, err, wants[i], wantErr)
				}
			}
		}
	}
}

// DecodeFrom sets what a json.Decoder sets, and says where an error is.
func TestDecodeFromAgrees(t *testing.T) {
	for _, text := range texts {
		gots, wants := destinations(), destinations()
		for i, got := range gots {
			wantErr := json.NewDecoder(strings.NewReader(text)).Decode(wants[i])
			err := codec.JSON{IgnoreTrailing: true}.DecodeFrom(strings.NewReader(text), got)
			var e *codec.Error
			if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, wants[i]) || err != nil && (!errors.As(err, &e) || e.Offset > int64(len(text))) {
				t.Errorf("%T, %.100q:\ngot  %+v, %v\nwant %+v, %v", got, text, got, err, wants[i], wantErr)
			}
		}
	}
	err := codec.JSON{}.DecodeFrom(strings.NewReader(`[{"name":"a"},{"name":1}]`), new([]plain))
	var mistyped *json.UnmarshalTypeError
	if !errors.As(err, &mistyped) || !strings.HasPrefix(err.Error(), `codec: at "[1].name", offset 23: json: `) {
		t.Error(err)
	}
	if err := (codec.JSON{}).DecodeFrom(strings.NewReader(`[1]]`), new([]int)); err == nil || err.Error() != "codec: at offset 4: invalid character ']' after top-level value" {
		t.Error(err)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range texts {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		gots, wants := destinations(), destinations()
		for i := range gots {
			checkDecode(t, text, gots[i], wants[i])
			checkEncode(t, gots[i])
		}
		checkEncode(t, string(text))
		checkEncode(t, map[string]any{string(text): json.RawMessage(text)})
	})
}

// Nothing that was decoded changes with the memory it was decoded from.
func TestDecodedIsACopy(t *testing.T) {
	text := []byte(`{"name":"gopher","tags":["a"],"any":{"k":["v"]},"raw":[1]}`)
	var got, want plain
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := (codec.JSON{}).Decode(text, &got); err != nil {
		t.Fatal(err)
	}
	clear(text)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// AppendEncode takes memory from grow only, whether encoding/json is asked or not, and gives back dst after an error.
func TestAppendEncodeGrows(t *testing.T) {
	for _, v := range []any{strings.Repeat("x", 5000), json.Number(strings.Repeat("1", 5000)), []any{strings.Repeat("x", 5000), broken{}}} {
		var mine []byte
		text, err := codec.JSON{}.AppendEncode(nil, v, func(dst []byte, n int) []byte {
			mine = append(make([]byte, 0, len(dst)+n+16384), dst...)
			return mine
		})
		want, wantErr := json.Marshal(v)
		if !sameError(err, wantErr) || string(text) != string(want) || cap(text) < 16384 || &text[:1][0] != &mine[:1][0] {
			t.Errorf("%d bytes with room for %d, %v", len(text), cap(text), err)
		}
	}
}

type failingWriter struct{ calls int }

func (w *failingWriter) Write([]byte) (int, error) { w.calls++; return 0, errBroken }

// Encode writes once, and not at all if the value cannot be encoded.
func TestEncodeWrites(t *testing.T) {
	for _, c := range []codec.Codec{codec.JSON{}, codec.XML{}} {
		w := &failingWriter{}
		if err := c.Encode(w, plain{Name: "x"}.Name); err != errBroken || w.calls != 1 {
			t.Errorf("%T: %v, %d calls", c, err, w.calls)
		}
		if err := c.Encode(w, func() {}); err == nil || err == errBroken || w.calls != 1 {
			t.Errorf("%T: %v, %d calls", c, err, w.calls)
		}
	}
}

func TestXML(t *testing.T) {
	type item struct {
		Name string `xml:"name"`
	}
	var b strings.Builder
	if err := (codec.XML{}).Encode(&b, item{"<a>"}); err != nil {
		t.Fatal(err)
	}
	want := "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<item><name>&lt;a&gt;</name></item>"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
	var one, two item
	err1 := codec.XML{}.Decode([]byte(want), &one)
	err2 := codec.XML{}.DecodeFrom(strings.NewReader(want), &two)
	if err1 != nil || err2 != nil || one.Name != "<a>" || two != one {
		t.Error(one, err1, two, err2)
	}
}

// Encoding into memory of the caller allocates nothing, and decoding little beside the value.
func TestAllocations(t *testing.T) {
	dst := make([]byte, 0, 1024)
	value := any(&plain{Name: "<gopher>", Tags: []string{"a"}})
	for name, tc := range map[string]struct {
		most float64
		f    func() error
	}{
		"append":                               {0, func() error { _, err := codec.JSON{}.AppendEncode(dst, value, nil); return err }},
		"encode":                               {0, func() error { return codec.JSON{}.Encode(io.Discard, value) }},
		"decode":                               {2, func() error { return codec.JSON{}.Decode([]byte(`7`), new(int)) }},
		"decode into a value that is not zero": {3, func() error { n := 5; return codec.JSON{IgnoreTrailing: true}.Decode([]byte(`7`), &n) }},
	} {
		var err error
		allocs := testing.AllocsPerRun(100, func() { err = tc.f() })
		if err != nil || !codec.RaceEnabled && allocs > tc.most {
			t.Errorf("%s: %v allocations, want %v; %v", name, allocs, tc.most, err)
		}
	}
}
