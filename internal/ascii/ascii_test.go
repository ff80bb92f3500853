package ascii

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestIndexControlAgreesWithItsDefinition(t *testing.T) {
	slow := func(b []byte) int {
		for i, c := range b {
			if c < 0x20 && c != '\t' || c == 0x7f {
				return i
			}
		}
		return len(b)
	}
	for c := 0; c < 256; c++ {
		for at := 0; at < 40; at++ {
			b := bytes.Repeat([]byte{'x'}, 40)
			b[at] = byte(c)
			if got, want := IndexControl(b), slow(b); got != want {
				t.Fatalf("byte %#x at %d: got %d, want %d", c, at, got, want)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte("\t\t a\x80\xff\x1f\x7f\r\n~!\x00")
	for range 200000 {
		b := make([]byte, r.IntN(30))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
			if r.IntN(3) > 0 {
				b[i] = 'a' + byte(r.IntN(26))
			}
		}
		if got, want := IndexControl(b), slow(b); got != want {
			t.Fatalf("%q: got %d, want %d", b, got, want)
		}
	}
}

func TestParseUint(t *testing.T) {
	for _, s := range []string{"0", "1", "10", "007", "9223372036854775807"} {
		want, _ := strconv.ParseUint(s, 10, 64)
		if n, ok := ParseUint(s); !ok || n != want {
			t.Errorf("%q: got %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "+1", "-1", " 1", "1 ", "1_0", "0x1", "9223372036854775808", "18446744073709551621", "99999999999999999999999"} {
		if n, ok := ParseUint(s); ok {
			t.Errorf("%q: read as %d, want a refusal", s, n)
		}
	}
}

func TestParseHex(t *testing.T) {
	for s, want := range map[string]uint64{"0": 0, "a": 10, "Ff": 255, "7fffffffffffffff": 1<<63 - 1, "000000000000000000001": 1} {
		if n, ok := ParseHex(s); !ok || n != want {
			t.Errorf("%q: got %d, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "g", "0x1", "8000000000000000", "ffffffffffffffff", "10000000000000000"} {
		if n, ok := ParseHex(s); ok {
			t.Errorf("%q: read as %d, want a refusal", s, n)
		}
	}
}

func TestAppendUintOfEveryLength(t *testing.T) {
	for n, digits := uint64(1), 1; digits <= 20; n, digits = n*10, digits+1 {
		for _, n := range []uint64{n - 1, n, n + 1, 2*n + 3} {
			if got := string(AppendUint([]byte("x"), n)); got != "x"+strconv.FormatUint(n, 10) {
				t.Errorf("AppendUint %d: %q", n, got)
			}
		}
	}
}

func TestAppendNumbers(t *testing.T) {
	for _, n := range []uint64{0, 1, 9, 10, 99, 100, 12345, 1<<63 - 1, 1<<64 - 1, 0x10, 0xfff, 1 << 60} {
		if got := string(AppendUint([]byte("x"), n)); got != "x"+strconv.FormatUint(n, 10) {
			t.Errorf("AppendUint %d: %q", n, got)
		}
		if got := string(AppendHex(nil, n)); got != strconv.FormatUint(n, 16) {
			t.Errorf("AppendHex %d: %q", n, got)
		}
	}
}

func TestEqualFoldIsAboutLettersOnly(t *testing.T) {
	for c := 0; c < 256; c++ {
		for d := 0; d < 256; d++ {
			want := bytes.Equal(bytes.ToLower([]byte{byte(c)}), bytes.ToLower([]byte{byte(d)}))
			if c >= 0x80 || d >= 0x80 {
				want = c == d
			}
			if got := EqualFold([]byte{byte(c)}, string([]byte{byte(d)})); got != want {
				t.Fatalf("%#x, %#x: got %v", c, d, got)
			}
		}
	}
}

func TestHasToken(t *testing.T) {
	for _, tc := range []struct {
		list, token string
		want        bool
	}{
		{"close", "close", true},
		{"Keep-Alive, CLOSE", "close", true},
		{" ,, close ,", "close", true},
		{"closed", "close", false},
		{"close;x", "close", false},
		{"", "close", false},
	} {
		if got := HasToken(tc.list, tc.token); got != tc.want {
			t.Errorf("%q has %q: got %v", tc.list, tc.token, got)
		}
	}
}

func BenchmarkIndexControl(b *testing.B) {
	line := append(bytes.Repeat([]byte("text/html;q=0.9 "), 5), '\r')
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		IndexControl(line)
	}
}
