package gallop

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What README.md shows is run: programs are compiled as a stranger would, parts of examples are compared with the
// examples, commands are run, and what they print is compared. readme_facts_test.go does the same to its tables.

// readmeBlock is a fenced block.
type readmeBlock struct {
	line       int
	lang, text string
}

func readme(t *testing.T) string {
	t.Helper()
	return textOf(t, "README.md")
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readmeBlocks(t *testing.T) (blocks []readmeBlock) {
	t.Helper()
	open := false
	for i, line := range strings.SplitAfter(readme(t), "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			blocks = append(blocks, readmeBlock{line: i + 1, lang: strings.TrimSpace(lang)})
		case open:
			blocks[len(blocks)-1].text += line
		}
	}
	if open || len(blocks) < 5 {
		t.Fatalf("README.md has %d blocks, the last one open: %t", len(blocks), open)
	}
	return blocks
}

func TestReadmeHasKnownBlocks(t *testing.T) {
	for _, b := range readmeBlocks(t) {
		if b.lang != "go" && b.lang != "sh" && b.lang != "text" {
			t.Errorf("README.md:%d: a block of %q, which nothing checks", b.line, b.lang)
		}
	}
}

func TestReadmeGo(t *testing.T) {
	var programs []string
	for _, b := range readmeBlocks(t) {
		switch {
		case b.lang != "go":
		case strings.HasPrefix(b.text, "package main\n"):
			programs = append(programs, b.text)
		case !isPartOfExample(t, b.text):
			t.Errorf("README.md:%d: neither a program nor a part of an example", b.line)
		}
	}
	if len(programs) == 0 {
		t.Fatal("no programs")
	}
	dir := strangersModule(t, programs)
	goTool(t, dir, "vet", "./...")
}

func isPartOfExample(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(src), "\n"+text) {
			return true
		}
	}
	return false
}

// strangersModule makes a module that requires this one and has each program in a
// directory of its own, and returns where it is.
func strangersModule(t *testing.T, programs []string) (dir string) {
	t.Helper()
	root, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	path, rest, _ := strings.Cut(strings.TrimPrefix(string(mod), "module "), "\n")
	dir = t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", fmt.Sprintf("module example.com/program\n%s\nrequire %s v0.0.0\nreplace %[2]s => %q\n", rest, path, root))
	write("go.sum", string(sum))
	for i, program := range programs {
		write(fmt.Sprintf("p%d/main.go", i), program)
	}
	return dir
}

// goTool runs the go command in dir, without the network. In this module it changes nothing.
func goTool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off")
	if dir != "." {
		cmd.Env = append(cmd.Env, "GOFLAGS=-mod=mod", "GOWORK=off")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestReadmeAnswers runs the programs that the README asks something, on another port.
func TestReadmeAnswers(t *testing.T) {
	blocks := readmeBlocks(t)
	asked := 0
	for i, b := range blocks {
		if !strings.HasPrefix(b.text, "package main\n") || !strings.HasPrefix(blocks[i+1].text, "curl ") {
			continue
		}
		if n := strings.Count(b.text, "\n"); asked == 0 && n >= 20 {
			t.Errorf("README.md:%d: hello has %d lines", b.line, n)
		}
		asked++
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := ln.Addr().String()
		ln.Close()
		dir := strangersModule(t, []string{strings.Replace(b.text, `":8080"`, fmt.Sprintf("%q", addr), 1)})
		goTool(t, dir, "build", "-o", "hello.exe", "./p0")
		startProgram(t, filepath.Join(dir, "hello.exe"))
		url, ok := strings.CutPrefix(blocks[i+1].text, "curl localhost:8080")
		if !ok || blocks[i+2].lang != "text" {
			t.Fatal("no curl and no answer behind the program")
		}
		if got := fetch(t, "http://"+addr+strings.TrimSpace(url)); got+"\n" != blocks[i+2].text {
			t.Errorf("README.md:%d: the answer is %q", blocks[i+2].line, got)
		}
	}
	if asked < 2 {
		t.Errorf("only %d programs are asked anything", asked)
	}
}

// startProgram runs a program until the test ends and returns what it writes to the standard error.
func startProgram(t *testing.T, name string, args ...string) io.Reader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	return stderr
}

// fetch returns the body at url, trying again while nobody listens there.
func fetch(t *testing.T, url string) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for tries := 0; ; tries++ {
		resp, err := client.Get(url)
		if err != nil {
			if tries == 500 {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", url, resp.Status, err)
		}
		return string(body)
	}
}

// TestReadmeCommands runs the commands of the README, or says what else does.
func TestReadmeCommands(t *testing.T) {
	ci, err := os.ReadFile(filepath.Join(".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range readmeBlocks(t) {
		if b.lang != "sh" {
			continue
		}
		for command := range strings.Lines(b.text) {
			command = strings.TrimSpace(command)
			name, rest, _ := strings.Cut(command, " ")
			switch {
			case command == "go test ./...":
				if !regexp.MustCompile(`(?m)^GALLOP_LONG=1 go test .*\./\.\.\.$`).Match(ci) {
					t.Errorf("%s: not in .ci/run", command)
				}
			case command == "go run ./cmd/gallop serve .":
				readmeServe(t)
			case strings.HasPrefix(command, "go get "):
				if !strings.HasPrefix(string(mod), "module "+strings.TrimPrefix(command, "go get ")+"\n") {
					t.Errorf("%s: go.mod names another module", command)
				}
			case name == "curl": // by TestReadmeAnswers
			case strings.HasPrefix(name, "bench/"): // takes minutes, and an idle machine
				if rest == "" || runtime.GOOS != "windows" && exec.Command("sh", "-n", name).Run() != nil {
					t.Errorf("%s: no script", command)
				}
			default:
				t.Errorf("README.md:%d: nothing runs %q", b.line, command)
			}
		}
	}
}

// readmeServe serves this directory as the README says, on another port.
func readmeServe(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gallop.exe")
	goTool(t, ".", "build", "-o", program, "./cmd/gallop")
	stderr := bufio.NewScanner(startProgram(t, program, "serve", ".", "--addr", "127.0.0.1:0"))
	for stderr.Scan() {
		url := regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(stderr.Text())
		if url == "" {
			continue
		}
		if got := fetch(t, url+"/README.md"); got != readme(t) {
			t.Error("another README.md is served")
		}
		return
	}
	t.Errorf("gallop serve said nowhere where it listens: %v", stderr.Err())
}

// TestDocumentsNameWhatExists holds that files and identifiers that documents link to or name are there.
func TestDocumentsNameWhatExists(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```.*?```")
	inline := regexp.MustCompile("`[^`\n]*`") // a call of a generic function looks like a link
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	file := regexp.MustCompile("`((?:[a-z0-9_]+/)*[a-zA-Z0-9_]+\\.(?:go|md|sh|jsonl)|(?:[a-z0-9_]+/)+)`")
	for _, name := range documents {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := code.ReplaceAllString(string(b), "")
		for _, m := range append(link.FindAllStringSubmatch(inline.ReplaceAllString(text, ""), -1), file.FindAllStringSubmatch(text, -1)...) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
	}
}

func TestArchitectureListsDesignPages(t *testing.T) {
	index, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/design/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no design pages, %v", err)
	}
	for _, page := range pages {
		if !strings.Contains(string(index), "("+filepath.ToSlash(page)+")") {
			t.Errorf("ARCHITECTURE.md does not list %s", page)
		}
	}
}
