package bufpool

import (
	"bytes"
	"math"
	"runtime"
	"sync"
	"testing"
)

func TestGetRoundsUpToAClass(t *testing.T) {
	for _, tc := range []struct{ size, wantCap int }{
		{math.MinInt, 512},
		{-1, 512},
		{0, 512},
		{1, 512},
		{512, 512},
		{513, 1024},
		{1024, 1024},
		{1025, 2048},
		{4096, 4096},
		{1<<20 - 1, 1 << 20},
		{1 << 20, 1 << 20},
		{1<<20 + 1, 2 << 20},
		{4 << 20, 4 << 20},
		{4<<20 + 1, 4<<20 + 1},
		{5 << 20, 5 << 20},
	} {
		for range 3 { // new, and perhaps from the pool
			b := Get(tc.size)
			if len(b) != 0 || cap(b) != tc.wantCap {
				t.Errorf("Get(%d): len %d, cap %d; want 0, %d", tc.size, len(b), cap(b), tc.wantCap)
			}
			Put(b)
		}
	}
}

func TestClassesOfEverySize(t *testing.T) {
	for size := 1; size <= MaxSize; size++ {
		c := classFor(size)
		if MinSize<<c < size || c > 0 && MinSize<<(c-1) >= size {
			t.Fatalf("size %d is put into the class of %d", size, MinSize<<c)
		}
		back, ok := classOf(size)
		if isClass := size == MinSize<<c; ok != isClass || ok && back != c {
			t.Fatalf("capacity %d: class %d, %v", size, back, ok)
		}
	}
}

func TestPutKeepsOnlyWholeClasses(t *testing.T) {
	for _, tc := range []struct {
		name string
		size int
		kept bool
	}{
		{"nothing", 0, false},
		{"below the smallest", 511, false},
		{"a power of two below the smallest", 256, false},
		{"smallest", 512, true},
		{"between two", 1000, false},
		{"largest", 4 << 20, true},
		{"above the largest", 4<<20 + 1, false},
		{"a power of two above the largest", 1 << 23, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kept := false
			for range 50 { // in race builds a sync.Pool drops items at random
				b := make([]byte, tc.size)
				Put(b[:tc.size/2])
				got := Get(tc.size)
				if kept = kept || same(got, b); kept || !tc.kept && !Poisons {
					break
				}
			}
			if kept != tc.kept {
				t.Errorf("cap %d: kept %v, want %v", tc.size, kept, tc.kept)
			}
		})
	}
	Put(nil)
}

// same reports whether a and b are one array.
func same(a, b []byte) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:1][0] == &b[:1][0]
}

func TestGrow(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789abcdef"), 32) // 512 bytes
	for _, tc := range []struct {
		name    string
		b       []byte
		n       int
		wantCap int
	}{
		{"nil", nil, 1, 512},
		{"nil and nothing", nil, 0, 0},
		{"room for it", append(Get(1024), text...), 512, 1024},
		{"one too many", append(Get(1024), text...), 513, 2048},
		{"at least doubles", append(Get(4096), text...), 3585, 8192},
		{"more than twice", append(Get(512), text...), 5000, 8192},
		{"over the largest", append(Get(1<<20), text...), 1 << 20, 2 << 20},
		{"far over the largest", append(Get(1<<20), text...), 5 << 20, 5<<20 + 512},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := bytes.Clone(tc.b)
			got := Grow(tc.b, tc.n)
			if !bytes.Equal(got, want) {
				t.Errorf("bytes changed: %q, want %q", got, want)
			}
			if cap(got) != tc.wantCap || cap(got)-len(got) < tc.n {
				t.Errorf("len %d, cap %d; want cap %d", len(got), cap(got), tc.wantCap)
			}
		})
	}
}

func TestGrowRefusesASizeThatOverflows(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Grow(Get(1)[:1], math.MaxInt)
}

func TestPutPoisonsInRaceBuilds(t *testing.T) {
	for _, size := range []int{1, 512, 3000, 1 << 20, 1<<20 + 1} {
		b := make([]byte, size)
		Put(b[:0])
		poisoned := bytes.Count(b, []byte{Poison})
		if Poisons && poisoned != size || !Poisons && poisoned != 0 {
			t.Errorf("size %d: %d bytes poisoned, race build: %v", size, poisoned, Poisons)
		}
	}
}

func TestPoisonBytesReachesTheCapacity(t *testing.T) {
	for size := range 300 {
		b := make([]byte, size+1)
		PoisonBytes(b[: size/2 : size])
		if n := bytes.Count(b[:size], []byte{Poison}); n != size || b[size] != 0 {
			t.Fatalf("cap %d: %d bytes poisoned, the next is %#x", size, n, b[size])
		}
	}
}

// No two holders have the same array at the same time.
func TestConcurrentHoldersDoNotShare(t *testing.T) {
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			for round := range 2000 {
				b := Get(round % 3000)
				b = b[:cap(b)]
				for i := range b {
					b[i] = byte(id)
				}
				if round%64 == 0 {
					runtime.Gosched()
				}
				if n := bytes.Count(b, []byte{byte(id)}); n != len(b) {
					t.Errorf("%d of %d bytes were changed by another", len(b)-n, len(b))
					return
				}
				Put(b)
			}
		})
	}
	wg.Wait()
}

func TestPoolsShrinkAfterABurst(t *testing.T) {
	const burst = 64 << 20
	runtime.GC() // twice, so that the pools hold nothing of other tests
	runtime.GC()
	before := heap()
	held := make([][]byte, burst/MaxSize)
	for i := range held {
		held[i] = Get(MaxSize)
	}
	if got := heap() - before; got < burst*3/4 {
		t.Fatalf("%d bytes in the burst, want about %d: the test measures nothing", got, burst)
	}
	for _, b := range held {
		Put(b)
	}
	clear(held)
	runtime.GC()
	runtime.GC()
	if got := heap() - before; got > burst/8 {
		t.Errorf("%d bytes are still held after two collections", got)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAllocations(t *testing.T) {
	if Poisons {
		t.Skip("in race builds a sync.Pool forgets at random")
	}
	for _, size := range []int{100, 4096, 1 << 20} {
		if n := testing.AllocsPerRun(1000, func() { Put(Get(size)) }); n != 0 {
			t.Errorf("Get(%d), Put: %v allocations", size, n)
		}
	}
	n := testing.AllocsPerRun(1000, func() {
		b := Get(512)[:512]
		b = Grow(b, 512)[:1024]
		Put(Grow(b, 2048))
	})
	if n != 0 {
		t.Errorf("Grow: %v allocations", n)
	}
}

func BenchmarkGetPut(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"512B", 512}, {"4KiB", 4096}, {"1MiB", 1 << 20}} {
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					Put(Get(size.bytes))
				}
			})
		})
	}
}
