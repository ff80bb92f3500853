package middleware

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// FuzzCacheControl reads lines of Cache-Control. The parser ends, and directives that are separated from the rest by commas outside of
// quotes count, whatever surrounds them.
func FuzzCacheControl(f *testing.F) {
	for _, line := range []string{
		"", ",", "=", `"`, `a="`, `a="\`, `a="b"c`, `a=b"c`, "max-age=1", `max-age="1"`, "max-age=", "max-age", " , max-age = 1",
		`private="a, b"`, `a="b, private", no-store`, `no-cache="Set-Cookie"`, `x="\"", s-maxage=99999999999999999999`, "PUBLIC,\tMax-Age=1",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		given := bytes.Clone(line)
		plain := parseResponseControl([][]byte{line})
		again := parseResponseControl([][]byte{line, []byte("max-stale=1")})
		if plain != again {
			t.Errorf("%q: another line changes the result", line)
		}
		for _, d := range []time.Duration{plain.maxAge, plain.sharedMaxAge, plain.whileRevalidate, plain.ifError} {
			if d < unset || d > maxDelta*time.Second {
				t.Errorf("%q: %v", line, d)
			}
		}
		if p := parseResponseControl([][]byte{[]byte("PRIVATE, " + string(line))}); !p.private {
			t.Errorf("%q: a directive before it is lost", line)
		}
		if p := parseResponseControl([][]byte{[]byte(string(line) + ",private")}); !p.private && !p.noStore {
			t.Errorf("%q: a directive behind it is lost", line)
		}
		if !strings.ContainsAny(string(line), `"=`) {
			want := false
			for part := range strings.SplitSeq(string(line), ",") {
				want = want || strings.EqualFold(strings.Trim(part, " \t"), "no-store")
			}
			if plain.noStore != want {
				t.Errorf("%q: no-store is %v", line, plain.noStore)
			}
		}
		parseRequestControl([][]byte{line}, nil)
		parseRequestControl(nil, [][]byte{line})
		if !bytes.Equal(line, given) {
			t.Errorf("the line was changed from %q to %q", given, line)
		}
	})
}

// FuzzCacheRecord reads values of the store, which other versions may have written.
func FuzzCacheRecord(f *testing.F) {
	meta := cacheMeta{stored: 1, lifetime: 2, validators: true}
	response := appendMeta(appendRecordHead(nil, kindResponse, 7), &meta, 200)
	response = append(appendText(appendText(append(response, 0, 1, lineAdd), []byte("Etag")), []byte(`"a"`)), "body"...)
	variants := uriRecord{epoch: 7, generation: 9, names: []string{"Accept", "X-A"}, variants: []variantRef{{variantID{1}, 2}}}
	f.Add(response)
	f.Add(variants.encodeVariants())
	f.Add(appendRecordHead(nil, kindGone, 7))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, ok := decodeURI(raw)
		if !ok {
			return
		}
		switch r.kind {
		case kindResponse:
			r.response.get("Etag")
			if !bytes.HasSuffix(raw, r.response.body) || len(r.response.lines)+len(r.response.body) > len(raw) {
				t.Errorf("%q: %q, %q", raw, r.response.lines, r.response.body)
			}
		case kindVariants:
			again, ok := decodeURI(r.encodeVariants())
			if !ok || again.generation != r.generation || len(again.names) != len(r.names) || len(again.variants) != len(r.variants) {
				t.Errorf("%q: %+v, %+v", raw, r, again)
			}
		}
	})
}

func TestCacheRecord(t *testing.T) {
	meta := cacheMeta{stored: 1, initialAge: 2, lifetime: 3, revalidate: 4, ifError: 5, mustBeFresh: true, guessed: true}
	b := appendMeta(appendRecordHead(nil, kindResponse, 7), &meta, 404)
	b = append(appendText(appendText(append(b, 0, 1, lineAdd), []byte("Etag")), []byte(`"a"`)), "body"...)
	r, ok := decodeURI(b)
	if !ok || r.epoch != 7 || r.response.meta != meta || r.response.status != 404 || string(r.response.body) != "body" || string(r.response.get("Etag")) != `"a"` {
		t.Errorf("%v %+v", ok, r)
	}
	for n := range len(b) - len("body") {
		if _, ok := decodeURI(b[:n]); ok {
			t.Errorf("a record cut after %d bytes was read", n)
		}
	}
}

// If the list of variants is full, the variant that expires first leaves it.
func TestCacheVariantList(t *testing.T) {
	var r uriRecord
	for i := range maxVariants {
		if _, full := r.add(variantRef{variantID{byte(i)}, int64(1000 - i)}, 0); full {
			t.Fatalf("full with %d", i)
		}
	}
	if left, full := r.add(variantRef{variantID{255}, 2000}, 0); !full || left != (variantID{maxVariants - 1}) || len(r.variants) != maxVariants {
		t.Errorf("%v left, %v", left, full)
	}
	if _, full := r.add(variantRef{variantID{255}, 3000}, 0); full || len(r.variants) != maxVariants {
		t.Error("a variant is in the list twice")
	}
	if _, full := r.add(variantRef{variantID{254}, 3000}, 1500); full || len(r.variants) != 2 {
		t.Errorf("%d variants are left, although all but one have expired", len(r.variants))
	}
}

func TestCachePassed(t *testing.T) {
	var p passed
	r := rand.New(rand.NewPCG(1, 2))
	var keys []uriKey
	for range 200 {
		var key uriKey
		for i := range key {
			key[i] = byte(r.Uint32())
		}
		keys = append(keys, key)
	}
	for _, key := range keys {
		if p.has(key) {
			t.Error("a key was there before it was added")
		}
		if p.add(key); !p.has(key) {
			t.Error("a key was not added")
		}
		other := key
		other[0] ^= 1
		if p.has(other) {
			t.Error("another key was added")
		}
	}
	if p.remove(keys[199]); p.has(keys[199]) {
		t.Error("a key was not removed")
	}
}
