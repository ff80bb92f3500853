package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// pageBlock is a fenced block of a page.
type pageBlock struct{ lang, text string }

func pageBlocks(t *testing.T, page string) (blocks []pageBlock) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	open := false
	for line := range strings.Lines(string(text)) {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			blocks = append(blocks, pageBlock{lang: strings.TrimSpace(lang)})
		case open:
			blocks[len(blocks)-1].text += line
		}
	}
	return blocks
}

// buildPrograms builds the programs of a page and returns the paths of the binaries, in the order of the page. Strings in the
// programs are replaced by others, in pairs.
func buildPrograms(t *testing.T, page string, replace ...string) (programs []string) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, block := range pageBlocks(t, page) {
		if block.lang != "go" || !strings.HasPrefix(block.text, "package main\n") {
			continue
		}
		name := fmt.Sprintf("p%d", len(programs))
		source := filepath.Join(dir, name+".go")
		if err := os.WriteFile(source, []byte(strings.NewReplacer(replace...).Replace(block.text)), 0o644); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(dir, name+".exe")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, source) // with the packages of this module
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("program %d of %s: %v\n%s", len(programs), page, err, out)
		}
		programs = append(programs, program)
	}
	return programs
}

// freeAddress returns an address on which a program can listen.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// runProgram starts a program, which is killed when t ends, and waits until it listens on an address.
func runProgram(t *testing.T, addr, program string, args ...string) (cmd *exec.Cmd, output *bytes.Buffer) {
	t.Helper()
	output = new(bytes.Buffer)
	ctx, cancel := context.WithCancel(context.Background())
	cmd = exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	for range 500 {
		if conn, err := net.Dial("tcp4", addr); err == nil {
			conn.Close()
			return cmd, output
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not listen on %s", program, addr)
	return nil, nil
}

// statusAndBody returns what a GET of a URL gets.
func statusAndBody(t *testing.T, url string) string {
	t.Helper()
	status, body, err := gallop.GetTimeout(nil, url, 20*time.Second)
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return fmt.Sprintf("%d %s", status, body)
}
