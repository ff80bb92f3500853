package handlers_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

// TestReplacedUnderLoad replaces files by renaming while clients download them. Each body must be, as a whole, a version
// of the file that was requested. A file rests for a while after a change, so that clients get it from the cache too.
func TestReplacedUnderLoad(t *testing.T) {
	needsCache(t)
	t.Parallel()
	names, replacements, limit := 60, 1_000, 500*time.Millisecond
	switch {
	case wiretest.Long():
		names, replacements, limit = 1_000, 10_000, time.Hour
	case wiretest.Full():
		limit = 1500 * time.Millisecond
	}
	dir := t.TempDir()
	var versions sync.Map // fingerprint → name
	replace := func(i int) {
		name := fmt.Sprint(i%names, ".data")
		size := []int{10, 4_000, 70_000, 128<<10 + 5_000}[rand.N(4)]
		body := text(name, i, size)
		versions.Store(fingerprint(sha256.Sum256([]byte(body))), name)
		if err := put(filepath.Join(dir, name), body); err != nil {
			t.Error(err)
		}
	}
	for i := range names {
		replace(i)
	}
	url, inMemory := serveFiles(t, (&gallop.FS{Root: dir, CheckEvery: 20 * time.Millisecond}).NewRequestHandler(), nil)
	var done atomic.Bool
	var downloads atomic.Int64
	var clients sync.WaitGroup
	for range 4 {
		client := keepAlive(t)
		clients.Go(func() {
			for !done.Load() {
				name := fmt.Sprint(rand.N(names), ".data")
				resp, body, err := get(client, "GET", url+"/"+name)
				if err != nil {
					t.Error(err)
					return
				}
				of, known := versions.Load(fingerprint(sha256.Sum256(body)))
				if !known || of != name || resp.StatusCode != 200 {
					t.Errorf("%d: %d bytes of %s are not a version of %s: %.40q", resp.StatusCode, len(body), of, name, body)
					return
				}
				downloads.Add(1)
			}
		})
	}
	rest := 2 * youth / time.Duration(names) // of all files, one after another
	end := time.Now().Add(limit)
	giveUp := end.Add(30 * time.Second) // on a busy machine, few files come from the cache
	replaced := 0
	goesOn := func() bool {
		if inMemory.Load() == 0 || replaced < 10 {
			return time.Now().Before(giveUp)
		}
		return replaced < replacements && time.Now().Before(end)
	}
	for ; !t.Failed() && goesOn(); replaced++ {
		time.Sleep(rest)
		replace(names + replaced)
	}
	done.Store(true)
	clients.Wait()
	t.Logf("%d replacements, %d downloads, %d of them from memory", replaced, downloads.Load(), inMemory.Load())
	if inMemory.Load() == 0 || replaced < 10 {
		t.Errorf("%d responses came from memory, %d files were replaced", inMemory.Load(), replaced)
	}
}
