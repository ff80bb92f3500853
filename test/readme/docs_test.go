package readme_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/pagetest"
)

// Every page of docs/ is checked:
//
//   - A block of Go appears in a test file of the root or in a file below docs/, examples/ or grpc/, so that it runs with the
//     tests. Only the indentation may differ. If it does not, it is a whole program, which TestPrograms vets in a module of its own.
//   - All other blocks are in one of docsLanguages.
//   - Relative links lead to files of the repository, and their fragments to headings.
//
// readme_test.go does the same for README.md.

// docsLanguages are the languages of blocks that are not compiled.
var docsLanguages = []string{"sh", "text", "json", "diff", "yaml", "toml", "dockerfile", "ini", "nginx", "html", "xml", "sql"}

func docsPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) < 3 {
		t.Fatalf("%d pages in docs, %v", len(pages), err)
	}
	return pages
}

// sources is the code that pages may show.
type sources struct {
	texts []string
	lines map[string]bool // of all texts
}

func newSources(texts ...string) sources {
	s := sources{texts, map[string]bool{}}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			s.lines[line] = true
		}
	}
	return s
}

// docsSources returns the text of the files whose code pages may show.
func docsSources(t *testing.T) sources {
	t.Helper()
	var texts []string
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"docs", "examples", "grpc", "redisstore", "web/middleware"} {
		err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			if filepath.Ext(name) == ".go" {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		texts = append(texts, "\n"+pagetest.Text(t, name))
	}
	return newSources(texts...)
}

// blocksOf returns the fenced blocks of a page, and an error if the last one is not closed. A fence may be indented, in a list.
func blocksOf(page string) (blocks []readmeBlock, err error) {
	open := false
	for i, line := range strings.SplitAfter(page, "\n") {
		lang, fence := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
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
	if open {
		err = fmt.Errorf("line %d: a block is not closed", blocks[len(blocks)-1].line)
	}
	return blocks, err
}

// checkBlocks returns what is wrong with the blocks of a page, and the programs among them.
func checkBlocks(page string, from sources) (programs, complaints []string) {
	blocks, err := blocksOf(page)
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	for _, b := range blocks {
		switch {
		case b.lang != "go":
			if !slices.Contains(docsLanguages, b.lang) {
				complaints = append(complaints, fmt.Sprintf("line %d: nothing checks a block of %q; see docsLanguages", b.line, b.lang))
			}
		case from.show(b.text):
		case strings.HasPrefix(b.text, "package main\n"):
			programs = append(programs, b.text)
		default:
			complaints = append(complaints, fmt.Sprintf("line %d: neither a program nor a part of a file that is tested: %.60q", b.line, b.text))
		}
	}
	return programs, complaints
}

// show reports whether one of the texts has the lines of a block at any indentation.
func (s sources) show(block string) bool {
	lines := dedented(block)
	for depth := range 8 {
		if len(lines) > 0 && lines[0] != "\n" && !s.lines[strings.Repeat("\t", depth)+lines[0]] {
			continue
		}
		indented := "\n"
		for _, line := range lines {
			if line != "\n" {
				indented += strings.Repeat("\t", depth)
			}
			indented += line
		}
		if slices.ContainsFunc(s.texts, func(text string) bool { return strings.Contains(text, indented) }) {
			return true
		}
	}
	return false
}

// dedented returns the lines of text without the indentation that all of them have.
func dedented(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	common := -1
	for _, line := range lines {
		if n := len(line) - len(strings.TrimLeft(line, " \t")); line != "\n" && (common < 0 || n < common) {
			common = n
		}
	}
	for i, line := range lines {
		if line != "\n" {
			lines[i] = line[common:]
		}
	}
	return lines
}

func TestDocsBlocks(t *testing.T) {
	t.Chdir(top)
	sources := docsSources(t)
	for _, page := range docsPages(t) {
		_, complaints := checkBlocks(pagetest.Text(t, page), sources)
		for _, complaint := range complaints {
			t.Errorf("%s: %s", page, complaint)
		}
	}
}

var (
	docsCode = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	docsLink = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
)

// checkLinks returns the relative links of a page in dir that lead nowhere.
func checkLinks(dir, page string) (dead []string) {
	for _, m := range docsLink.FindAllStringSubmatch(docsCode.ReplaceAllString(page, ""), -1) {
		if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
			continue
		}
		name, fragment, _ := strings.Cut(m[1], "#")
		text := page
		if name != "" {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Stat(name); err != nil {
				dead = append(dead, m[1])
				continue
			}
		}
		if name != "" && fragment != "" {
			b, err := os.ReadFile(name)
			if err != nil {
				dead = append(dead, m[1])
				continue
			}
			text = string(b)
		}
		if fragment != "" && !slices.Contains(anchorsOf(text), fragment) {
			dead = append(dead, m[1])
		}
	}
	return dead
}

