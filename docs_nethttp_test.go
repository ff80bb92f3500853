package gallop

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The gallop column of the table "Move a handler" in docs/from-nethttp.md: an example uses each name in it.
func TestDocsNetHTTPConversions(t *testing.T) {
	var examples strings.Builder
	names, err := filepath.Glob("example_*test.go")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples.Write(src)
	}
	_, section, found := strings.Cut(textOf(t, "docs/from-nethttp.md"), "\n## Move a handler\n")
	if !found {
		t.Fatal("docs/from-nethttp.md has no table of handlers")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`).FindAllStringSubmatch(section, -1)
	if len(rows) < 35 {
		t.Errorf("only %d rows", len(rows))
	}
	code := regexp.MustCompile("`([^`]+)`")
	for _, row := range rows {
		if row[1] == "net/http" {
			continue
		}
		spans := code.FindAllStringSubmatch(row[2], -1)
		if len(spans) == 0 {
			t.Errorf("%s: the row has no code to look for", row[1])
		}
		for _, span := range spans {
			if !strings.Contains(examples.String(), strings.TrimSuffix(span[1], "()")) {
				t.Errorf("%s: no example has %s", row[1], span[1])
			}
		}
	}
}
