package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The types for comparisons: plain ones, and some that are not.
type (
	tree struct {
		Name  string   `json:"name"`
		Left  *tree    `json:"left,omitempty"`
		Kids  []tree   `json:"kids"`
		Loose any      `json:"loose"`
		Short string   `json:"s,omitempty"`
		Names []string `json:"names,omitempty"`
	}
	numbers struct {
		I8  int8
		I   int
		I64 int64 `json:"i_64,omitempty"`
		U8  uint8
		U   uint64 `json:",omitempty"`
		F32 float32
		F   float64 `json:"f,omitzero"`
		B   bool    `json:"b,omitempty"`
		P   *int    `json:"p"`
	}
	collections struct {
		M  map[string]int
		T  map[word]tree `json:"t,omitempty"`
		L  [][]int
		A  []any
		R  json.RawMessage
		W  word
		PP **string
		S  struct{ K, Kk string }
	}
	moments struct {
		At    time.Time
		Maybe *time.Time `json:"maybe,omitempty"`
		Zero  time.Time  `json:"zero,omitzero"`
		For   time.Duration
		Own   stamp
		Text  stamped
	}
	word  string
	stamp struct{ time.Time } // a form that API packages use
	// stamped decodes itself.
	stamped string

	base    struct{ Name string }
	unusual struct {
		base
		N  json.Number
		Q  int `json:"q,string"`
		B  []byte
		Ar [2]int
		Ip netip.Addr
		Bi *big.Int
	}

	// Each of these types has one unusual property, which is enough.
	embedding struct{ base }
	quoted    struct {
		Q int `json:"q,string"`
	}
	binaries struct{ B []byte }
	texter   struct{ Ip netip.Addr }
	textKeys struct{ M map[netip.Addr]int }
	byteKeys struct{ M map[textKey]int }
	withZero struct {
		Z zeroer `json:"z,omitzero"`
	}
	withZeroPointer struct {
		Z *zeroer `json:"z,omitzero"`
	}
	emptyStruct struct {
		S struct{ A int } `json:"s,omitempty"`
	}
)

// zeroer has an IsZero method.
type zeroer int

func (z zeroer) IsZero() bool { return z == 7 }

// outKey is a string that marshals itself.
type outKey string

func (k outKey) MarshalText() ([]byte, error) { return []byte("<" + k + ">"), nil }

// textKey is a string that unmarshals itself.
type textKey string

func (k *textKey) UnmarshalText(b []byte) error { *k = textKey("<" + string(b) + ">"); return nil }

func (s *stamped) UnmarshalJSON(b []byte) error { *s = stamped("<" + string(b) + ">"); return nil }

var types = []reflect.Type{
	reflect.TypeFor[tree](), reflect.TypeFor[numbers](), reflect.TypeFor[collections](), reflect.TypeFor[moments](), reflect.TypeFor[unusual](),
	reflect.TypeFor[any](), reflect.TypeFor[[]tree](), reflect.TypeFor[map[string]tree](), reflect.TypeFor[map[string]any](), reflect.TypeFor[*numbers](),
	reflect.TypeFor[string](), reflect.TypeFor[[]float64](), reflect.TypeFor[[]numbers](), reflect.TypeFor[map[int]int](), reflect.TypeFor[[]string](),
	reflect.TypeFor[embedding](), reflect.TypeFor[quoted](), reflect.TypeFor[binaries](), reflect.TypeFor[texter](), reflect.TypeFor[textKeys](), reflect.TypeFor[byteKeys](),
	reflect.TypeFor[withZero](), reflect.TypeFor[withZeroPointer](), reflect.TypeFor[emptyStruct](),
}

// same compares like reflect.DeepEqual.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// check decodes text into a type and encodes the result, here and with encoding/json, and compares. It reports which
// of the two was done here.
func check(t *testing.T, text []byte, typ reflect.Type) (decoded, encoded bool) {
	t.Helper()
	got, want := reflect.New(typ), reflect.New(typ)
	before := bytes.Clone(text)
	err := json.Unmarshal(text, want.Interface())
	decoded = Decode(text, got.Interface())
	if !bytes.Equal(before, text) {
		t.Errorf("%s: %q was changed", typ, before)
	}
	switch {
	case !decoded && !got.Elem().IsZero():
		t.Errorf("%s: %q: not decoded, but %+v is left", typ, text, got.Elem())
	case decoded && (err != nil || !same(got.Interface(), want.Interface())):
		t.Errorf("%s: %q:\ngot  %+v\nwant %+v, %v", typ, text, got.Elem(), want.Elem(), err)
	}
	if len(text)%8 == 0 {
		checkAppend(t, string(text)) // any bytes are allowed
	}
	if err != nil {
		return decoded, false
	}
	return decoded, checkAppend(t, want.Interface())
}

