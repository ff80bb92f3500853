package compare

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/result"
)

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func compared(t *testing.T, o Options, sides ...Side) *Comparison {
	t.Helper()
	c, err := Compare(sides, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func render(t *testing.T, write func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func textOf(t *testing.T, c *Comparison) string {
	return string(render(t, func(b *bytes.Buffer) error { return c.Text(b, false) }))
}

func csvOf(t *testing.T, c *Comparison) string {
	return string(render(t, func(b *bytes.Buffer) error { return c.CSV(b) }))
}

// cases are comparisons with large, small and no differences, and with few runs.
var cases = map[string][]Side{
	"slower":  {{"a.txt", resulttest.Repeats(10, 1, 1)}, {"b.txt", resulttest.Repeats(10, 1.2, 2)}},
	"same":    {{"a.txt", resulttest.Repeats(10, 1, 3)}, {"b.txt", resulttest.Repeats(10, 1, 4)}},
	"few":     {{"a.txt", resulttest.Repeats(3, 1, 5)}, {"b.txt", resulttest.Repeats(3, 0.5, 6)}},
	"uneven":  {{"a.txt", resulttest.Repeats(4, 1, 7)}, {"b.txt", resulttest.Repeats(7, 0.9, 8)}},
	"three":   {{"a.txt", resulttest.Repeats(6, 1, 9)}, {"b.txt", resulttest.Repeats(6, 0.9, 10)}, {"c.txt", resulttest.Repeats(6, 1.1, 11)}},
	"one run": {{"a.txt", resulttest.Repeats(1, 1, 9)}, {"b.txt", resulttest.Repeats(1, 0.9, 10)}},
	"repeats": {{"a.txt", resulttest.Repeats(10, 1, 12)}},
	"partial": {{"a.txt", resulttest.Repeats(6, 1, 9)}, {"b.txt", dropItems(resulttest.Repeats(6, 0.9, 10))}},
}

// dropItems makes one request have no responses.
func dropItems(all []*result.Result) []*result.Result {
	for _, r := range all {
		r.Series[1] = result.NewSeries("default", "items")
	}
	return all
}

func TestGolden(t *testing.T) {
	c := compared(t, Options{}, cases["slower"]...)
	golden(t, "slower.txt", []byte(textOf(t, c)))
	golden(t, "slower-color.txt", render(t, func(b *bytes.Buffer) error { return c.Text(b, true) }))
	golden(t, "slower.csv", []byte(csvOf(t, c)))
	golden(t, "slower.json", render(t, func(b *bytes.Buffer) error { return c.JSON(b) }))
	golden(t, "few.txt", []byte(textOf(t, compared(t, Options{}, cases["few"]...))))
	golden(t, "few.json", render(t, func(b *bytes.Buffer) error { return compared(t, Options{}, cases["few"]...).JSON(b) }))
	golden(t, "repeats.txt", []byte(textOf(t, compared(t, Options{}, cases["repeats"]...))))
}

// The tables agree with those that benchstat prints for the benchmark lines of the same results.
func TestAgreesWithBenchstat(t *testing.T) {
	benchstat := filepath.Join(t.TempDir(), "benchstat")
	if out, err := exec.Command("go", "build", "-o", benchstat, "golang.org/x/perf/cmd/benchstat").CombinedOutput(); err != nil {
		t.Fatalf("benchstat, a tool of this module, cannot be built: %v\n%s", err, out)
	}
	for name, sides := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{}
			for _, s := range sides {
				lines := render(t, func(b *bytes.Buffer) error { return report.Bench(b, s.Results...) })
				if err := os.WriteFile(filepath.Join(dir, s.Name), lines, 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, s.Name)
			}
			run := func(format string) string {
				cmd := exec.Command(benchstat, append([]string{"-format", format}, args...)...)
				cmd.Dir = dir
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(err)
				}
				return regexp.MustCompile(`(?m)^(goos|pkg|cpu): .*\n`).ReplaceAllString(string(out), "")
			}
			c := compared(t, Options{}, sides...)
			c.Warnings = nil
			if got, want := commas(csvOf(t, c)), commas(run("csv")); got != want {
				t.Errorf("CSV:\n%s\nbenchstat:\n%s", got, want)
			}
			if got, want := plain(textOf(t, c)), plain(run("text")); got != want {
				t.Errorf("text:\n%s\nbenchstat:\n%s", got, want)
			}
		})
	}
}