// anchorsOf returns the fragments by which the headings of a page can be linked to.
func anchorsOf(page string) (anchors []string) {
	page = regexp.MustCompile("(?s)```.*?```").ReplaceAllString(page, "")
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*?) *$`).FindAllStringSubmatch(page, -1) {
		text := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors = append(anchors, strings.ReplaceAll(text, " ", "-"))
	}
	return anchors
}

// The index lists every page of the guide.
func TestDocsIndex(t *testing.T) {
	t.Chdir(top)
	index := pagetest.Text(t, "docs/README.md")
	for _, page := range docsPages(t) {
		if name := filepath.Base(page); name != "README.md" && !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

func TestDocsLinks(t *testing.T) {
	t.Chdir(top)
	design, err := filepath.Glob("docs/design/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(docsPages(t), design...) {
		for _, link := range checkLinks(filepath.Dir(page), pagetest.Text(t, page)) {
			t.Errorf("%s: the link to %s is dead", page, link)
		}
	}
}

// goFileName is a Go file that a page names in code, with or without its directory.
var goFileName = regexp.MustCompile("`([a-zA-Z0-9_./-]+\\.go)`")

// missingFiles returns the Go files that the page names and that are not in tree. A name without a directory may be
// that of a file in any directory.
func missingFiles(tree []string, page string) (missing []string) {
	for _, m := range goFileName.FindAllStringSubmatch(page, -1) {
		isThere := slices.ContainsFunc(tree, func(name string) bool {
			return name == m[1] || strings.HasSuffix(name, "/"+m[1])
		})
		if !isThere {
			missing = append(missing, m[1])
		}
	}
	return missing
}

// Files that a page names exist.
func TestDocsFiles(t *testing.T) {
	t.Chdir(top)
	var tree []string
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		tree = append(tree, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	design, err := filepath.Glob("docs/design/*.md")
	if err != nil || len(design) == 0 {
		t.Fatalf("%d design pages, %v", len(design), err)
	}
	for _, page := range append(append(docsPages(t), design...), "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md") {
		for _, name := range missingFiles(tree, pagetest.Text(t, page)) {
			t.Errorf("%s names %s, which does not exist", page, name)
		}
	}
	if missing := missingFiles([]string{"a.go", "b/c.go"}, "`a.go`, `c.go`, `b/c.go`, `d.go`, `x/a.go`"); fmt.Sprint(missing) != "[d.go x/a.go]" {
		t.Errorf("the test finds %q", missing)
	}
}

// The tests would notice.
func TestDocsNotice(t *testing.T) {
	t.Chdir(top)
	sources := newSources("package docs_test\n\nfunc Example() {\n\tif true {\n\t\ta()\n\n\t\tb()\n\t}\n}\n")
	for _, tc := range []struct {
		name, page string
		complaints int
	}{
		{"a program", "```go\npackage main\n```\n", 0},
		{"a part", "```go\na()\n\nb()\n```\n", 0},
		{"a part with indentation", "```go\nif true {\n\ta()\n\n\tb()\n}\n```\n", 0},
		{"a part in a list", "- so:\n  ```go\n  a()\n  ```\n", 0},
		{"a line that no test has", "```go\nc()\n```\n", 1},
		{"a part of a line", "```go\n()\n```\n", 1},
		{"another order", "```go\nb()\na()\n```\n", 1},
		{"a command", "```sh\nls\n```\n", 0},
		{"no language", "```\nls\n```\n", 1},
		{"another language", "```rust\nfn main() {}\n```\n", 1},
		{"not closed", "```sh\nls\n", 1},
	} {
		if _, complaints := checkBlocks(tc.page, sources); len(complaints) != tc.complaints {
			t.Errorf("%s: %q", tc.name, complaints)
		}
	}
	const page = "# Two words, `code`\n[a](README.md), [b](docs/nowhere.md), [c](#two-words-code), [d](#three), [e](https://example.com/f)," +
		" [f](CONTRIBUTING.md#three-commands), [g](CONTRIBUTING.md#four), [h](go.mod \"a title\"), `[i](nowhere)`"
	if dead := checkLinks(".", page); fmt.Sprint(dead) != "[docs/nowhere.md #three CONTRIBUTING.md#four]" {
		t.Errorf("dead links: %q", dead)
	}
}