// checkAppend encodes v here and with encoding/json, and reports whether it was done here.
func checkAppend(t *testing.T, v any) bool {
	t.Helper()
	return checkAppendHTML(t, v, false) && checkAppendHTML(t, v, true)
}

func checkAppendHTML(t *testing.T, v any, html bool) bool {
	t.Helper()
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(html)
	err := e.Encode(v)
	got, ok := Append([]byte("before"), v, html, nil)
	text, _ := bytes.CutPrefix(got, []byte("before"))
	if !ok && len(text) > 0 || ok && (err != nil || string(text)+"\n" != want.String()) {
		t.Errorf("%T %+v, html %t:\ngot  %s, %v\nwant %s, %v", v, v, html, text, ok, want.String(), err)
	}
	return ok
}

// texts are valid and invalid texts of all kinds.
func texts() []string {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	deeper := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	return []string{
		deeper, `{"unknown":` + deeper + `}`, "", " ", "null", "nul", "nulll", "1", "-", "-1", "+1", "01", "-0", "1.", ".5", "1.5", "1e", "1e5", "1E+5", "1e-400", "1e400", "1e39", "0x1", "Infinity", "NaN",
		"18446744073709551615", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "123456789012345678", "256", "1.0",
		`""`, `"`, `"a`, `"\`, `"\x"`, `"\u"`, `"\u12"`, `"\u12g4"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud83d\ude00"`, `"\ude00"`, `"\ud800\ud800"`, `"\ud800\`, `"\/\b\f\n\r\t\"\\"`,
		"\"\x00\"", "\"\n\"", "\"\x7f\"", "\"\xff\"", "\"a\xc3\"", "\"\u2028\u2029ä\"", "\"\\n\xff\"", `"12345678\n12345678"`, "\"1234567\x1f\"", "'a'", "\ufeff1",
		"[]", "[ ]", "[,]", "[1,]", "[1 2]", "[1,2", "[1]]", "]", "[null]", "[[1],[]]", "{}", "{ }", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":1}}`, `{a:1}`, `{"a" : 1 }`,
		`{"name":"x","left":{"name":"y"}}`, `{"NAME":"x","Kids":[{},{"name":"k"}]}`, `{"name":"a","name":"b","name":null}`, `{"left":{"name":"a"},"left":{"s":"b"}}`, `{"left":{},"left":null}`,
		`{"kids":[{"name":"a"},{"name":"b"}],"kids":[{}]}`, `{"names":["a"],"names":[]}`, `{"loose":{"a":1},"loose":{"b":2}}`, `{"loose":1,"loose":null}`, `{"s":null,"names":null,"kids":null}`,
		`{"\u006eame":"x"}`, "{\"ſ\":\"x\"}", "{\"\u212a\":\"x\",\"\u212a\u212a\":\"y\"}", "{\"S\":{\"\u212a\":\"x\",\"\u212a\u212a\":\"y\"}}", "{\"na\xffme\":1}", `{"unknown":{"a":[1,"\u0041",{"b":tru}]}}`,
		"{\"unknown\":\"\xff\"}", `{"unknown":"\ud800","name":"x"}`, `{"I8":1,"I":-2,"i_64":3,"U8":255,"U":7,"F32":1.5,"f":2.5,"b":true,"p":9}`, `{"I8":128}`, `{"U8":-1}`, `{"U8":256}`, `{"F32":1e39}`,
		`{"p":1,"p":2}`, `{"I":"1"}`, `{"I":1.0}`, `{"M":{"a":1,"b":2,"a":3},"T":{"x":{"name":"y"}}}`, `{"M":{"a":1},"M":{"b":2}}`, `{"M":null}`, `{"L":[[1,2],[],null]}`, `{"A":[1,"x",null,{},[]]}`, `{"R": [ 1, 2 ] }`, `{"R":null}`,
		`{"W":"w","PP":"q","S":{"K":"a","Kk":"b"}}`, `{"PP":null}`, `{"At":"2026-01-02T03:04:05Z","Own":"2026-01-02T03:04:05.678+01:00","Text":[ 1 ],"For":5}`, `{"At":"2026-01-02T3:04:05Z"}`, `{"At":"2026\u002d01-02T03:04:05Z"}`,
		`{"At":"2026-01-02T03:04:05,5Z"}`, `{"At":"2026-01-02T03:04:05+24:00"}`, `{"At":null,"maybe":null,"Own":null,"Text":null}`, `{"maybe":"2026-01-02T03:04:05Z","Text":"x","Text":{"a":"b"}}`,
		`{"N":1,"q":"2","B":"AAEC","Ar":[1,2,3],"Ip":"::1","Bi":12,"Name":"x"}`, `{"1":1}`, `{"q":"2"}`, `{"q":2}`, `{"B":"AAEC"}`, `{"B":[1,2]}`, `{"Ip":"::1"}`, `{"M":{"::1":5}}`, `{"z":7}`, `{"z":0}`, `{"s":{"A":1}}`, `{"s":{}}`, `{"Name":"embedded"}`,
		`{"I":9223372036854775808}`, `{"I":-9223372036854775809}`, `{"U":18446744073709551616}`, `{"U":9999999999999999999}`, `{"unknown":1e}`, `{"unknown":1.}`, `{"unknown":01}`, `{"unknown":-}`,
		"{\"unknown\":\"a\x01b\"}", "{\"unknown\":\"12345678\x01b\"}", "{\"unknown\":\"\\u00\"}", deep, deep[1 : len(deep)-1], `{"loose":` + deep + `}`,
		`{"` + strings.Repeat("n", 70) + `":1}`, `{"name":"` + strings.Repeat("ü\\n", 70) + `"}`,
	}
}

