package bench

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/valyala/fasthttp"
)

// Writing the heads of responses through the exported API of each peer, into a bufio.Writer, as each package's own server does. One
// operation is one head, and throughput counts the bytes of the head.

// setFields are the ten fields that a handler sets, in response10.
var setFields = func() (fields [][2]string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(response10), "\r\n\r\n"), "\r\n") {
		if name, value, found := strings.Cut(line, ": "); found {
			fields = append(fields, [2]string{name, value})
		}
	}
	return fields
}()

// BenchmarkWriteResponse10Fields writes a head that has ten fields.
func BenchmarkWriteResponse10Fields(b *testing.B) {
	b.Run("server=fasthttp", func(b *testing.B) {
		var h fasthttp.ResponseHeader
		set(&h)
		benchWrite(b, func(w *bufio.Writer) error { return h.Write(w) })
	})
	b.Run("server=gallop", func(b *testing.B) {
		var h gallop.ResponseHeader
		set(&h)
		benchWrite(b, func(w *bufio.Writer) error { return h.Write(w) })
	})
	b.Run("server=nethttp", func(b *testing.B) {
		h := http.Header{}
		for _, f := range setFields {
			h.Set(f[0], f[1])
		}
		benchWrite(b, func(w *bufio.Writer) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\n")
			err := h.Write(w)
			io.WriteString(w, "\r\n")
			return err
		})
	})
}

// BenchmarkSetAndWriteResponse10Fields also sets the ten fields of each head, as handlers do.
func BenchmarkSetAndWriteResponse10Fields(b *testing.B) {
	b.Run("server=fasthttp", func(b *testing.B) {
		var h fasthttp.ResponseHeader
		benchWrite(b, func(w *bufio.Writer) error {
			h.Reset()
			for _, f := range setFields {
				h.Set(f[0], f[1])
			}
			return h.Write(w)
		})
	})
	b.Run("server=gallop", func(b *testing.B) {
		var h gallop.ResponseHeader
		benchWrite(b, func(w *bufio.Writer) error {
			h.Reset()
			for _, f := range setFields {
				h.Set(f[0], f[1])
			}
			return h.Write(w)
		})
	})
	b.Run("server=nethttp", func(b *testing.B) {
		benchWrite(b, func(w *bufio.Writer) error {
			h := http.Header{}
			for _, f := range setFields {
				h.Set(f[0], f[1])
			}
			io.WriteString(w, "HTTP/1.1 200 OK\r\n")
			err := h.Write(w)
			io.WriteString(w, "\r\n")
			return err
		})
	})
}

// set sets the ten fields.
func set(h interface{ Set(name, value string) }) {
	for _, f := range setFields {
		h.Set(f[0], f[1])
	}
}

// benchWrite writes a head b.N times. The writer's buffer always has space for it.
func benchWrite(b *testing.B, write func(*bufio.Writer) error) {
	w := bufio.NewWriterSize(io.Discard, 4096)
	b.SetBytes(int64(len(response10)))
	b.ReportAllocs()
	for b.Loop() {
		w.Reset(io.Discard)
		if err := write(w); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWrittenHeads shows that the peers write the same fields, and that gallop does so without allocations.
func TestWrittenHeads(t *testing.T) {
	var ours gallop.ResponseHeader
	var theirs fasthttp.ResponseHeader
	set(&ours)
	set(&theirs)
	want := sortedLines(response10)
	for name, h := range map[string]interface{ Write(*bufio.Writer) error }{"gallop": &ours, "fasthttp": &theirs} {
		var out bytes.Buffer
		w := bufio.NewWriter(&out)
		if err := h.Write(w); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		if got := sortedLines(out.Bytes()); !slices.Equal(got, want) {
			t.Errorf("%s writes\n%q\nnot\n%q", name, got, want)
		}
	}
	w := bufio.NewWriterSize(io.Discard, 4096)
	allocs := testing.AllocsPerRun(100, func() {
		w.Reset(io.Discard)
		ours.Reset()
		for _, f := range setFields {
			ours.Set(f[0], f[1])
		}
		ours.Write(w)
	})
	if allocs != 0 {
		t.Errorf("gallop allocates %v times per head", allocs)
	}
}

// sortedLines returns the lines of a head without their case, because each peer spells some names in its own way. The date is left
// out, because fasthttp always writes the current one.
func sortedLines(head []byte) []string {
	lines := strings.Split(strings.ToLower(string(head)), "\r\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "date: ") && strings.HasSuffix(line, " gmt") {
			lines[i] = "date"
		}
	}
	slices.Sort(lines)
	return lines
}
