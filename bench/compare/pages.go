//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gallop-http/gallop/bench/child"
	"github.com/gallop-http/gallop/bench/plot"
	"github.com/gallop-http/gallop/bench/svg"
	"github.com/gallop-http/gallop/internal/figures"
)

// performancePage has tables that are made from results, between comments such as <!-- missed goals --> and <!-- end -->.
const performancePage = "docs/performance.md"

// generated are the tables of performancePage.
var generated = map[string]func(results string) (string, error){
	"missed goals": missedGoals,
	"1.5 million":  manyConnections,
}

// fillPages makes the figures of all pages, the README's plot and the plots of the matrix those of the saved results. The current
// directory must be bench.
func fillPages(top, results string) error {
	pages, err := filledPages(top, results)
	if err != nil {
		return err
	}
	for name, text := range pages {
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if bytes.Equal(old, []byte(text)) {
			continue
		}
		fmt.Println("filled", filepath.Clean(name))
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := plot.Draw(results, filepath.Join(top, "docs")); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(results, "matrix.txt")); err != nil {
		return nil // the matrix has not been saved yet
	}
	return child.Run("go", "run", "./cmd/matrix", "-draw")
}

// filledPages returns the pages that have figures, as they should be.
func filledPages(top, results string) (map[string]string, error) {
	pages := map[string]string{}
	for _, pattern := range []string{"README.md", "bench/README.md", "docs/*.md", "docs/design/*.md"} {
		names, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			filled, missing := figures.Fill(string(text), func(file string) string {
				content, _ := os.ReadFile(filepath.Join(results, path.Base(file)))
				return string(content)
			})
			if len(missing) > 0 {
				return nil, fmt.Errorf("%s: no results have %s", name, strings.Join(missing, ", "))
			}
			pages[name] = filled
		}
	}
	name := filepath.Join(top, performancePage)
	text, err := fillTables(pages[name], results)
	pages[name] = text
	return pages, err
}

// fillTables replaces the generated tables of a page.
func fillTables(page, results string) (string, error) {
	for name, table := range generated {
		before, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
		_, after, ended := strings.Cut(rest, "<!-- end -->")
		if !ok || !ended {
			return "", fmt.Errorf("%s has no comments around the table %q", performancePage, name)
		}
		text, err := table(results)
		if err != nil {
			return "", err
		}
		page = before + "<!-- " + name + " -->\n" + text + "<!-- end -->" + after
	}
	return page, nil
}

// missedGoal matches a verdict in a file of results. A remark in parentheses may follow the verdict.
var missedGoal = regexp.MustCompile(`(?m)^(?:goal: )?(.*?)(?:, MISSED|: MISSED)( \(.*\))?$|^([RS]\d+ FAIL .*)$`)

// missedGoals lists the goals that saved results have missed.
func missedGoals(results string) (string, error) {
	files, err := filepath.Glob(filepath.Join(results, "*.txt"))
	if err != nil {
		return "", err
	}
	var table strings.Builder
	table.WriteString("| results | goal: measured ratio |\n|---|---|\n")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		name := filepath.Base(file)
		for _, match := range missedGoal.FindAllStringSubmatch(string(text), -1) {
			verdict := strings.Join(strings.Fields(match[1]+match[2]+match[3]), " ")
			fmt.Fprintf(&table, "| [%s](../bench/results/%s) | %s |\n", strings.TrimSuffix(name, ".txt"), name, verdict)
		}
	}
	return table.String(), nil
}

// million is the number of connections in the table of manyConnections.
const million = 1_500_000

// manyConnections says what the measurement with 190,000 idle connections means for more of them. Results from before a column was
// added lack it.
func manyConnections(results string) (string, error) {
	text, err := os.ReadFile(filepath.Join(results, "idle-190000.txt"))
	if err != nil {
		return "", err
	}
	var table strings.Builder
	table.WriteString("| server | bytes per connection | memory of 1,500,000 | kernel bytes per connection | memory of 1,500,000 in the kernel | CPU µs per request beside 190,000 | CPU µs without them |\n|---|---:|---:|---:|---:|---:|---:|\n")
	for _, server := range []string{"gallop", "fasthttp"} {
		cells := []string{server}
		for _, column := range []string{"bytes each", "kernel each"} {
			each, ok := figures.LookUp(string(text), server, column)
			if !ok {
				cells = append(cells, "not saved yet", "not saved yet")
				continue
			}
			cells = append(cells, svg.Grouped(each), fmt.Sprintf("%.1f GB", each*million/1e9))
		}
		for _, column := range []string{"CPU µs", "alone µs"} {
			if v, ok := figures.LookUp(string(text), server, column); ok {
				cells = append(cells, fmt.Sprintf("%.2f", v))
			} else {
				cells = append(cells, "not saved yet")
			}
		}
		fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | "))
	}
	return table.String(), nil
}
