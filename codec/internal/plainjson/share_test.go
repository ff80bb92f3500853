package plainjson

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// decodeBoth decodes text whole and as a stream, compares with encoding/json, and returns both values.
func decodeBoth(t *testing.T, text string, typ reflect.Type) (whole, streamed any) {
	t.Helper()
	want, got, other := reflect.New(typ), reflect.New(typ), reflect.New(typ)
	if err := json.Unmarshal([]byte(text), want.Interface()); err != nil {
		t.Fatal(err)
	}
	data := []byte(text)
	if !Decode(data, got.Interface()) {
		t.Fatalf("%s: %.100q: not decoded", typ, text)
	}
	clear(data)
	if err := DecodeFrom(strings.NewReader(text), other.Interface(), Options{Window: make([]byte, 0, 100)}); err != nil {
		t.Fatal(err.Err)
	}
	if !same(got.Interface(), want.Interface()) || !same(other.Interface(), want.Interface()) {
		t.Fatalf("%s: %.100q: another value", typ, text)
	}
	return got.Interface(), other.Interface()
}

// Lists and objects of any length are decoded like by encoding/json, also if they are nested.
func TestLengths(t *testing.T) {
	for _, n := range []int{0, 1, few - 1, few, few + 1, 2*few + 1, many, many + few - 1, many + few, many + few + 1, 3*many + 5} {
		var list, object, strs strings.Builder
		for i := range n {
			fmt.Fprintf(&list, `,[%d.5,"s%d",{"a":[%s1]}]`, i, i, strings.Repeat("0,", i%20))
			fmt.Fprintf(&object, `,"k%d":{"a":%d,"a":"%d"}`, i%(n-n/8), i, i)
			fmt.Fprintf(&strs, `,"s%d"`, i)
			if i%7 == 0 {
				strs.WriteString(",null")
			}
		}
		cut := func(b *strings.Builder) string { return strings.TrimPrefix(b.String(), ",") }
		decodeBoth(t, "["+cut(&list)+"]", reflect.TypeFor[any]())
		decodeBoth(t, "{"+cut(&object)+"}", reflect.TypeFor[any]())
		decodeBoth(t, "{"+cut(&object)+"}", reflect.TypeFor[map[string]map[string]any]())
		decodeBoth(t, "["+cut(&strs)+"]", reflect.TypeFor[[]string]())
		decodeBoth(t, "[["+cut(&strs)+"],["+cut(&strs)+"]]", reflect.TypeFor[[][]string]())
		list.Reset()
		list.WriteString(strings.Repeat(",["+cut(&strs)+"]", 3))
		decodeBoth(t, "["+cut(&list)+"]", reflect.TypeFor[any]())
	}
}

// Values that share memory do not affect each other, and do not change when more is decoded.
func TestSharedStays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < 2*leastSharing {
		fmt.Fprintf(&b, `,{"%s":"%s","n":%d.25,"s":"%s\n%d","e":""}`,
			strings.Repeat("k", r.IntN(70)), strings.Repeat("v", r.IntN(300)), r.IntN(1e6), strings.Repeat("ü", r.IntN(40)), r.IntN(50))
	}
	text := "[" + b.String()[1:] + "]"
	type kept struct{ value, want any }
	var all []kept
	for _, typ := range []reflect.Type{reflect.TypeFor[any](), reflect.TypeFor[[]map[string]any](), reflect.TypeFor[[]struct{ S, E string }]()} {
		for range 3 {
			want := reflect.New(typ).Interface()
			if err := json.Unmarshal([]byte(text), want); err != nil {
				t.Fatal(err)
			}
			whole, streamed := decodeBoth(t, text, typ)
			all = append(all, kept{whole, want}, kept{streamed, want})
			decodeBoth(t, strings.ReplaceAll(text, "v", "w"), typ)
		}
	}
	for i, k := range all {
		if !same(k.value, k.want) {
			t.Errorf("value %d has changed", i)
		}
	}
}

// Numbers are rounded like by strconv, wherever they end.
func TestNumbers(t *testing.T) {
	texts := []string{
		"0", "-0", "0.0", "-0.0", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "900719925474099.3", "9.007199254740993", "0.1", "0.3", "123456.789",
		"12345678", "123456781", "1234567812345678", "99999999999999999", "999999999999999999", "9999999999999999999", "0.0000000000000000001", "0.00000000000000000012", "1.0000000000000000000",
		"1e5", "12345678e2", "1.5E-3", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "10000000000000000000",
		"255", "256", "-128", "-129", "65535", "4294967296", "1.5", "-1",
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		n := r.Uint64() >> r.IntN(64)
		text := strconv.FormatUint(n, 10)
		if at := r.IntN(len(text) + 4); at > 0 && at < len(text) {
			text = text[:at] + "." + text[at:]
		}
		if r.IntN(3) == 0 {
			text = "-" + text
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		want, err := strconv.ParseFloat(text, 64)
		var got, boxed any = new(float64), new(any)
		if err != nil || !Decode([]byte(text), got) || !Decode([]byte("["+text+"]"), boxed) {
			t.Fatal(text, err)
		}
		if f := *got.(*float64); math.Float64bits(f) != math.Float64bits(want) {
			t.Fatalf("%s: %v, want %v", text, f, want)
		}
		if f, ok := (*boxed.(*any)).([]any)[0].(float64); !ok || math.Float64bits(f) != math.Float64bits(want) {
			t.Fatalf("%s: %v, want %v", text, f, want)
		}
		for _, typ := range []reflect.Type{reflect.TypeFor[int64](), reflect.TypeFor[uint64](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[float32](), reflect.TypeFor[[]int64](), reflect.TypeFor[[]uint32]()} {
			in := text
			if typ.Kind() == reflect.Slice {
				in = "[" + text + " , " + text + "]"
			}
			check(t, []byte(in), typ)
		}
	}
}

// An any that points into a block behaves like any other.
func TestAsAny(t *testing.T) {
	texts, floats := []string{"a", "b"}, []float64{1, 2}
	a, f := asAny(&texts[1]), asAny(&floats[1])
	if a != any("b") || f != any(2.0) || reflect.TypeOf(a) != reflect.TypeFor[string]() || fmt.Sprint(a, f) != "b2" {
		t.Error(a, f)
	}
	if m := (map[any]int{a: 1, f: 2}); m["b"] != 1 || m[2.0] != 2 {
		t.Error(m)
	}
}
