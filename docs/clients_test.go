package docs_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
)

// The programs of choosing-a-client.md print what the page says.
func TestClientPrograms(t *testing.T) {
	t.Parallel()
	app := web.New(web.Config{})
	app.Get("/gophers/{name}", func(c *web.Ctx) error {
		if c.Params("name") != "rob" {
			return web.ErrNotFound
		}
		return c.JSON(map[string]string{"name": c.Params("name")})
	})
	app.Get("/gopher", func(c *web.Ctx) error { return c.SendString("hello, " + c.Path()) })
	var addrs [2]string
	for i := range addrs {
		s := &gallop.Server{Handler: app.Handler()}
		addrs[i] = wiretest.FreeAddress(t)
		go s.ListenAndServe(addrs[i])
		awaitListening(t, addrs[i])
		t.Cleanup(func() { s.Close() })
	}

	blocks, err := pageBlocks("choosing-a-client.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, block := range blocks {
		if block.lang == "text" {
			want = append(want, block.text)
		}
	}
	if n := programPages["choosing-a-client.md"]; n != len(want) {
		t.Fatalf("%d programs, %d outputs", n, len(want))
	}
	for i := range want {
		p := program{"choosing-a-client.md", i, []string{"localhost:8080", addrs[0], "localhost:8081", addrs[1]}}
		got, err := p.command(t, t.Context()).CombinedOutput()
		if err != nil || string(got) != want[i] {
			t.Errorf("program %d: got %q, %v, want %q", i, got, err, want[i])
		}
	}
}

// The programs of many-cores.md serve, and the second one ends after SIGTERM.
func TestManyCoresPrograms(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems share ports differently")
	}
	t.Parallel()
	addr := wiretest.FreeAddress(t)
	for i := range programPages["many-cores.md"] {
		cmd, output := runProgram(t, addr, program{"many-cores.md", i, []string{":8080", addr}})
		if got := statusAndBody(t, "http://"+addr+"/"); got != "200 hello" {
			t.Errorf("program %d: got %s", i, got)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		err := cmd.Wait()
		if text := output.String(); i == 1 && err != nil || strings.Contains(text, "panic") {
			t.Errorf("program %d: %v\n%s", i, err, text)
		}
	}
}
