package handlers_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// Two versions of one size and one time in whole seconds never share a strong tag.
func TestFileTagOfTwoVersions(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.txt")
	at := time.Date(2020, 3, 7, 10, 0, 0, 0, time.UTC)
	seen := map[string]string{}
	for _, version := range []string{"one", "two", "six"} {
		time.Sleep(20 * time.Millisecond) // kernels before 6.13 keep the time of a tick
		if err := os.WriteFile(file, []byte(version), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		var ctx gallop.RequestCtx
		ctx.Request.SetRequestURI("/a.txt")
		ctx.Request.Header.SetHost("h")
		(&gallop.FS{Root: filepath.Dir(file)}).NewRequestHandler()(&ctx)
		tag := string(ctx.Response.Header.Peek(gallop.HeaderETag))
		if before, there := seen[tag]; there && tag[0] == '"' {
			t.Errorf("%s and %s are both %s", before, ctx.Response.Body(), tag)
		}
		seen[tag] = version
		ctx.Response.Body()
	}
}
