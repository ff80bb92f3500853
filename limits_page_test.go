package gallop

import (
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/coding"
	"github.com/gallop-http/gallop/internal/filetree"
	"github.com/gallop-http/gallop/internal/pagetest"
)

func TestDocsDefaults(t *testing.T) {
	var set settings
	set.resolve(&Server{})
	var h2 h2Conns
	h2.resolveLimits(&Server{set: set})
	kib := func(n int) string {
		if n >= 1<<20 {
			return fmt.Sprintf("%d MiB", n>>20)
		}
		return fmt.Sprintf("%d KiB", n>>10)
	}
	none := func(n time.Duration) string {
		if n == 0 {
			return "none"
		}
		return n.String()
	}
	want := map[string]string{
		"`MaxRequestLineBytes`":                     kib(set.head.Target),
		"`MaxHeaderBytes`":                          kib(set.head.Head),
		"`MaxHeaderFields`":                         fmt.Sprint(set.head.Fields),
		"`MaxFormArgs`":                             fmt.Sprint(set.maxArgs),
		"`ReadHeaderTimeout`":                       set.First.String(),
		"`MinBodyRate`":                             fmt.Sprintf("%d bytes/s, after %v", set.bodyRate, bodyRateGrace),
		"`MaxRequestBodySize`":                      kib(int(set.maxBody)) + ", streams unlimited",
		"chunk line, chunk extensions of a message": kib(set.chunks.Line) + ", " + kib(set.chunks.Overhead),
		"trailers":                                  kib(set.chunks.Trailer),
		"`ReadTimeout`":                             none(set.Read),
		"`WriteTimeout`":                            none(set.Write),
		"no progress in writing":                    set.Progress.String(),
		"`IdleTimeout`":                             fmt.Sprintf("%ds", int(set.Idle.Seconds())),
		"`TLSHandshakeTimeout`":                     set.Handshake.String(),
		"request body that the handler left unread": fmt.Sprintf("%s, %v", kib(drainSize), drainTime),
		"`Concurrency`":                             fmt.Sprintf("%d connections", DefaultConcurrency),
		"`MaxConcurrentRequests`":                   none(time.Duration(set.maxAtOnce)),
		"`MaxConcurrentHandlers`":                   fmt.Sprintf("%d handlers over HTTP/2", h2.handlers.Limit),
		"`MaxRequestBodyMemory`":                    kib(256<<20) + " over HTTP/2, or a quarter of GOMEMLIMIT",
		"`MaxConnsPerIP`":                           none(time.Duration((&Server{}).MaxConnsPerIP)),
		"decompressed bodies":                       fmt.Sprintf("%s, ratio %d over 1 MiB", kib(coding.DefaultMaxSize), coding.DefaultMaxRatio),
	}
	pagetest.Compare(t, "docs/limits.md", "| limit | default | beyond the limit |", want)
}

func TestDefaultBodyMemory(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for limit, want := range map[int64]int{math.MaxInt64: 256 << 20, 2 << 30: 512 << 20} {
		debug.SetMemoryLimit(limit)
		if got := defaultBodyMemory(); got != want {
			t.Errorf("GOMEMLIMIT %d: %d bytes for bodies, want %d", limit, got, want)
		}
	}
}

func TestDocsFileCache(t *testing.T) {
	pagetest.Compare(t, "docs/limits.md", "| limit of the file cache | default | beyond the limit |", map[string]string{
		"content in memory, all caches of the process together": fmt.Sprintf("%d MiB", filetree.MaxBytes>>20),
		"open files, all caches of the process together":        fmt.Sprintf("%d, and at most an eighth of RLIMIT_NOFILE", filetree.MaxDescriptors),
		"files and directories of one `FS`":                     fmt.Sprint(filetree.MaxEntries),
		"hashes of files of an embed.FS, for one `FS`":          fmt.Sprint(filetree.MaxHashes),
		"file systems that `ServeFS` caches":                    fmt.Sprint(maxFixed),
		"a file in memory":                                      fmt.Sprintf("%d KiB", filetree.MaxInMemory>>10),
		"a file that is compressed in memory":                   fmt.Sprintf("%d MiB", maxEncodedFile>>20),
		"compressed copies that are made at the same time":      fmt.Sprint(filetree.MaxMaking),
		"`CheckEvery`":    fmt.Sprintf("%ds", int(defaultCheckEvery.Seconds())),
		"`CacheDuration`": fmt.Sprintf("%ds", int(FSHandlerCacheDuration.Seconds())),
	})
}

func TestDocsHTTP2Defaults(t *testing.T) {
	s := &Server{}
	s.set.resolve(s)
	var l h2Conns
	l.resolve(s)
	l.health.resolve(&HTTP2Config{})
	none := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return d.String()
	}
	kib := func(n int) string {
		switch {
		case n >= 1<<20:
			return fmt.Sprintf("%d MiB", n>>20)
		case n >= 1<<10:
			return fmt.Sprintf("%d KiB", n>>10)
		}
		return fmt.Sprintf("%d bytes", n)
	}
	want := map[string]string{
		"`MaxConcurrentStreams`":          fmt.Sprintf("%d per connection", l.config.MaxConcurrentStreams),
		"`MaxReceiveBufferPerStream`":     kib(int(l.config.StreamWindow)),
		"`MaxReceiveBufferPerConnection`": kib(int(l.config.ConnWindow)),
		"`MaxReadFrameSize`":              kib(int(l.config.MaxFrameSize)),
		"`MaxDecoderHeaderTableSize`":     kib(l.config.HeaderTableSize),
		"`MaxEncoderHeaderTableSize`":     kib(l.config.EncoderTableSize),
		"`SendPingTimeout`":               none(l.health.ping),
		"`PingTimeout`":                   none(l.health.pong),
		"`WriteByteTimeout`":              none(l.health.write),
	}
	pagetest.Compare(t, "docs/limits.md", "| limit of HTTP/2 | default | beyond the limit |", want)
}

func TestDocsClientDefaults(t *testing.T) {
	set := (&HostClient{}).resolve()
	none := func(d time.Duration) string {
		if d == 0 {
			return "none"
		}
		return d.String()
	}
	want := map[string]string{
		"`MaxConnsPerHost`":                         fmt.Sprint(DefaultMaxConnsPerHost),
		"`MaxConnWaitTimeout`":                      none(set.connWait),
		"`MaxIdleConnDuration`":                     set.maxIdleTime.String(),
		"`MaxConnDuration`":                         none(set.maxConnTime),
		"`ReadTimeout`, `WriteTimeout` of a client": none(set.readTimeout + set.writeTimeout),
		"dial":                      DefaultDialTimeout.String(),
		"addresses that are dialed": "IPv4", // TestFromFasthttpDialDualStack
		"dial through a proxy":      defaultProxyTimeout.String(),
		"TLS handshake of a client": maxClientHandshake.String(),
		"`MaxResponseHeaderBytes`":  fmt.Sprintf("%d KiB", set.head.Head>>10),
		"headers of a response":     fmt.Sprint(set.head.Fields),
		"interim responses":         fmt.Sprint(maxInterim),
		"`MaxResponseBodySize`":     fmt.Sprintf("%d MiB, streams unlimited", set.maxBody>>20),
		"`MaxRedirects`":            fmt.Sprintf("%d; `Get` follows %d", (&Client{}).MaxRedirects, maxGetRedirects),
		"retries":                   "one, and only if the server cannot have acted on the request or the request is idempotent",
		"wait for 100 (Continue)":   maxContinueWait.String(),
	}
	pagetest.Compare(t, "docs/limits.md", "| limit of a client | default | beyond the limit |", want)
}
