package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/result"
	"golang.org/x/perf/benchfmt"
)

func bench(t *testing.T, results ...*result.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := Bench(&b, results...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBench(t *testing.T) {
	golden(t, "bench.txt", []byte(bench(t, resulttest.Repeats(2, 1, 1)...)))
	golden(t, "bench-open.txt", []byte(bench(t, resulttest.Open())))
}

// benchfmt, which benchstat uses, reads all lines without a complaint, and finds the same values.
func TestBenchIsInTheFormatOfGo(t *testing.T) {
	repeats := resulttest.Repeats(3, 1, 1)
	reader := benchfmt.NewReader(strings.NewReader(bench(t, append(repeats, hostile())...)), "bench")
	lines := 0
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(record)
		case *benchfmt.Result:
			lines++
			if rate, ok := record.Value("req/s"); !ok || rate <= 0 {
				t.Errorf("%s: %v requests per second", record.Name, rate)
			}
			if p50, ok := record.Value("p50-sec"); !ok || p50 <= 0 {
				t.Errorf("%s: p50 of %v s", record.Name, p50)
			}
		}
	}
	if lines != 12 {
		t.Errorf("%d lines", lines)
	}
	if m := reader.Units().Get("req/s", "better"); m == nil || m.Value != "higher" {
		t.Error("req/s is not higher-is-better")
	}
}

func TestBenchNames(t *testing.T) {
	r := resulttest.Closed()
	r.Series[0].Name = "GET /a b=c\n"
	if got := Lines(r)[0].Name; got != "Load/route=GET__a_b_c_/vus=25-2" {
		t.Error(got)
	}
}