// commas removes empty fields at the ends of lines.
func commas(csv string) string { return regexp.MustCompile(`(?m),+$`).ReplaceAllString(csv, "") }

// plain removes differences of layout.
func plain(text string) string {
	text = strings.ReplaceAll(text, "│", "")
	text = regexp.MustCompile(`(?m) +$|^ +`).ReplaceAllString(text, "")
	return regexp.MustCompile(` +`).ReplaceAllString(text, " ")
}

// A rate is better if it is higher, a latency if it is lower.
func TestDirections(t *testing.T) {
	c := compared(t, Options{}, cases["slower"]...)
	for _, table := range c.Tables {
		for _, row := range table.Rows {
			change := row.Cells[1].Changed
			// The generator consumes the same on both sides.
			if wantWorse := table.Unit != "cpu-sec/op"; change.Worse != wantWorse || change.Better {
				t.Errorf("%s %s: better %v, worse %v", table.Unit, row.Name, change.Better, change.Worse)
			}
			if (table.Unit == "req/s") != table.HigherIsBetter {
				t.Errorf("%s: higher is better: %v", table.Unit, table.HigherIsBetter)
			}
		}
	}
}

func TestDifferentPlansAreRefused(t *testing.T) {
	for name, change := range map[string]func(*result.Result){
		"engine":      func(r *result.Result) { r.Tool.Engine = "client" },
		"protocol":    func(r *result.Result) { r.Target.Proto = "HTTP/2" },
		"connections": func(r *result.Result) { r.Plan.Connections++ },
		"streams":     func(r *result.Result) { r.Plan.Streams++ },
		"pipeline":    func(r *result.Result) { r.Plan.Pipeline++ },
		"processes":   func(r *result.Result) { r.Plan.Parts++ },
		"scenarios":   func(r *result.Result) { r.Scenarios[0].VUs++ },
		"requests":    func(r *result.Result) { r.Series[1].Name = "other" },
	} {
		a, b := resulttest.Repeats(2, 1, 1), resulttest.Repeats(2, 1, 2)
		change(b[1])
		sides := []Side{{"a", a}, {"b", b}}
		if _, err := Compare(sides, Options{}); err == nil || !strings.Contains(err.Error(), name+": ") || !strings.Contains(err.Error(), "b run 2") {
			t.Errorf("%s: %v", name, err)
		}
		if c := compared(t, Options{Force: true}, sides...); len(c.Warnings) == 0 || !strings.Contains(c.Warnings[0], name) {
			t.Errorf("%s: %q", name, c.Warnings)
		}
	}
	if _, err := Compare([]Side{{"a", resulttest.Repeats(1, 1, 1)}, {"b", nil}}, Options{}); err == nil {
		t.Error("a side without results is compared")
	}
	if _, err := Compare(nil, Options{}); err == nil {
		t.Error("nothing is compared")
	}
}

func TestDoubts(t *testing.T) {
	a, b := resulttest.Repeats(6, 1, 1), resulttest.Repeats(6, 1, 2)
	if c := compared(t, Options{}, Side{"a", a}, Side{"b", b}); len(c.Warnings) > 0 || c.Noisy {
		t.Errorf("good runs are doubted: %q", c.Warnings)
	}
	b[0].Generator.Saturated, b[1].Generator.Saturated, b[2].ByHand, b[3].Host.CPU = true, true, true, "another"
	b[4].Series[0].Failed = 2000
	for i, r := range b {
		// Rates vary by half.
		r.Ended = r.Started.Add(r.Elapsed() * time.Duration(10+i) / 10)
	}
	c := compared(t, Options{}, Side{"a", a}, Side{"b", b})
	all := strings.Join(c.Warnings, "\n")
	for _, want := range []string{"b: in 2 of 6 runs the generator was saturated", "b: in 1 of 6 runs the rate was changed by hand",
		"b: in 1 of 6 runs the machine", "b: in 1 of 6 runs more than 1%", "b: req/s of Load/route=all/c=16-2 varies by ±"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if !c.Noisy {
		t.Error("not noisy")
	}
}
