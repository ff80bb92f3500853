package coding

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTruncatedAnywhereIsAnError(t *testing.T) {
	body := samples()["text"][:500]
	named := []byte("\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\xffname\x00")
	for name, tc := range map[string]struct {
		coding Coding
		src    []byte
		whole  map[int]bool // lengths at which the body is complete
	}{
		"gzip":    {Gzip, reference(t, Gzip, body), nil},
		"deflate": {Deflate, reference(t, Deflate, body), nil},
		"raw":     {Deflate, reference(t, Deflate, body)[2:], nil},
		"br":      {Brotli, reference(t, Brotli, body), nil},
		"zstd":    {Zstd, reference(t, Zstd, body), nil},
		"second gzip member": {Gzip, append(reference(t, Gzip, body), append(named, reference(t, Gzip, body)[10:]...)...),
			map[int]bool{len(reference(t, Gzip, body)): true}},
		"second zstd frame": {Zstd, append(reference(t, Zstd, body), reference(t, Zstd, body)...),
			map[int]bool{len(reference(t, Zstd, body)): true}},
	} {
		t.Run(name, func(t *testing.T) {
			end := len(tc.src)
			if name == "raw" {
				end -= 4 // the checksum, which the bare format lacks
			}
			for n := range end {
				for way, decode := range decoders {
					_, err := decode(tc.src[:n], ListOf(tc.coding), Limits{})
					if tc.whole[n] {
						if err != nil {
							t.Errorf("%s at %d, where it is whole: %v", way, n, err)
						}
						continue
					}
					var e *Error
					if !errors.As(err, &e) || e.Reason != ErrTruncated || !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Errorf("%s at %d of %d: %v", way, n, end, err)
					}
				}
			}
		})
	}
}

func TestWhatFollowsTheEndIsAnError(t *testing.T) {
	body := samples()["text"]
	for _, c := range real {
		for _, more := range []string{"\x00", "x", "xx", "xyz", strings.Repeat("garbage", 10000)} {
			for way, decode := range decoders {
				_, err := decode(append(reference(t, c, body), more...), ListOf(c), Limits{})
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrTruncated) {
					t.Errorf("%v %s and %d bytes more: %v", c, way, len(more), err)
				}
			}
		}
	}
	t.Run("bare deflate", func(t *testing.T) {
		raw := reference(t, Deflate, body)[2:]
		for way, decode := range decoders {
			if _, err := decode(raw, ListOf(Deflate), Limits{}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s: %v", way, err)
			}
		}
	})
}

func TestFlippedBitsAreFound(t *testing.T) {
	// br has no checksum of its own and cannot be in this table.
	body := samples()["text"][:300]
	for _, c := range []Coding{Gzip, Deflate, Zstd} {
		good := reference(t, c, body)
		for i := range good {
			for bit := range 8 {
				src := bytes.Clone(good)
				src[i] ^= 1 << bit
				for way, decode := range decoders {
					if got, err := decode(src, ListOf(c), Limits{}); err == nil && !bytes.Equal(got, body) {
						t.Errorf("%v %s byte %d bit %d: another body and no error", c, way, i, bit)
					}
				}
			}
		}
	}
}

func TestNonsenseIsCorrupt(t *testing.T) {
	for name, tc := range map[string]struct {
		coding Coding
		src    string
	}{
		"text as gzip":            {Gzip, "hello, world"},
		"text as deflate":         {Deflate, "hello, world"},
		"text as zstd":            {Zstd, "hello, world"},
		"ones as br":              {Brotli, "\xff\xff\xff\xff\xff\xff"},
		"zlib with a dictionary":  {Deflate, "\x78\xbb\x00\x00\x00\x00\x03\x00"},
		"zstd with a dictionary":  {Zstd, "\x28\xb5\x2f\xfd\x21\x07\x01\x09\x00\x00x"},
		"zstd with reserved bits": {Zstd, "\x28\xb5\x2f\xfd\x28\x01\x09\x00\x00x"},
	} {
		for way, decode := range decoders {
			if got, err := decode([]byte(tc.src), ListOf(tc.coding), Limits{}); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, %s: %q, %v", name, way, got, err)
			}
		}
	}
}

func TestErrorsOfTheReaderBelowComeThrough(t *testing.T) {
	body := samples()["noise"]
	broken := errors.New("connection reset")
	for _, c := range append(real, Identity) {
		src := reference(t, c, body)
		for _, at := range []int{0, 1, 12, len(src) / 2, len(src)} {
			r := AcquireReader(ListOf(c), io.MultiReader(bytes.NewReader(src[:at]), iotest.ErrReader(broken)), Limits{})
			if _, err := io.ReadAll(r); err != broken {
				t.Errorf("%v at %d: %v", c, at, err)
			}
			if _, err := r.Read(make([]byte, 1)); err != broken {
				t.Errorf("%v at %d again: %v", c, at, err)
			}
			ReleaseReader(r)
		}
		// If a body broke off in transfer, its coding is not to blame.
		r := AcquireReader(ListOf(c), io.MultiReader(bytes.NewReader(src), iotest.ErrReader(io.ErrUnexpectedEOF)), Limits{})
		if _, err := io.ReadAll(r); err != io.ErrUnexpectedEOF {
			t.Errorf("%v: broken transfer at the end: %v", c, err)
		}
		ReleaseReader(r)
	}
}

func TestErrorNamesCodingAndReason(t *testing.T) {
	_, err := AppendDecode(nil, []byte("secret body"), ListOf(Gzip), Limits{})
	if s := err.Error(); !strings.Contains(s, "gzip") || !strings.Contains(s, "not valid") || strings.Contains(s, "secret") {
		t.Error(s)
	}
}

// A writer that accepts less than it is given without an error would produce an incomplete body.
func TestShortWritesAreErrors(t *testing.T) {
	body := samples()["text"]
	for _, c := range append(real, Identity) {
		src := AppendEncode(nil, body, c, DefaultLevel)
		if n, err := Decode(&shortWriter{}, src, ListOf(c), unlimited); err != io.ErrShortWrite || n != 1 {
			t.Errorf("decoding %v: %d bytes, %v", c, n, err)
		}
		z := AcquireWriter(c, DefaultLevel, &shortWriter{})
		_, err := z.Write(body)
		if err == nil {
			err = z.Close()
		}
		if err != io.ErrShortWrite {
			t.Errorf("encoding %v: %v", c, err)
		}
		ReleaseWriter(z)
	}
}

// shortWriter accepts one byte per call.
type shortWriter struct{}

func (*shortWriter) Write(p []byte) (int, error) { return min(1, len(p)), nil }

func TestDecodeReturnsTheErrorOfTheWriter(t *testing.T) {
	broken := errors.New("disk full")
	src := AppendEncode(nil, samples()["text"], Gzip, DefaultLevel)
	if _, err := Decode(failingWriter{broken}, src, ListOf(Gzip), Limits{}); err != broken {
		t.Error(err)
	}
	z := AcquireWriter(Gzip, DefaultLevel, failingWriter{broken})
	defer ReleaseWriter(z)
	z.Write(src)
	if err := z.Close(); err != broken {
		t.Error(err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
