// Command plot draws the figures at the top of README.md from saved results:
//
//	go run ./cmd/plot    # in bench/; writes ../docs/plot-light.svg and ../docs/plot-dark.svg
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gallop-http/gallop/bench/plot"
)

func main() {
	if err := plot.Draw("results", filepath.Join("..", "docs")); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}
