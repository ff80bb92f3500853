// Package pagetest compares pages of the documentation with the code, and reads doc comments. Tests of the root and
// packages below test use it.
package pagetest

import (
	"os"
	"strings"
	"testing"
)

// Text returns the text of a file.
func Text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Table returns the rows of the table on a page that has this head, without the head.
func Table(t *testing.T, page, head string) (rows [][]string) {
	t.Helper()
	_, text, ok := strings.Cut(Text(t, page), "\n"+head+"\n")
	if !ok {
		t.Fatalf("%s has no table with the head %s", page, head)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("%s: no rows below %s", page, head)
	}
	return rows[1:]
}

// Compare compares the first two cells of the rows of a table with what the code says.
func Compare(t *testing.T, page, head string, want map[string]string) {
	t.Helper()
	for _, row := range Table(t, page, head) {
		if want[row[0]] != row[1] {
			t.Errorf("%s: %s says %q, the code %q", row[0], page, row[1], want[row[0]])
		}
		delete(want, row[0])
	}
	for name := range want {
		t.Errorf("%s does not say %s", page, name)
	}
}
