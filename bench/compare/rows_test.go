//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/bench/micro"
)

// Every row is in a group, and every name in a group is a row.
func TestGroups(t *testing.T) {
	grouped := map[string]bool{}
	names := map[string]bool{"all": true}
	for _, g := range groups {
		if names[g.name] || g.about == "" {
			t.Errorf("group %+v", g)
		}
		names[g.name] = true
		rows, err := find([]string{g.name}, "")
		if err != nil || len(rows) != len(g.rows) {
			t.Errorf("%s: %v, %d rows", g.name, err, len(rows))
		}
		for _, r := range rows {
			grouped[r.title()] = true
			if r.takes(options{twin: 3}) < 5*time.Second || r.what() == "" {
				t.Errorf("%s takes %v: %s", r.title(), r.takes(options{}), r.what())
			}
		}
	}
	for _, r := range micro.Rows {
		if !grouped[r.Name] || names[r.Name] {
			t.Errorf("%s is in no group, or the name of one", r.Name)
		}
	}
	for _, p := range programs {
		if !grouped[p.name] || names[p.name] {
			t.Errorf("%s is in no group, or the name of one", p.name)
		}
	}
	for workload := range workloads {
		found := false
		for name := range grouped {
			found = found || regexp.MustCompile("^"+workload+`-\d+$`).MatchString(name)
		}
		if !found {
			t.Errorf("no group has the workload %s", workload)
		}
	}
}

// The names of the scripts that compare has replaced are rows.
func TestNoRowIsLost(t *testing.T) {
	const scripts = "client-tcp1 client-10k client-wait heads server-100 files middleware files-zipf server parse negotiate router client-memory json-clients json-clients-memory"
	if _, err := find(strings.Fields(scripts), ""); err != nil {
		t.Error(err)
	}
}

// Every file of results has a row.
func TestResultsHaveRows(t *testing.T) {
	files, err := filepath.Glob("../results/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".txt"), ".cmp")
		if _, err := rowOf(strings.TrimPrefix(name, "tcp-"), ""); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// runs matches a command line of compare. Its group are the arguments.
var runs = regexp.MustCompile(`go run \./compare((?: +[^ \x60#)"\n]+)*)`)

// Every row and group that a page names exists.
func TestPagesNameRows(t *testing.T) {
	found := 0
	for _, pattern := range []string{"../../*.md", "../*.md", "../*/*.md", "../../docs/*.md", "../../docs/design/*.md"} {
		pages, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			for _, match := range runs.FindAllStringSubmatch(read(t, page), -1) {
				words := strings.Fields(match[1])
				for i, word := range words {
					if strings.HasPrefix(word, "-") || word[0] == '$' || i > 0 && takesValue[words[i-1]] {
						continue
					}
					found++
					if _, err := find([]string{word}, ""); err != nil {
						t.Errorf("%s: %v", page, err)
					}
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("%d names", found)
	}
}

var takesValue = map[string]bool{"-n": true, "-d": true, "-servers": true, "-out": true, "-bench": true, "-twin": true, "-core": true}

// fake is a row that only reports.
type fake struct {
	name string
	v    verdict
	err  error
}

func (f fake) title() string               { return f.name }
func (f fake) what() string                { return "a test" }
func (f fake) takes(options) time.Duration { return time.Second }
func (f fake) run(*session) (verdict, map[string]string, error) {
	return f.v, map[string]string{f.name + ".txt": "text\n"}, f.err
}

// A row that fails does not stop the others, and the worst verdict is the exit status.
func TestRunAll(t *testing.T) {
	broken := errors.New("nginx is not installed")
	for _, tc := range []struct {
		rows []row
		want int
	}{
		{[]row{fake{"a", met, nil}, fake{"b", met, nil}}, 0},
		{[]row{fake{"a", missed, nil}, fake{"b", met, nil}}, 1},
		{[]row{fake{"a", refused, nil}, fake{"b", missed, nil}}, 3},
		{[]row{fake{"a", failed, broken}, fake{"b", refused, nil}}, 2},
	} {
		dir := filepath.Join(t.TempDir(), "new")
		s := &session{options: options{out: dir}, total: &record{}}
		if got := s.runAll(tc.rows); got != tc.want {
			t.Errorf("%v: status %d", tc.rows, got)
		}
		if _, err := os.Stat(filepath.Join(dir, "b.txt")); err != nil {
			t.Errorf("%v: the row after the first one: %v", tc.rows, err)
		}
	}
}

// Only results that are not refused are saved.
func TestSave(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("results", 0o755); err != nil {
		t.Fatal(err)
	}
	s := &session{options: options{save: true}}
	s.runAll([]row{fake{"a", missed, nil}, fake{"b", refused, nil}, fake{"c", failed, errors.New("cut off")}})
	files, err := filepath.Glob("results/*")
	if err != nil || len(files) != 1 || read(t, files[0]) != "text\n" || filepath.Base(files[0]) != "a.txt" {
		t.Errorf("%v, %v", files, err)
	}
}

func TestProgramArguments(t *testing.T) {
	p := program{args: []string{"-processes", "10"}, rounds: "-n", length: "-d", usual: 5}
	for _, tc := range []struct {
		o    options
		want string
	}{
		{options{}, "-processes 10 -n 5"},
		{options{rounds: 2, length: time.Second}, "-processes 10 -n 2 -d 1s"},
	} {
		if got := strings.Join(p.arguments(tc.o), " "); got != tc.want {
			t.Errorf("%+v: %s", tc.o, got)
		}
	}
}
