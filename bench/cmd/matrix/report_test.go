//go:build linux

package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/bench/svg"
)

// printed returns a report of the whole matrix, in which gallop's rate is a multiple of fasthttp's in each cell.
func printed(multiple func(cell) float64, wrong error) (text string, met bool) {
	var out bytes.Buffer
	r := newReport(&out)
	r.columns()
	for _, c := range allCells {
		for round := range 3 {
			for i, peer := range allPeers {
				quick := []float64{multiple(c), 1, .5, .25}[i]
				r.add(c, peer, sample{rate: 1000 * quick * float64(1+round*round), cpu: 10 / quick, p99: 1, worst: 2})
			}
		}
		r.cell(c, allPeers)
	}
	if wrong != nil {
		r.wrong(allCells[0], "gallop", wrong)
	}
	met = r.finish(time.Minute)
	return out.String(), met
}

func TestReport(t *testing.T) {
	for _, row := range []struct {
		name     string
		multiple func(cell) float64
		wrong    error
		met      bool
		missed   int
	}{
		{"all met", func(cell) float64 { return 1.2 }, nil, true, 0},
		{"one cell a little slower", func(c cell) float64 { return map[bool]float64{true: .975, false: 1.2}[c == cell{"file", 1}] }, nil, true, 0},
		{"one slow cell", func(c cell) float64 { return map[bool]float64{true: .96, false: 1.2}[c == cell{"file", 1}] }, nil, false, 1},
		{"slower on average", func(cell) float64 { return .98 }, nil, false, 1},
		{"a wrong size", func(cell) float64 { return 1.2 }, sizeError{"7 bytes"}, false, 1},
	} {
		text, met := printed(row.multiple, row.wrong)
		if met != row.met || strings.Count(text, ", MISSED\n") != row.missed || strings.Count(text, "goal: ") != 3 {
			t.Errorf("%s: %v\n%s", row.name, met, text)
		}
		if row.name == "one slow cell" && !strings.Contains(text, "27 of 28 cells (not file-1 0.960)") {
			t.Error(text)
		}
	}
}

// A saved report has the medians, and the plot is drawn from them.
func TestDraw(t *testing.T) {
	text, _ := printed(func(cell) float64 { return 1.2 }, nil)
	medians, err := parseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := medians[key{cell{"file", 2048}, "gallop"}], (sample{rate: 2400, cpu: 8.33, p99: 1, worst: 2}); got != want {
		t.Errorf("%v, not %v", got, want)
	}
	if len(medians) != len(allCells)*len(allPeers) {
		t.Errorf("%d medians", len(medians))
	}
	image := medians.draw(svg.Themes[0])
	for d := xml.NewDecoder(bytes.NewReader(image)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{">1.20<", ">2,048 kB<", "File of 1 kB: gallop 1.20, net/http 0.50, puma 0.25."} {
		if !strings.Contains(string(image), want) {
			t.Errorf("%s is missing in\n%s", want, image)
		}
	}
	if strings.Count(string(image), `height="110"`) != len(allCells) { // the highest bar of each group is gallop's
		t.Errorf("the bars are not as high as the figures say:\n%s", image)
	}
	if _, err := parseTable(strings.Replace(text, "file-10 gallop", "file-11 gallop", 1)); err == nil {
		t.Error("a missing cell is not noticed")
	}
}

// The plots in docs/ are exactly what the saved results give.
func TestPlotsAreCurrent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", resultFile))
	if errors.Is(err, os.ErrNotExist) {
		for _, theme := range svg.Themes {
			if _, err := os.Stat(filepath.Join("..", "..", docs, "matrix-"+theme.Name+".svg")); err == nil {
				t.Errorf("there is a plot, but no %s", resultFile)
			}
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := drawAll(string(text), dir); err != nil {
		t.Fatal(err)
	}
	for _, theme := range svg.Themes {
		name := "matrix-" + theme.Name + ".svg"
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(filepath.Join("..", "..", docs, name)); !bytes.Equal(got, want) {
			t.Errorf("%s is not what the results give: go run ./cmd/matrix -draw in bench/", name)
		}
	}
}
