package feed

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func open(t *testing.T, name, content string, mode Mode) (*Feed, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return Open(file, mode)
}

func TestFormats(t *testing.T) {
	want := [][]string{{"1", "Ann, B"}, {"2", ""}}
	for name, content := range map[string]string{
		"a.csv":   "\ufeffid,name\n1,\"Ann, B\"\n2,\n",
		"a.jsonl": "{\"id\":1,\"name\":\"Ann, B\"}\n{\"id\":2}\n",
		"a.json":  `[{"name":"Ann, B","id":1},{"id":2,"name":null}]`,
	} {
		f, err := open(t, name, content, Sequential)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(f.Columns, []string{"id", "name"}) || !slices.EqualFunc(f.rows, want, slices.Equal[[]string]) {
			t.Errorf("%s: %q %q", name, f.Columns, f.rows)
		}
	}
	if f, err := open(t, "n.json", `{"n":12345678901234567890,"o":{"a":[1]}}`, Random); err != nil || f.rows[0][0] != "12345678901234567890" || f.rows[0][1] != `{"a":[1]}` {
		t.Errorf("%+v, %v", f, err)
	}
	for name, content := range map[string]string{"a.csv": "id,name\n", "b.csv": "", "c.csv": "a,b\n1\n", "a.json": "[]", "b.json": `{"a":1}x`, "c.json": `[1]`} {
		if _, err := open(t, name, content, Random); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with %q: %v", name, content, err)
		}
	}
}

func TestModes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for mode, want := range map[Mode]string{Sequential: "abcab", Unique: "abcab", PerUser: "babab"} {
		f, err := open(t, "a.csv", "x\na\nb\nc\n", mode)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range 5 {
			got += f.Row(2-i%2, r)[0]
		}
		if got != want {
			t.Errorf("%v: %s", mode, got)
		}
		if warned := f.Warning() != ""; warned != (mode == Unique) {
			t.Errorf("%v: %q", mode, f.Warning())
		}
	}
	f, _ := open(t, "a.csv", "x\na\nb\nc\n", Random)
	seen := map[string]bool{}
	for range 100 {
		seen[f.Row(1, r)[0]] = true
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
	for _, name := range []string{"", "sequential", "random", "unique", "per-user", "per-connection"} {
		if _, err := ParseMode(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := ParseMode("shuffled"); err == nil {
		t.Error("an unknown mode is accepted")
	}
}
