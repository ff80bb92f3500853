package docs_test

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/wiretest"
)

// The servers of README.md send the responses that the page shows behind them.
func TestReadmeAnswers(t *testing.T) {
	t.Parallel()
	blocks, err := pageBlocks("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	programs, asked := 0, 0
	for i, block := range blocks {
		if !strings.HasPrefix(block.text, "package main\n") {
			continue
		}
		server := program{"../README.md", programs, nil}
		programs++
		if !strings.HasPrefix(blocks[i+1].text, "curl ") {
			continue
		}
		if n := strings.Count(block.text, "\n"); asked == 0 && n >= 20 {
			t.Errorf("hello has %d lines", n)
		}
		asked++
		target, ok := strings.CutPrefix(blocks[i+1].text, "curl localhost:8080")
		if !ok || blocks[i+2].lang != "text" {
			t.Fatalf("program %d: no curl and no response behind it", server.n)
		}
		addr := wiretest.FreeAddress(t)
		server.replace = []string{":8080", addr}
		runProgram(t, addr, server)
		if got := statusAndBody(t, "http://"+addr+strings.TrimSpace(target)); got+"\n" != "200 "+blocks[i+2].text {
			t.Errorf("program %d: got %q, want %q", server.n, got, blocks[i+2].text)
		}
	}
	if asked < 2 {
		t.Errorf("only %d programs are asked anything", asked)
	}
}
