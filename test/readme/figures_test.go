package readme_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/figures"
)

// These tests compare the figures of pages with their files, as package figures reads them.

// A page with figures has links to files of results. In those that are marked every number that is measured has to be in one. The tables of
// design pages are figures_design_test.go's.
func measuredPages(t *testing.T) map[string]bool {
	t.Helper()
	pages := map[string]bool{"README.md": true, "bench/README.md": false}
	for _, pattern := range []string{"docs/*.md", "docs/design/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			pages[name] = true
		}
	}
	return pages
}

func TestFigures(t *testing.T) {
	t.Chdir(top)
	found := 0
	for page, all := range measuredPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range figures.Link.FindAllStringSubmatch(string(text), -1) {
			found++
			checkFigure(t, page, link[1], path.Join(path.Dir(page), link[2]), link[3])
		}
		if all {
			for _, number := range unlinked(string(text)) {
				t.Errorf("%s: %s is a figure without a file", page, number)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d figures", found)
	}
}

var (
	// notProse is what numbers are not looked for in: code, links and tables.
	notProse = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\\[[^\\]]*\\]\\([^)]*\\)|(?m:^\\|.*$)")

	// quantity is a number with a unit in which results are measured, or one below one, and the word before it.
	quantity = regexp.MustCompile(`(?:([\w.,]+) +)?((?:\d[\d,]*(?:\.\d+)? +(?:µs|ns|ms|KiB|KB|kB|times|allocations|instructions)|0\.\d\d?))\b`)

	// A bound or a size that somebody chose stands behind one of these words, as in "after 50 ms" or "up to 64 KiB".
	ofBounds = regexp.MustCompile(`^(?i:for|over|up to|to at|most|than|within|after|every|of|on|under|below|or)$`)

	// The page compares these with what a test counts: nethttp's TestAllocs.
	counted = regexp.MustCompile(`\d+ allocations for a request with \d+ fields`)
)

// unlinked returns the numbers of a page that are measured, and are not in a link to a file of results. A quantity is measured unless it
// is a bound, and so is a decimal number below one.
func unlinked(page string) (numbers []string) {
	page = strings.Join(strings.Fields(notProse.ReplaceAllString(page, "")), " ")
	page = counted.ReplaceAllString(page, "")
	for _, found := range quantity.FindAllStringSubmatchIndex(page, -1) {
		before, number := "", page[found[4]:found[5]]
		if found[2] >= 0 {
			before = page[found[2]:found[3]]
		}
		if at := found[4]; at > 0 && (page[at-1] == '.' || page[at-1] >= '0' && page[at-1] <= '9') {
			continue // in the middle of a version
		}
		if strings.HasPrefix(number, "0.") || !ofBounds.MatchString(before) && !strings.HasSuffix(strings.ToLower(page[:found[4]]), "up to ") {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// The tests would notice.
func TestFiguresNotices(t *testing.T) {
	for text, want := range map[string]string{
		"about 0.5, `0.6` and [0.7](bench/results/a.txt \"b: c\")\n| 0.8 |\n1.0.1 HTTP/1.0\n```\n0.9\n```\n": "[0.5]",
		"costs 6 to 7 KB each, over 4 KB, up to 64 KiB, after 50 ms, for 1 or 10 ms":                         "[7 KB]",
		"It takes 22 KB of code and 3,300 instructions,\nits p95 is 0.24 ms, 1.1 times as much":              "[22 KB 3,300 instructions 0.24 ms 1.1 times]",
		"12 µs in HTTP/1.1, less than 200 µs, 3 allocations, in chunks of 64 KiB, at most 100 ms":            "[12 µs 3 allocations]",
	} {
		if got := unlinked(text); fmt.Sprint(got) != want {
			t.Errorf("found %q in %q", got, text)
		}
	}
}

func checkFigure(t *testing.T, page, shown, file, cell string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%s: %v", page, err)
		return
	}
	value, ok := figures.Cell(string(text), cell)
	if !ok {
		t.Errorf("%s: %s has no cell %q", page, file, cell)
	} else if !figures.Agree(shown, value) {
		t.Errorf("%s: %q of %s is %v, shown as %s", page, cell, file, value, shown)
	}
}

// Every number in a table of docs/performance.md is a figure, except in tables that compare -page writes between two comments. A test in
// bench compares those with the results.
func TestTablesOfPerformance(t *testing.T) {
	t.Chdir(top)
	text, err := os.ReadFile("docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`(?s)<!-- [^>]* -->\n.*?<!-- end -->`).ReplaceAllString(string(text), "")
	figureCells := 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cell = strings.TrimSpace(cell)
			if figures.Link.FindString(cell) == cell && cell != "" {
				figureCells++
			} else if bareNumber.MatchString(cell) {
				t.Errorf("%s is a figure without a file in %s", cell, line)
			}
		}
	}
	if figureCells < 40 {
		t.Errorf("%d figures", figureCells)
	}
}

// bareNumber matches a cell that has only a number, or a link with another form than a figure's.
var bareNumber = regexp.MustCompile(`^\[?\d[\d.,]*(?:\]\(.*\))?$`)
