package coding

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"
)

// bomb returns size zeros in coding c.
func bomb(t testing.TB, c Coding, size int) []byte {
	var b bytes.Buffer
	z := AcquireWriter(c, DefaultLevel, &b)
	defer ReleaseWriter(z)
	zeros := make([]byte, 1<<20)
	for ; size > 0; size -= len(zeros) {
		if _, err := z.Write(zeros[:min(size, len(zeros))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestSizeLimitIsExact(t *testing.T) {
	body := samples()["text"]
	for _, c := range append(real, Identity) {
		src := reference(t, c, body)
		for way, decode := range decoders {
			if got, err := decode(src, ListOf(c), Limits{MaxSize: int64(len(body))}); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%v %s at the limit: %d bytes, %v", c, way, len(got), err)
			}
			for _, limit := range []int{1, 100, len(body) - 1} {
				got, err := decode(src, ListOf(c), Limits{MaxSize: int64(limit)})
				if err != ErrTooLarge || len(got) > limit {
					t.Errorf("%v %s limit %d: %d bytes, %v", c, way, limit, len(got), err)
				}
			}
		}
	}
}

func TestZeroLimitsAreTheDefaultsAndNegativeOnesNone(t *testing.T) {
	const floor, size = ratioFloor, 32 << 20
	for _, tc := range []struct {
		limits  Limits
		in, out int64
		want    error
	}{
		{Limits{}, size, size, nil},
		{Limits{}, size, size + 1, ErrTooLarge},
		{Limits{}, floor/50 + 1, floor * 2, nil},
		{Limits{}, floor / 50, floor * 2, ErrRatio},
		{Limits{MaxSize: -1}, 1 << 40, 1 << 45, nil},
		{Limits{MaxSize: -1}, 1 << 62, 1<<63 - 1, nil},
		{Limits{MaxRatio: -1}, 1, size, nil},
		{Limits{MaxSize: -1, MaxRatio: -1}, 1, 1<<63 - 1, nil},
		{Limits{MaxSize: 10, MaxRatio: 1}, 1, 10, nil},
		{Limits{MaxSize: 10, MaxRatio: 1}, 1, 11, ErrTooLarge},
	} {
		if err := tc.limits.withDefaults().check(tc.in, tc.out); err != tc.want {
			t.Errorf("%+v: %d yield %d: %v, want %v", tc.limits, tc.in, tc.out, err, tc.want)
		}
	}
}

func TestBombsStopAtTheLimits(t *testing.T) {
	for _, c := range real {
		src := bomb(t, c, 5<<20)
		// The size of the windows of br and zstd, and of the output while it doubles.
		const bound = 30 << 20
		for way, decode := range decoders {
			for _, tc := range []struct {
				name   string
				limits Limits
				want   error
				most   int
			}{
				{"default", Limits{}, ErrRatio, max(ratioFloor, DefaultMaxRatio*len(src))},
				{"size only", Limits{MaxSize: 3 << 20, MaxRatio: -1}, ErrTooLarge, 3 << 20},
				{"tight", Limits{MaxSize: 1 << 20, MaxRatio: 10}, nil, 1 << 20},
			} {
				var got []byte
				var err error
				used := allocated(func() { got, err = decode(src, ListOf(c), tc.limits) })
				if err != ErrRatio && err != ErrTooLarge || tc.want != nil && err != tc.want || len(got) > tc.most {
					t.Errorf("%v %s %s: %d bytes, %v", c, way, tc.name, len(got), err)
				}
				if used > bound {
					t.Errorf("%v %s %s: %d MiB allocated", c, way, tc.name, used>>20)
				}
			}
		}
	}
}

func TestNestedBombsCountAgainstTheOutermost(t *testing.T) {
	for _, c := range real {
		src := bomb(t, c, 4<<20)
		inner := reference(t, c, src)
		for way, decode := range decoders {
			got, err := decode(inner, listOf(c, c), Limits{})
			if err != ErrRatio || len(got) > ratioFloor {
				t.Errorf("%v in itself, %s: %d bytes, %v", c, way, len(got), err)
			}
		}
	}
	t.Run("a layer on the way is limited too", func(t *testing.T) {
		src := reference(t, Gzip, bomb(t, Gzip, 2<<20))
		for way, decode := range decoders {
			got, err := decode(src, listOf(Gzip, Gzip), Limits{MaxSize: 1000, MaxRatio: -1})
			if err != ErrTooLarge || len(got) > 1000 {
				t.Errorf("%s: %d bytes, %v", way, len(got), err)
			}
		}
	})
}

func TestRatioIsOfNoConcernBelowOneMebibyte(t *testing.T) {
	for _, c := range real {
		src := bomb(t, c, ratioFloor)
		for way, decode := range decoders {
			if got, err := decode(src, ListOf(c), Limits{}); err != nil || len(got) != ratioFloor {
				t.Errorf("%v %s: %d bytes, %v", c, way, len(got), err)
			}
		}
		for way, decode := range decoders {
			if got, err := decode(bomb(t, c, ratioFloor+1), ListOf(c), Limits{}); err != ErrRatio {
				t.Errorf("%v %s one byte more: %d bytes, %v", c, way, len(got), err)
			}
		}
	}
}

func TestAnnouncedSizesAreNotAllocated(t *testing.T) {
	for name, src := range map[string][]byte{
		"frame content size of 2^56":        append([]byte("\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x00\x00\x01"), 1, 0, 0),
		"frame content size of 8 MiB":       append([]byte("\x28\xb5\x2f\xfd\xa0\x00\x00\x80\x00"), 1, 0, 0),
		"frame content size without limits": append([]byte("\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x7f"), 1, 0, 0),
	} {
		for way, decode := range decoders {
			var err error
			used := allocated(func() { _, err = decode(src, ListOf(Zstd), unlimited) })
			if err == nil || used > 12<<20 {
				t.Errorf("%s %s: %d KiB allocated, %v", name, way, used>>10, err)
			}
		}
	}
}

func TestZstdWindowIsAtMost8MiB(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		window byte // RFC 8878 §3.1.1.1.2: exponent and mantissa
		want   error
	}{
		{"8 MiB", 13 << 3, nil},
		{"9 MiB", 13<<3 | 1, ErrWindow},
		{"2^41", 31 << 3, ErrWindow},
	} {
		// One raw block "x", which is the last one.
		src := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, tc.window, 1 | 1<<3, 0, 0, 'x'}
		for way, decode := range decoders {
			if _, err := decode(src, ListOf(Zstd), Limits{}); !errors.Is(err, tc.want) || tc.want == nil && err != nil {
				t.Errorf("%s %s: %v", tc.name, way, err)
			}
		}
	}
	t.Run("and we never ask for more", func(t *testing.T) {
		body := make([]byte, 12<<20)
		for i := range body {
			body[i] = byte(i * i >> 7)
		}
		for level := scales[Zstd].least; level <= scales[Zstd].most; level++ {
			var b bytes.Buffer
			z := AcquireWriter(Zstd, level, &b)
			z.Write(body)
			z.Close()
			ReleaseWriter(z)
			for _, src := range [][]byte{b.Bytes(), AppendEncode(nil, body, Zstd, level)} {
				if got, err := readAll(src, ListOf(Zstd), unlimited); err != nil || !bytes.Equal(got, body) {
					t.Errorf("level %d: %v", level, err)
				}
			}
		}
	})
}

func TestGivingUpHalfWayLeavesNothingBehind(t *testing.T) {
	body := samples()["long"]
	before := runtime.NumGoroutine()
	for _, c := range append(real, Identity) {
		src := reference(t, c, body)
		for range 4 {
			r := AcquireReader(listOf(c), bytes.NewReader(src), unlimited)
			io.CopyN(io.Discard, r, 200<<10)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			r.Close()
			if _, err := r.Read(make([]byte, 1)); err != ErrClosed {
				t.Fatalf("%v after Close: %v", c, err)
			}
			ReleaseReader(r)
			z := AcquireWriter(c, DefaultLevel, io.Discard)
			z.Write(body)
			ReleaseWriter(z)
		}
		if got, err := readAll(src, ListOf(c), unlimited); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%v after that: %v", c, err)
		}
	}
	for end := time.Now().Add(20 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines more than before", runtime.NumGoroutine()-before)
		}
	}
}
