package readme_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/pagetest"
)

// README.md shows nothing that is not tested: programs are vetted in a module of their own, parts of tests are compared with the
// tests, and commands are run. A test in docs/ runs the programs. docs_test.go checks the pages of docs/ in the same way, and
// facts_test.go the tables of facts.

// top is the root of the module. A test that reads files of the module changes to this directory with t.Chdir. A TestMain
// could do that for all of them, but the go command would not notice it, and would return cached results after pages changed.
const top = "../.."

// readmeBlock is a fenced block.
type readmeBlock struct {
	line       int
	lang, text string
}

func readme(t *testing.T) string {
	t.Helper()
	return pagetest.Text(t, "README.md")
}

func readmeBlocks(t *testing.T) []readmeBlock {
	t.Helper()
	blocks, err := blocksOf(readme(t))
	if err != nil || len(blocks) < 5 {
		t.Fatalf("README.md has %d blocks, %v", len(blocks), err)
	}
	return blocks
}

func TestReadmeHasKnownBlocks(t *testing.T) {
	t.Chdir(top)
	for _, b := range readmeBlocks(t) {
		if b.lang != "go" && b.lang != "sh" && b.lang != "text" {
			t.Errorf("README.md:%d: a block of %q, which nothing checks", b.line, b.lang)
		}
	}
}

func TestReadmeGo(t *testing.T) {
	t.Chdir(top)
	programs, complaints := checkBlocks(readme(t), docsSources(t))
	for _, complaint := range complaints {
		t.Errorf("README.md: %s", complaint)
	}
	if len(programs) == 0 {
		t.Fatal("no programs")
	}
}

// TestPrograms vets the programs of README.md and of the pages in docs/, all at once.
func TestPrograms(t *testing.T) {
	t.Chdir(top)
	sources := docsSources(t)
	var programs []string
	for _, page := range append(docsPages(t), "README.md") {
		more, _ := checkBlocks(pagetest.Text(t, page), sources)
		programs = append(programs, more...)
	}
	goTool(t, strangersModule(t, programs), "vet", "./...")
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

// Commands of the README are run as they are printed: those that clone, serve and test by .ci/readme, which takes minutes and is
// the last step of .ci/run, and those that ask by TestReadmeAnswers in docs/.
func TestReadmeCommands(t *testing.T) {
	t.Chdir(top)
	module, _, _ := strings.Cut(strings.TrimPrefix(pagetest.Text(t, "go.mod"), "module "), "\n")
	if ci := pagetest.Text(t, ".ci/run"); !strings.HasSuffix(ci, "\n.ci/readme\n") {
		t.Error(".ci/run does not end with .ci/readme")
	}
	var tried []string
	_, text, _ := strings.Cut(readme(t), "\n## Try it\n")
	text, _, _ = strings.Cut(text, "\n## ")
	blocks, err := blocksOf(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		tried = append(tried, b.text)
	}
	if want := []string{
		"git clone https://" + module + "\ncd gallop && go run ./cmd/gallop serve .\n",
		"cd gallop && go test ./...\n",
	}; !slices.Equal(tried, want) {
		t.Errorf("Try it has %q, and .ci/readme runs %q", tried, want)
	}
	for _, b := range readmeBlocks(t) {
		if b.lang != "sh" || slices.Contains(tried, b.text) {
			continue
		}
		for command := range strings.Lines(b.text) {
			if command = strings.TrimSpace(command); command != "go get "+module && !strings.HasPrefix(command, "curl ") {
				t.Errorf("README.md:%d: nothing runs %q", b.line, command)
			}
		}
	}
}

// A reader sees what matters without scrolling for long.
func TestReadmeIsShort(t *testing.T) {
	t.Chdir(top)
	if n := strings.Count(readme(t), "\n"); n > 200 || len(readme(t)) > 14<<10 {
		t.Errorf("README.md has %d lines and %d bytes; 200 lines and 14 KiB are enough", n, len(readme(t)))
	}
	for _, b := range readmeBlocks(t) {
		if n := strings.Count(b.text, "\n"); n > 20 {
			t.Errorf("README.md:%d: %d lines of %s; 20 are enough", b.line, n, b.lang)
		}
	}
}

// TestDocumentsNameWhatExists holds that files and identifiers that documents link to or name are there.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Chdir(top)
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
	t.Chdir(top)
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
