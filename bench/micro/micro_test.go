package micro

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The saved tables are what the saved output of go test gives.
func TestTablesOfResults(t *testing.T) {
	t.Chdir("..")
	found := 0
	for _, row := range Rows {
		saved, err := os.ReadFile(filepath.Join("results", row.Name+".cmp.txt"))
		if os.IsNotExist(err) {
			continue
		}
		raw, err2 := os.ReadFile(filepath.Join("results", row.Name+".txt"))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		found++
		got, err := row.compare(string(raw), filepath.Join(t.TempDir(), row.Name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(string(saved), "\n")
		for i, line := range strings.Split(got.Tables, "\n") {
			if i >= len(want) || strings.Join(strings.Fields(line), " ") != strings.Join(strings.Fields(want[i]), " ") {
				t.Errorf("%s.cmp.txt, line %d: the results give\n%s", row.Name, i+1, line)
				break
			}
		}
	}
	if found < 5 {
		t.Errorf("%d files with tables", found)
	}
}

var benchmarkFunc = regexp.MustCompile(`(?m)^func (Benchmark\w+)\(b \*testing\.B\)`)

// Every benchmark of each module is in a row.
func TestRowsHaveAllBenchmarks(t *testing.T) {
	t.Chdir("..")
	patterns := map[string][]*regexp.Regexp{}
	seen := map[string]bool{}
	for _, row := range Rows {
		if seen[row.Name] || row.About == "" || row.Rounds == 0 || row.Time == 0 || row.Each == 0 || len(row.Peers)+len(row.Splits) == 0 {
			t.Errorf("%+v", row)
		}
		seen[row.Name] = true
		patterns[row.dir()] = append(patterns[row.dir()], regexp.MustCompile(row.Pattern))
	}
	found := 0
	for dir, patterns := range patterns {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range benchmarkFunc.FindAllStringSubmatch(string(text), -1) {
				found++
				if !matches(patterns, match[1]) {
					t.Errorf("%s: %s is in no row", file, match[1])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("%d benchmarks", found)
	}
}

func matches(patterns []*regexp.Regexp, name string) bool {
	for _, p := range patterns {
		if p.MatchString(name) {
			return true
		}
	}
	return false
}

const twoRounds = `commit: abc1234
BenchmarkA/x/server=peer    100  200 ns/op  0 B/op
BenchmarkA/x/server=gallop  100  100 ns/op  0 B/op
BenchmarkB/server=gallop    100   10.5 ns/op
BenchmarkA/x/server=peer    100  400 ns/op  0 B/op
BenchmarkA/x/server=gallop  100  110 ns/op  0 B/op
PASS
`

func TestGoals(t *testing.T) {
	for limit, word := range map[float64]string{0.35: "goal: A/x at most 0.35 × peer: 0.350, met", 0.34: "goal: A/x at most 0.34 × peer: 0.350, MISSED"} {
		row := Row{Name: "a", Peers: []string{"peer"}, Goal: limit}
		goals := row.goals(Parse(twoRounds))
		if len(goals) != 1 || goals[0].Text != word || goals[0].Met != strings.HasSuffix(word, " met") {
			t.Errorf("%v: %v", limit, goals)
		}
	}
	var table strings.Builder
	Row{Name: "a", Peers: []string{"peer"}}.table(&table, Parse(twoRounds), nil)
	const want = `median ns/op gallop peer ÷ peer
A/x 105.0 300.0 0.350
B 10.5 0.0 0.000
geometric mean 0.350
`
	lines := strings.Split(table.String(), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

// The standard library's share of a middleware's time does not count.
func TestGoalWithoutTheLibrary(t *testing.T) {
	const round = `
BenchmarkMiddleware/Logger/server=fiber   100  400 ns/op
BenchmarkMiddleware/Logger/server=gallop  100  350 ns/op
BenchmarkMiddleware/Other/server=fiber    100  400 ns/op
BenchmarkMiddleware/Other/server=gallop   100  350 ns/op
BenchmarkLibrary/Logger/server=gallop     100  150 ns/op
`
	goals := Row{Name: "a", Peers: []string{"fiber"}, Goal: 0.7}.goals(Parse(round))
	want := []string{
		"goal: Middleware/Logger at most 0.7 × fiber: 0.500, met (without 150 ns of the standard library)",
		"goal: Middleware/Other at most 0.7 × fiber: 0.875, MISSED",
	}
	if len(goals) != 2 || goals[0].Text != want[0] || goals[1].Text != want[1] {
		t.Errorf("got %v", goals)
	}
}

// A row runs benchmarks and compares them. A pattern that matches none is an error.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the benchmarks")
	}
	t.Chdir("..")
	row := Row{Name: "parse", Pattern: `^BenchmarkParseRequest4Fields$`, Peers: fastAndStd}
	result, err := row.Run(t.Context(), Options{Rounds: 2, Time: time.Millisecond, Head: "commit: abc1234\n"}, io.Discard)
	if err != nil || len(result.Benchmarks) != 3 || len(result.Benchmarks[0].Rounds) != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	for text, part := range map[string]string{result.Raw: "commit: abc1234\npeer: ", result.Tables: "sec/op"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	row.Pattern = "^BenchmarkNothing$"
	if result, err := row.Run(t.Context(), Options{Rounds: 1, Time: time.Millisecond}, io.Discard); err == nil {
		t.Errorf("no benchmark ran: %+v", result)
	}
}
