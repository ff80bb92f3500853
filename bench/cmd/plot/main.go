// Command plot draws the figures at the top of README.md from saved results:
//
//	go run ./cmd/plot    # in bench/; writes ../docs/plot-light.svg and ../docs/plot-dark.svg
//
// It refuses results that nobody can repeat: those of a tree that differed from its commit, and those of fewer than ten rounds.
// The same results always give the same bytes, and a test compares them with the files in docs/.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gallop-http/gallop/bench/svg"
)

func main() {
	if err := draw("results", filepath.Join("..", "docs")); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

// draw reads results from one directory and writes both plots to another.
func draw(results, docs string) error {
	panels, err := readPanels(results)
	if err != nil {
		return err
	}
	for _, t := range svg.Themes {
		if err := os.WriteFile(filepath.Join(docs, "plot-"+t.Name+".svg"), render(panels, t), 0o644); err != nil {
			return err
		}
	}
	return nil
}
