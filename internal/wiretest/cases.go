package wiretest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// ServerCases returns the server cases of testdata/cases that keep accepts, or all if keep is nil.
func ServerCases(t testing.TB, keep func(*Case) bool) []Case {
	t.Helper()
	return filtered(t, Load, "h1-server-public.jsonl", keep)
}

// ClientCases returns the client cases of testdata/cases that keep accepts, or all if keep is nil.
func ClientCases(t testing.TB, keep func(*ClientCase) bool) []ClientCase {
	t.Helper()
	return filtered(t, LoadClient, "h1-client-public.jsonl", keep)
}

// IsSmall reports whether a case is short and sent at once.
func IsSmall(c *Case) bool {
	return len(c.RawParts) == 0 && len(c.Raw) < 2<<10 && len(c.Steps) == 0
}

func filtered[T any](t testing.TB, load func(path string) ([]T, error), name string, keep func(*T) bool) (cases []T) {
	t.Helper()
	all, err := load(casesFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if keep == nil || keep(&c) {
			cases = append(cases, c)
		}
	}
	return cases
}

// casesFile returns the path of a file in testdata/cases of the module, from any directory in the module.
func casesFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("testdata", "cases", name)
	for range 6 {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
		path = filepath.Join("..", path)
	}
	t.Fatalf("no testdata/cases/%s in this directory or above", name)
	return ""
}
