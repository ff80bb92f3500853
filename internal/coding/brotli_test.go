package coding

import (
	"io"
	"runtime"
	"testing"
)

func TestAbandonedStreamsLeaveNoGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4)) // a library may start goroutines only if they can run
	body := samples()["long"][:300<<10]
	for _, c := range real {
		for level := scales[c].least; level <= scales[c].most; level++ {
			before := runtime.NumGoroutine()
			z := AcquireWriter(c, level, io.Discard)
			z.Write(body)
			z.Flush()
			AppendEncode(nil, body, c, level)
			if n := runtime.NumGoroutine(); n > before {
				t.Errorf("%v level %d: %d goroutines were started", c, level, n-before)
			}
		}
	}
}

func TestLongBrotliStreamHoldsFewMegabytes(t *testing.T) {
	const most = 12 << 20
	body := samples()["long"]
	for level := range 7 {
		before := heap()
		z := acquireWriter(Brotli, level)
		z.Reset(io.Discard)
		for range 4 {
			z.Write(body)
		}
		if n := heap() - before; n > most {
			t.Errorf("level %d: a stream holds %d bytes, want at most %d", level, n, most)
		}
		runtime.KeepAlive(z)
	}
}

// heap returns the bytes of reachable memory.
func heap() int {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
