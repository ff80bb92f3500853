package gallop_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// forbiddenToWires are the packages that neither an exchange nor a wire may import, see docs/design/0010-exchange.md. How a
// connection waits for bytes is the business of the connection.
var forbiddenToWires = []string{module + "/internal/poll", "syscall"}

// wireImports returns the forbidden imports of a file that belongs to an exchange or a wire.
func wireImports(t *testing.T, name, source string) (broken []string) {
	t.Helper()
	if !strings.HasPrefix(name, "h1_") && !strings.HasPrefix(name, "h2_") && !strings.HasPrefix(name, "exchange") {
		return nil
	}
	var src any
	if source != "" {
		src = source
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); slices.Contains(forbiddenToWires, path) {
			broken = append(broken, name+" imports "+path)
		}
	}
	return broken
}

func TestWiresUseNoLoops(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, complaint := range wireImports(t, name, "") {
			t.Error(complaint)
		}
	}
}

func TestWiresUseNoLoopsFindsWhatIsBroken(t *testing.T) {
	const source = "package gallop\n\nimport (\n\t\"syscall\"\n\t\"time\"\n)\n"
	for name, want := range map[string]int{"h1_a.go": 1, "h2_a.go": 1, "exchange.go": 1, "exchange_a.go": 1, "server_a.go": 0} {
		if got := wireImports(t, name, source); len(got) != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
