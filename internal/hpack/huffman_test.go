package hpack

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// The code of a few symbols, as RFC 7541 appendix B prints them.
func TestCodes(t *testing.T) {
	for symbol, want := range map[int]code{
		0: {0x1ff8, 13}, '\n': {0x3ffffffc, 30}, ' ': {0x14, 6}, '0': {0, 5}, 'a': {3, 5}, 'z': {0x7b, 7}, '&': {0xf8, 8},
		'\\': {0x7fff0, 19}, 127: {0xffffffc, 28}, 128: {0xfffe6, 20}, 255: {0x3ffffee, 26}, eos: {0x3fffffff, 30},
	} {
		if codes[symbol] != want {
			t.Errorf("symbol %d has code %x, want %x", symbol, codes[symbol], want)
		}
	}
}

func TestHuffmanErrors(t *testing.T) {
	long := bytes.Repeat([]byte{0}, 65) // "000…"
	for _, tt := range []struct {
		name, coded string
		want        string // decoded, if err is nil
		err         *Error
	}{
		{"nothing", "", "", nil},
		{"no padding", "\x00\x00\x00\x00\x00", "00000000", nil},
		{"padding of 1 bit", "\xf1", "w", nil},
		{"padding of 2 bits", "\x53", " ", nil},
		{"padding of 3 bits", "\x1f", "a", nil},
		{"padding of 7 bits", "\x1a\x8a\x7f", "a  ", nil},
		{"padding of 8 bits after a whole byte", "\xf8\xff", "", ErrHuffmanPadding},
		{"zero in the padding", "\x1d", "", ErrHuffmanPadding},
		{"only zeros in the padding", "\x18", "", ErrHuffmanPadding},
		{"padding of 8 bits", "\x1f\xff", "", ErrHuffmanPadding},
		{"nothing but padding of 8 bits", "\xff", "", ErrHuffmanPadding},
		{"padding of 29 bits", "\x1f\xff\xff\xff", "", ErrHuffmanPadding},
		{"EOS", "\xff\xff\xff\xff", "", ErrHuffmanEOS},
		{"EOS after a symbol", "\x1f\xff\xff\xff\xff", "", ErrHuffmanEOS},
		{"EOS within", "\x1f\xff\xff\xff\xf8" + string(long), "", ErrHuffmanEOS},
		{"long string, padding of 8 bits", string(long) + "\xff", "", ErrHuffmanPadding},
		{"cut code of 30 bits", "\xff\xff\xff", "", ErrHuffmanPadding},
		{"code of 30 bits", "\xff\xff\xff\xf3", "\n", nil},
		{"code of 30 bits, wrong padding", "\xff\xff\xff\xf2", "", ErrHuffmanPadding},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := appendDecoded([]byte("x"), []byte(tt.coded))
			if err != tt.err || err == nil && string(got) != "x"+tt.want {
				t.Errorf("got %q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
			if _, err := decodedLen([]byte(tt.coded)); err != tt.err {
				t.Errorf("decodedLen: %v, want %v", err, tt.err)
			}
		})
	}
}

// checkString encodes and decodes s, and compares the code with x/net's.
func checkString(t *testing.T, s string) {
	t.Helper()
	coded := appendEncoded(nil, s, encodedLen(s))
	if want := hpack.AppendHuffmanString(nil, s); !bytes.Equal(coded, want) || encodedLen(s) != len(want) {
		t.Fatalf("%q is coded as %x (%d), want %x", s, coded, encodedLen(s), want)
	}
	checkCoded(t, coded)
	if back, err := appendDecoded(nil, coded); err != nil || string(back) != s {
		t.Fatalf("%q comes back as %q, %v", s, back, err)
	}
}

// checkCoded decodes coded, and compares the result with x/net's.
func checkCoded(t *testing.T, coded []byte) {
	t.Helper()
	got, err := appendDecoded(nil, coded)
	want, wantErr := hpack.HuffmanDecodeToString(coded)
	if (err == nil) != (wantErr == nil) || err == nil && string(got) != want {
		t.Fatalf("%x: %q, %v, x/net %q, %v", coded, got, err, want, wantErr)
	}
	if n, lenErr := decodedLen(coded); lenErr != err || err == nil && n != len(want) {
		t.Fatalf("%x: decodedLen says %d, %v, want %d, %v", coded, n, lenErr, len(want), err)
	}
}

func TestHuffmanOfAllPairs(t *testing.T) {
	for i := range 1 << 16 {
		checkString(t, string([]byte{byte(i), byte(i >> 8)}))
		checkCoded(t, []byte{byte(i), byte(i >> 8)})
	}
}

func TestHuffmanOfRandomStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		s := make([]byte, r.IntN(80))
		for i := range s {
			if s[i] = byte(r.Uint32()); r.IntN(4) > 0 {
				s[i] = ' ' + s[i]%95
			}
		}
		checkString(t, string(s))
		checkCoded(t, s)
	}
	for n := 500; n < 540; n++ { // longer than the scratch of decodedLen
		checkString(t, strings.Repeat("0", n)+"\x00"+strings.Repeat("Z", n))
	}
}

func FuzzHuffman(f *testing.F) {
	f.Add([]byte("text/html; charset=utf-8"))
	f.Add([]byte("\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkString(t, string(b))
		checkCoded(t, b)
	})
}
