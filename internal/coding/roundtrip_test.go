package coding

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/iotest"
)

var unlimited = Limits{MaxSize: -1, MaxRatio: -1}

func TestReferenceReadsWhatWeWrite(t *testing.T) {
	t.Parallel()
	for name, body := range samples() {
		for _, c := range real {
			for level := scales[c].least; level <= scales[c].most; level++ {
				if len(body) > 1<<20 && level != c.clamp(DefaultLevel) {
					continue // slow, and covers no other code here
				}
				got := AppendEncode([]byte("before"), body, c, level)
				if !bytes.HasPrefix(got, []byte("before")) {
					t.Fatalf("%v %d %s: dst is lost", c, level, name)
				}
				if !bytes.Equal(undoReference(t, c, got[6:]), body) {
					t.Errorf("%v %d %s: differs", c, level, name)
				}
			}
		}
	}
}

func TestWeReadWhatTheReferenceWrites(t *testing.T) {
	t.Parallel()
	for name, body := range samples() {
		for _, c := range append(real, Identity) {
			src := reference(t, c, body)
			for way, decode := range decoders {
				got, err := decode(src, ListOf(c), unlimited)
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%v %s %s: %d bytes of %d, %v", c, name, way, len(got), len(body), err)
				}
			}
		}
	}
}

func TestAppendDecodeKeepsDst(t *testing.T) {
	body := samples()["text"]
	for _, c := range append(real, Identity) {
		src := AppendEncode(nil, body, c, DefaultLevel)
		for _, dst := range [][]byte{nil, []byte("before"), append(make([]byte, 0, 1<<20), "before"...)} {
			want := string(dst) + string(body)
			if got, err := AppendDecode(dst, src, ListOf(c), Limits{}); err != nil || string(got) != want {
				t.Errorf("%v behind %d of %d: %v", c, len(dst), cap(dst), err)
			}
			if got, err := AppendDecode(dst, src[:len(src)-1], ListOf(c), Limits{}); c != Identity && (err == nil || string(got) != string(dst)) {
				t.Errorf("%v truncated: %d bytes, %v, want dst as it was and an error", c, len(got), err)
			}
		}
	}
}

func TestLayersAreUndoneFromTheLast(t *testing.T) {
	body := samples()["text"]
	for _, list := range []List{
		listOf(Gzip, Brotli), listOf(Zstd, Zstd, Zstd), listOf(Deflate, Zstd, Gzip), listOf(Brotli, Gzip, Deflate),
	} {
		src := body
		for i := range list.Len() {
			src = reference(t, list.At(i), src)
		}
		for way, decode := range decoders {
			if got, err := decode(src, list, Limits{}); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%v %s: %v", list, way, err)
			}
		}
	}
}

func TestDeflateWithoutZlibHeadIsUnderstood(t *testing.T) {
	for name, body := range samples() {
		zlib := reference(t, Deflate, body)
		for way, decode := range decoders {
			if got, err := decode(zlib[2:len(zlib)-4], ListOf(Deflate), unlimited); err != nil || !bytes.Equal(got, body) {
				t.Errorf("%s %s: %v", name, way, err)
			}
		}
	}
}

func TestMembersAndFramesMayFollowEachOther(t *testing.T) {
	body := samples()["text"]
	for _, c := range []Coding{Gzip, Zstd} {
		src := append(reference(t, c, body), reference(t, c, nil)...)
		src = append(src, AppendEncode(nil, body, c, 1)...)
		for way, decode := range decoders {
			if got, err := decode(src, ListOf(c), Limits{}); err != nil || string(got) != string(body)+string(body) {
				t.Errorf("%v %s: %d bytes, %v", c, way, len(got), err)
			}
		}
	}
}

func TestFlushLetsTheReaderSeeEverything(t *testing.T) {
	for _, c := range append(real, Identity) {
		t.Run(c.String(), func(t *testing.T) {
			pr, pw := io.Pipe()
			defer pr.Close()
			go func() {
				z := AcquireWriter(c, DefaultLevel, pw)
				defer ReleaseWriter(z)
				for i := range 10 {
					fmt.Fprintf(z, "event %d\n", i)
					z.Flush()
				}
				z.Close()
				pw.Close()
			}()
			r := AcquireReader(ListOf(c), pr, Limits{})
			defer ReleaseReader(r)
			buf := make([]byte, 100)
			for i := range 10 {
				// The writer blocks in the pipe until each event was read.
				want := fmt.Sprintf("event %d\n", i)
				if _, err := io.ReadFull(r, buf[:len(want)]); err != nil || string(buf[:len(want)]) != want {
					t.Fatalf("got %q, %v", buf[:len(want)], err)
				}
			}
			if n, err := r.Read(buf); n != 0 || err != io.EOF {
				t.Fatalf("at the end: %d, %v", n, err)
			}
		})
	}
}

func TestWriterStartsAnewAfterReset(t *testing.T) {
	for _, c := range append(real, Identity) {
		var lost, b bytes.Buffer
		z := AcquireWriter(c, DefaultLevel, &lost)
		io.WriteString(z, "never finished")
		z.Reset(&b)
		io.WriteString(z, "body")
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		ReleaseWriter(z)
		if got, err := AppendDecode(nil, b.Bytes(), ListOf(c), Limits{}); err != nil || string(got) != "body" {
			t.Errorf("%v: %q, %v", c, got, err)
		}
	}
}

func TestReadersOfEveryKindBelow(t *testing.T) {
	body := samples()["text"]
	for _, c := range append(real, Identity) {
		src := reference(t, c, body)
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "data with error": iotest.DataErrReader,
		} {
			r := AcquireReader(ListOf(c), wrap(bytes.NewReader(src)), Limits{})
			if err := iotest.TestReader(r, body); err != nil {
				t.Errorf("%v %s: %v", c, name, err)
			}
			ReleaseReader(r)
		}
	}
}

func TestConcurrentUseOfThePools(t *testing.T) {
	bodies := samples()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				c := real[(g+i)%len(real)]
				body := bodies[[]string{"empty", "byte", "text", "noise"}[i%4]]
				src := AppendEncode(nil, body, c, DefaultLevel)
				got, err := AppendDecode(nil, src, ListOf(c), Limits{})
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("%v: %v", c, err)
				}
				if got, err := readAll(src, ListOf(c), Limits{}); err != nil || !bytes.Equal(got, body) {
					t.Errorf("%v stream: %v", c, err)
				}
			}
		})
	}
	wg.Wait()
}