func TestTexts(t *testing.T) {
	for _, text := range texts() {
		for _, typ := range types {
			check(t, []byte(text), typ)
		}
	}
}

// twice is a struct with two fields of one name, neither of which counts, and a field whose name is a dash.
var twice = reflect.StructOf([]reflect.StructField{
	{Name: "Dash", Type: reflect.TypeFor[int](), Tag: `json:"-,"`},
	{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
	{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
})

// cycle is a type whose values may be cyclic.
type cycle struct {
	Next *cycle
	All  []any `json:",omitempty"`
}

func TestAppendLeavesToOthers(t *testing.T) {
	endless := &cycle{}
	endless.Next = endless
	within := &cycle{All: make([]any, 1)}
	within.All[0] = within.All
	long := &cycle{}
	for range 2 * maxDepth {
		long = &cycle{Next: long}
	}
	for _, v := range []any{
		endless, within, long, math.Inf(1), float32(math.Inf(-1)), math.NaN(), func() {}, make(chan int), struct{ F func() }{}, []any{func() {}}, map[string]any{"a": make(chan int)},
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 25*3600)), json.Number("x"), json.RawMessage("{"), stampPointer{}, map[word]int{"a": 1},
		reflect.New(twice).Interface(),
		struct {
			A int `json:"a"`
			B int `json:"A"`
		}{1, 2},
		struct {
			A int `json:"a b"`
		}{1},
		struct {
			A stampPointer
			B *stampPointer
		}{B: &stampPointer{1}},
		&struct{ A stampPointer }{},
	} {
		checkAppend(t, v)
	}
}

// stampPointer marshals itself only if it is addressable.
type stampPointer struct{ N int }

func (s *stampPointer) MarshalJSON() ([]byte, error) { return []byte(` [ 1 ] `), nil }

