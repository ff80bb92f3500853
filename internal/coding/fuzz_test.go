package coding

import (
	"bytes"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	brrr "github.com/molecule-man/go-brrr"
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

// FuzzBrotliLibraries compresses a body with one library and decompresses it with the other. The body is written in
// pieces, some of them flushed, by an encoder that has abandoned another body before.
func FuzzBrotliLibraries(f *testing.F) {
	for _, name := range []string{"empty", "byte", "text", "noise"} {
		for level := range uint8(12) {
			body := samples()[name]
			f.Add(level, uint16(700), body[:min(len(body), 5000)])
		}
	}
	f.Add(uint8(5), uint16(1), samples()["long"][:200<<10]) // several meta-blocks, and more than the ring buffer had at first
	f.Fuzz(func(t *testing.T, level uint8, piece uint16, body []byte) {
		level %= 12
		z := AcquireWriter(Brotli, int(level), io.Discard)
		z.Write(body[:len(body)/3])
		var ours bytes.Buffer
		z.Reset(&ours)
		size := int(piece) + 1 + len(body)/64 // at most 64 pieces
		for i := 0; i < len(body); i += size {
			z.Write(body[i:min(i+size, len(body))])
			if i/size%2 == 1 {
				z.Flush()
			}
		}
		z.Close()
		ReleaseWriter(z)
		for way, src := range map[string][]byte{"stream": ours.Bytes(), "whole": AppendEncode(nil, body, Brotli, int(level))} {
			got, err := io.ReadAll(brotli.NewReader(bytes.NewReader(src)))
			if err != nil || !bytes.Equal(got, body) {
				t.Fatalf("%s at level %d: %d bytes of %d, %v", way, level, len(got), len(body), err)
			}
		}
		var theirs bytes.Buffer
		w := brotli.NewWriterLevel(&theirs, int(level))
		w.Write(body)
		w.Close()
		if got, err := brrr.Decompress(theirs.Bytes()); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("go-brrr reads level %d of andybalholm: %d bytes of %d, %v", level, len(got), len(body), err)
		}
	})
}
