package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/bench/svg"
)

// The plots in docs/ are exactly what the saved results give.
func TestPlotsAreCurrent(t *testing.T) {
	panels, err := readPanels("../results")
	if err != nil {
		t.Fatal(err)
	}
	for _, theme := range svg.Themes {
		name := filepath.Join("..", "..", "docs", "plot-"+theme.Name+".svg")
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, render(panels, theme)) {
			t.Errorf("%s is not what the results give: go run ./compare -page in bench/", filepath.Base(name))
		}
	}
}

// planted returns a directory of results with ten rounds of each server, changed by the caller.
func planted(t *testing.T, change func(files map[string]string)) string {
	t.Helper()
	var server, hello, idle strings.Builder
	server.WriteString("commit: abc1234\n")
	hello.WriteString("date: 2026-11-25  commit: abc1234  go1.26.8\n\nserver            requests/s      CPU µs\n")
	idle.WriteString("date: 2026-11-25  commit: abc1234  go1.26.8\n\nserver              connections   bytes each\n")
	for range 10 {
		for _, s := range []string{"fasthttp", "gallop", "nethttp"} {
			server.WriteString("BenchmarkServerGet10KReqPerConn/server=" + s + "  \t 1000 \t 407.5 ns/op \t 0 B/op\n")
			hello.WriteString(s + "   131523        7.01\n")
			idle.WriteString(s + "   19000        16479\n")
		}
	}
	files := map[string]string{
		"server.txt":        server.String(),
		"tcp-hello-512.txt": hello.String() + "\nmedian            requests/s      CPU µs\ngallop 1 1\n",
		"idle-19000.txt":    idle.String() + "\nmedian\ngallop 1 1\n",
	}
	change(files)
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadPanels(t *testing.T) {
	panels, err := readPanels(planted(t, func(map[string]string) {}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{407.5, 7010, 16479} {
		for _, got := range panels[i].bars {
			if got != want {
				t.Errorf("%s: %v, not %v", panels[i].title, got, want)
			}
		}
	}
}

func TestReadPanelsRefuses(t *testing.T) {
	for _, row := range []struct {
		name, want string
		change     func(files map[string]string)
	}{
		{"a dirty tree", "tcp-hello-512.txt: commit abc1234-dirty", func(f map[string]string) {
			f["tcp-hello-512.txt"] = strings.Replace(f["tcp-hello-512.txt"], "abc1234", "abc1234-dirty", 1)
		}},
		{"no commit", "server.txt: no commit", func(f map[string]string) {
			f["server.txt"] = strings.Replace(f["server.txt"], "commit", "date", 1)
		}},
		{"too few rounds of one server", "idle-19000.txt: 9 rounds of gallop", func(f map[string]string) {
			f["idle-19000.txt"] = strings.Replace(f["idle-19000.txt"], "gallop   19000        16479\n", "", 1)
		}},
		{"another table", `no column "CPU µs"`, func(f map[string]string) {
			f["tcp-hello-512.txt"] = strings.ReplaceAll(f["tcp-hello-512.txt"], "CPU µs", "CPU ms")
		}},
		{"a missing file", "idle-19000.txt", func(f map[string]string) { delete(f, "idle-19000.txt") }},
	} {
		if _, err := readPanels(planted(t, row.change)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
}

// The image is well-formed, and bars are as long as their figures say.
func TestRender(t *testing.T) {
	p := []panel{{title: "Memory", unit: "bytes", bars: []float64{250, 16479, 1000000}}}
	image := render(p, svg.Themes[0])
	for d := xml.NewDecoder(bytes.NewReader(image)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`width="480"`, `width="8"`, `width="2"`, ">1,000,000<", ">16,479<", ">250<", "gallop 250, fasthttp 16,479"} {
		if !strings.Contains(string(image), want) {
			t.Errorf("%s is missing in\n%s", want, image)
		}
	}
}