func TestAppendValues(t *testing.T) {
	x, zero := 7, zeroer(7)
	for _, v := range []any{
		nil, true, 0, -1, int64(math.MinInt64), uint64(math.MaxUint64), 0.0, math.Copysign(0, -1), 1e20, 1e21, 1e-6, 1e-7, 1.5e-9, 1e100, float32(1e21), float32(1e-6), float32(3.4e38), math.MaxFloat64,
		"", "<&>", "\x00\x1f\x7f\"\\/", "\u2028\u2029\ufffd\xff\xc3", strings.Repeat("12345678\n", 9), []int(nil), []int{}, map[string]int(nil), map[string]int{}, map[string]string{"b": "<", "a": "\n", "": ""},
		&x, (*int)(nil), struct{}{}, []any{1, "a", nil, []any{}, map[string]any{"x": 1.5}}, numbers{P: &x}, time.Unix(1, 5), time.Time{}, &time.Time{}, stamp{}, []stamp{{time.Unix(1, 0)}}, (*stamp)(nil), word("w"),
		withZero{}, withZero{7}, withZeroPointer{}, withZeroPointer{&zero}, withZeroPointer{new(zeroer)}, emptyStruct{}, embedding{base{"x"}}, quoted{3}, binaries{[]byte("x")}, textKeys{map[netip.Addr]int{netip.IPv6Unspecified(): 1}}, byteKeys{map[textKey]int{"a": 1}}, map[outKey]int{"a": 1},
		moments{Zero: time.Unix(5, 0)}, map[string]time.Time{"a": time.Unix(1, 0).UTC()}, struct{ A time.Time }{}, json.RawMessage(` { "a" : 1 } `), json.RawMessage(nil), []json.RawMessage{json.RawMessage("1")},
		json.RawMessage("{\"<\" : \"a&b\u2028\"}"), map[string]int{"<&>": 1}, "12345678<", "=1234567>?", "1&2;3&4%5'6", "%<'\x80&\xbc>", strings.Repeat("<", 20), "ü<", "\n<\n>",
		struct {
			A int `json:"-"`
			c int
			D int `json:",omitempty"`
			E *tree
		}{1, 3, 4, nil},
	} {
		checkAppend(t, v)
	}
	got, ok := Append(nil, strings.Repeat("x", 100), false, func(b []byte, n int) []byte { return append(make([]byte, 0, 4096), b...) })
	if !ok || cap(got) != 4096 {
		t.Error("grow was not asked", cap(got))
	}
}

// Decoded values do not change when the text is overwritten.
func TestDecodeCopies(t *testing.T) {
	text := []byte(`{"name":"gopher","loose":{"a":["b\n"]},"names":["x"]}`)
	var v, want tree
	if err := json.Unmarshal(text, &want); err != nil || !Decode(text, &v) {
		t.Fatal(err)
	}
	for i := range text {
		text[i] = 0xdb
	}
	if !same(v, want) {
		t.Errorf("got %+v", v)
	}
	if v.Name = "full"; Decode([]byte(`{}`), &v) || v.Name != "full" {
		t.Error("what is not zero is decoded into")
	}
	if Decode([]byte("1"), nil) || Decode([]byte("1"), 1) || Decode([]byte("1"), (*int)(nil)) {
		t.Error("no pointer")
	}
}

func TestManyAtOnce(t *testing.T) {
	type fresh struct {
		A []struct{ B map[string]*fresh0 }
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				check(t, []byte(`{"A":[{"B":{"x":{"C":{"A":[]}}}}]}`), reflect.TypeFor[fresh]())
			}
		})
	}
	all.Wait()
}

type fresh0 struct{ C *fresh0 }

// gen generates JSON texts, mostly with names that the types have.
type gen struct {
	*rand.Rand
	b []byte
}

var names = []string{
	"name", "left", "kids", "loose", "s", "names", "I8", "I", "i_64", "U8", "U", "F32", "f", "b", "p", "M", "T", "L", "A", "R", "W", "PP", "S", "K", "kk", "At", "maybe", "zero", "For", "Own", "Text",
	"N", "q", "Ar", "NAME", "x", "unknown", "\u212a", "a b",
}

func (g *gen) space() {
	for g.IntN(8) == 0 {
		g.b = append(g.b, " \n\t\r"[g.IntN(4)])
	}
}

func (g *gen) text() {
	pieces := []string{"a", "gopher", " ", `\n`, `\"`, `\\`, `\/`, `\u0041`, `\ud83d\ude00`, `\ud800`, "ü", "\u2028", "<&>", "😀", `\u0000`, "\x7f", "12345678"}
	g.b = append(g.b, '"')
	switch g.IntN(12) {
	case 0:
		g.b = time.Unix(g.Int64N(1e10), g.Int64N(1e9)).UTC().AppendFormat(g.b, time.RFC3339Nano)
	default:
		for range g.IntN(6) {
			g.b = append(g.b, pieces[g.IntN(len(pieces))]...)
		}
	}
	g.b = append(g.b, '"')
}

func (g *gen) number() {
	switch g.IntN(4) {
	case 0:
		g.b = strconv.AppendInt(g.b, int64(g.IntN(300)-20), 10)
	case 1:
		g.b = strconv.AppendInt(g.b, int64(g.Uint64()), 10)
	case 2:
		g.b = strconv.AppendFloat(g.b, math.Float64frombits(g.Uint64()&^(1<<62)), "gef"[g.IntN(3)], g.IntN(20)-1, 64)
	default:
		g.b = strconv.AppendFloat(g.b, g.NormFloat64(), 'g', -1, 64)
	}
}

