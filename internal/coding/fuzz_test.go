package coding

import (
	"bytes"
	"testing"
)

func FuzzDecode(f *testing.F) {
	body := samples()["text"][:200]
	for _, c := range real {
		src := reference(f, c, body)
		f.Add(uint8(c), uint8(0), src)
		f.Add(uint8(c), uint8(c), reference(f, c, src))
		f.Add(uint8(c), uint8(0), bomb(f, c, 2<<20))
	}
	f.Fuzz(func(t *testing.T, first, second uint8, src []byte) {
		var list List
		for _, c := range []uint8{first, second} {
			if c := Coding(c % uint8(codings)); c != Identity {
				list.codings[list.n] = c
				list.n++
			}
		}
		limits := Limits{MaxSize: 1 << 16, MaxRatio: 50}
		got, err := AppendDecode(nil, src, list, limits)
		if len(got) > 1<<16 {
			t.Fatalf("%d bytes are over the limit", len(got))
		}
		stream, serr := readAll(src, list, limits)
		if len(stream) > 1<<16 {
			t.Fatalf("stream: %d bytes are over the limit", len(stream))
		}
		if (err == nil) != (serr == nil) || err == nil && !bytes.Equal(got, stream) {
			t.Fatalf("at once %d bytes, %v; as a stream %d bytes, %v", len(got), err, len(stream), serr)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	for _, name := range []string{"empty", "byte", "text", "noise"} {
		for c := range codings {
			body := samples()[name]
			f.Add(uint8(c), int8(6), body[:min(len(body), 2000)])
		}
	}
	f.Fuzz(func(t *testing.T, coding uint8, level int8, body []byte) {
		c := Coding(coding % uint8(codings))
		src := AppendEncode(nil, body, c, int(level))
		got, err := AppendDecode(nil, src, ListOf(c), unlimited)
		if err != nil || !bytes.Equal(got, body) {
			t.Fatalf("%v level %d: %d bytes of %d, %v", c, level, len(got), len(body), err)
		}
	})
}
