package readme_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/figures"
)

// A table of figures in a design document stands behind a paragraph that names the files of results. Each figure is a number of these files, or in a
// column that begins with ÷ gallop's divided by that of another column. The numbers may have other units in the files: µs for ms, KiB for MiB.

var (
	resultFile = regexp.MustCompile("`bench/(results/[^`]+)`")
	figure     = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)
)

func TestFiguresOfDesign(t *testing.T) {
	t.Chdir(top)
	pages, err := filepath.Glob("docs/design/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found += checkTables(t, page, string(text))
	}
	if found < 30 {
		t.Errorf("%d figures", found)
	}
}

// checkTables compares the figures of all tables of a page, and returns how many there are.
func checkTables(t *testing.T, page, text string) (found int) {
	t.Helper()
	var known []float64
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !strings.HasPrefix(paragraph, "|") {
			known = numbersOf(t, page, paragraph)
			continue
		}
		if known == nil {
			continue
		}
		lines := strings.Split(paragraph, "\n")
		columns := strings.Split(strings.Trim(lines[0], "|"), "|")
		for _, line := range lines[2:] {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i, cell := range cells[1:] {
				for _, shown := range figure.FindAllString(cell, -1) {
					column := strings.TrimSpace(columns[i+1])
					if found++; strings.HasPrefix(column, "÷ ") {
						if by, others, of := strings.Cut(cell, " of "); of {
							cell, column = by, others
						}
						if !isRatio(shown, valueIn(cells, columns, "gallop"), valueIn(cells, columns, strings.TrimPrefix(column, "÷ "))) {
							t.Errorf("%s: %s in the row %s is another ratio", page, shown, cells[0])
						}
					} else if !strings.HasPrefix(column, "differs") && !isMeasured(shown, known) {
						t.Errorf("%s: %s in the row %s is in no file", page, shown, cells[0])
					}
				}
			}
		}
	}
	return found
}

// numbersOf returns the numbers in the files that a paragraph names.
func numbersOf(t *testing.T, page, paragraph string) (numbers []float64) {
	t.Helper()
	for _, name := range resultFile.FindAllStringSubmatch(paragraph, -1) {
		text, err := os.ReadFile(filepath.Join("bench", name[1]))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		for _, n := range figure.FindAllString(string(text), -1) {
			if v, err := strconv.ParseFloat(strings.ReplaceAll(n, ",", ""), 64); err == nil {
				numbers = append(numbers, v)
			}
		}
	}
	return numbers
}

// valueIn returns the first number of a row in a column, 0 without one.
func valueIn(cells, columns []string, column string) float64 {
	for i, name := range columns {
		if strings.TrimSpace(name) == strings.TrimSpace(column) {
			v, _ := strconv.ParseFloat(strings.ReplaceAll(figure.FindString(cells[i]), ",", ""), 64)
			return v
		}
	}
	return 0
}

// isMeasured reports whether a figure is one of the numbers.
func isMeasured(shown string, known []float64) bool {
	for _, v := range known {
		for _, unit := range []float64{1, 1000, 1 / 1000., 1024, 1 / 1024.} {
			if figures.Agree(shown, v*unit) {
				return true
			}
		}
	}
	return false
}

// isRatio reports whether a figure is one number divided by another. Both may be rounded, and in units that are a thousand apart.
func isRatio(shown string, v, by float64) bool {
	want, err := strconv.ParseFloat(shown, 64)
	for _, unit := range []float64{1, 1000, 1 / 1000.} {
		if err == nil && math.Abs(v*unit/by-want) <= 0.01 {
			return true
		}
	}
	return false
}

func TestFiguresOfDesignNotice(t *testing.T) {
	known := []float64{4843.5, 225696}
	for shown, want := range map[string]bool{"4.84": true, "4.8": true, "4.9": false, "220": true, "221": false} {
		if isMeasured(shown, known) != want {
			t.Errorf("%s: %v", shown, !want)
		}
	}
	if !isRatio("0.22", 1.1, 4.92) || !isRatio("0.41", 386, 0.937) || isRatio("0.25", 1.1, 4.92) || isRatio("0", 1, 0) {
		t.Error("a ratio")
	}
}