func (g *gen) value(depth int) {
	g.space()
	switch kind := g.IntN(10); {
	case kind < 3 && depth > 0:
		g.b = append(g.b, '{')
		for i := range g.IntN(5) {
			if i > 0 {
				g.b = append(g.b, ',')
			}
			g.space()
			g.b = append(strconv.AppendQuote(g.b, names[g.IntN(len(names))]), ':')
			g.value(depth - 1)
		}
		g.b = append(g.b, '}')
	case kind < 5 && depth > 0:
		g.b = append(g.b, '[')
		for i := range g.IntN(4) {
			if i > 0 {
				g.b = append(g.b, ',')
			}
			g.value(depth - 1)
		}
		g.b = append(g.b, ']')
	case kind < 7:
		g.text()
	case kind < 8:
		g.b = append(g.b, []string{"null", "true", "false"}[g.IntN(3)]...)
	default:
		g.number()
	}
	g.space()
}

// fitting generates a text that mostly fits the type t.
func (g *gen) fitting(t reflect.Type, depth int) {
	switch {
	case g.IntN(20) == 0 || depth == 0:
		g.b = append(g.b, "null"...)
	case t.Kind() == reflect.Struct && t.PkgPath() != "time":
		g.object(t, depth)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		g.b = append(g.b, '[')
		for i := range g.IntN(4) {
			if i > 0 {
				g.b = append(g.b, ',')
			}
			g.fitting(t.Elem(), depth-1)
		}
		g.b = append(g.b, ']')
	case t.Kind() == reflect.Pointer:
		g.fitting(t.Elem(), depth)
	case t.Kind() == reflect.String:
		g.text()
	case t.Kind() == reflect.Bool:
		g.b = strconv.AppendBool(g.b, g.IntN(2) == 0)
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		g.b = strconv.AppendInt(g.b, int64(g.IntN(100)), 10)
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		g.number()
	default:
		g.value(depth - 1)
	}
}

func (g *gen) object(t reflect.Type, depth int) {
	g.b = append(g.b, '{')
	first := true
	for i := range t.NumField() {
		if g.IntN(4) == 0 {
			continue
		}
		if !first {
			g.b = append(g.b, ',')
		}
		first = false
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" {
			name = t.Field(i).Name
		}
		g.b = append(strconv.AppendQuote(g.b, name), ':')
		g.fitting(t.Field(i).Type, depth-1)
	}
	g.b = append(g.b, '}')
}

// next returns a text: random, fitting the type, or damaged somewhere.
func (g *gen) next(t reflect.Type) []byte {
	g.b = g.b[:0]
	switch g.IntN(4) {
	case 0:
		g.value(4)
	default:
		g.fitting(t, 5)
	}
	if g.IntN(4) == 0 && len(g.b) > 0 {
		at := g.IntN(len(g.b))
		switch g.IntN(3) {
		case 0:
			g.b[at] = byte(g.Uint32())
		case 1:
			g.b = append(g.b[:at], g.b[at+1:]...)
		default:
			g.b = g.b[:at]
		}
	}
	return g.b
}

// For random values, the results are the same as those of encoding/json, in both directions.
func TestRandomValues(t *testing.T) {
	total := 20_000
	if os.Getenv("GALLOP_LONG") != "" {
		total = 1_000_000
	}
	var decoded, encoded [16]int
	var all sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(decoded))
	for w := range workers {
		all.Go(func() {
			g := &gen{Rand: rand.New(rand.NewPCG(7, uint64(w)))}
			for i := w; i < total && !t.Failed(); i += workers {
				typ := types[g.IntN(len(types))]
				d, e := check(t, g.next(typ), typ)
				if d {
					decoded[w]++
				}
				if e {
					encoded[w]++
				}
			}
		})
	}
	all.Wait()
	for w := range decoded[1:] {
		decoded[0] += decoded[w+1]
		encoded[0] += encoded[w+1]
	}
	t.Logf("%d texts, %d decoded and %d encoded here", total, decoded[0], encoded[0])
	if decoded[0] < total/4 || encoded[0] < total/4 {
		t.Error("too few of them show anything")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"name":"a\n","kids":[{"loose":{"a":[1,null,true,"ü"]}}],"At":"2026-01-02T03:04:05Z"}`, `{"I":-1,"f":1.5e3,"M":{"a":1},"R":[ 1 ]}`, `["\ud800\udc00"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, typ := range types {
			check(t, text, typ)
			checkStream(t, text, typ, 16+len(text)%3, len(text)%2 == 0, false)
		}
	})
}
