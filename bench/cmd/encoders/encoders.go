//go:build linux

package main

import (
	"bytes"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"log"
	"runtime"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	brrr "github.com/molecule-man/go-brrr"
	"golang.org/x/sys/unix"
)

// writer is what the encoders have in common.
type writer interface {
	io.WriteCloser
	Reset(io.Writer)
}

// encoder is one library at one level.
type encoder struct {
	name   string
	create func() writer
}

func selected(pattern string) (some []encoder) {
	for _, e := range encoders() {
		if matches(pattern, e.name) {
			some = append(some, e)
		}
	}
	return some
}

func encoders() (all []encoder) {
	add := func(library string, level int, create func() writer) {
		all = append(all, encoder{fmt.Sprintf("%s-%d", library, level), create})
	}
	for level := range 12 {
		add("br-andybalholm", level, func() writer { return brotli.NewWriterLevel(nil, level) })
		add("br-brrr", level, func() writer { return must(brrr.NewWriter(io.Discard, level)) })
	}
	for level := 1; level <= 9; level++ {
		add("gzip-klauspost", level, func() writer { return must(gzip.NewWriterLevel(nil, level)) })
	}
	for _, level := range []int{1, 6} {
		add("gzip-std", level, func() writer { return must(stdgzip.NewWriterLevel(nil, level)) })
	}
	for i, window := range [...]int{1 << 20, 1 << 20, 4 << 20, 8 << 20} {
		level := i + 1
		add("zstd-klauspost", level, func() writer {
			return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevel(level)), zstd.WithWindowSize(window),
				zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true)))
		})
	}
	return all
}

func must[W any](w W, err error) W {
	if err != nil {
		log.Fatal(err)
	}
	return w
}

// result is what an encoder did with a body.
type result struct {
	name        string
	cpu         time.Duration // for a body
	size        int           // of the compressed body
	allocs      float64       // for a body, with a reused encoder
	fresh, held int           // bytes that a new encoder allocates for a body, and that it holds afterwards
}

// compare compresses the body with all encoders, round by round.
func compare(all []encoder, data []byte, rounds int) []result {
	results := make([]result, len(all))
	writers := make([]writer, len(all))
	for i, e := range all {
		results[i].name = e.name
		results[i].fresh, results[i].held = memory(e, data)
		writers[i] = e.create()
	}
	var out bytes.Buffer
	for range rounds {
		for i, w := range writers {
			encode(w, &out, data)
			results[i].size = out.Len()
			cpu, allocs := repeated(w, &out, data)
			if results[i].cpu == 0 || cpu < results[i].cpu {
				results[i].cpu, results[i].allocs = cpu, allocs
			}
		}
	}
	return results
}

// repeated compresses the body for at least ten milliseconds.
func repeated(w writer, out *bytes.Buffer, data []byte) (cpu time.Duration, allocs float64) {
	runtime.GC()
	before, start := mallocs(), cpuTime()
	n := 0
	for ; n == 0 || cpuTime()-start < 10*time.Millisecond; n++ {
		encode(w, out, data)
	}
	cpu = (cpuTime() - start) / time.Duration(n)
	return cpu, float64(mallocs()-before) / float64(n)
}

func encode(w writer, out *bytes.Buffer, data []byte) {
	out.Reset()
	w.Reset(out)
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		log.Fatal(err)
	}
}

// memory returns what a new encoder allocates for a body, and what it holds afterwards.
func memory(e encoder, data []byte) (fresh, held int) {
	const n = 4
	var keep [n]writer
	var out bytes.Buffer
	out.Grow(2 * len(data))
	encode(e.create(), &out, data) // makes the library's tables
	collect()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = e.create()
		encode(keep[i], &out, data)
	}
	runtime.ReadMemStats(&after)
	fresh = int(after.TotalAlloc-before.TotalAlloc) / n
	collect()
	runtime.ReadMemStats(&after)
	held = (int(after.HeapAlloc) - int(before.HeapAlloc)) / n
	runtime.KeepAlive(&keep)
	return fresh, max(held, 0)
}

// collect frees what is garbage, including what pools hold and what waits for finalizers.
func collect() {
	for range 4 {
		runtime.GC()
	}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// cpuTime returns the CPU time of the process.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		log.Fatal(err)
	}
	return time.Duration(t.Nano())
}
