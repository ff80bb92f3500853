package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/result"
)

// recorder notes the order of runs, and fails in one of them.
func recorder(order *[]string, failAt int) func(context.Context, int, int) (*result.Result, error) {
	return func(_ context.Context, target, round int) (*result.Result, error) {
		if len(*order) == failAt {
			return nil, errors.New("target is down")
		}
		*order = append(*order, fmt.Sprintf("%c%d", 'A'+target, round))
		return &result.Result{Plan: result.Plan{Name: (*order)[len(*order)-1]}}, nil
	}
}

func TestInterleave(t *testing.T) {
	var order []string
	all, err := Interleave(t.Context(), 3, recorder(&order, -1))
	if got := strings.Join(order, " "); err != nil || got != "A0 B0 B1 A1 A2 B2" {
		t.Error(got, err)
	}
	for target, results := range all {
		for round, r := range results {
			if want := fmt.Sprintf("%c%d", 'A'+target, round); r.Plan.Name != want {
				t.Errorf("%s stands for %s", r.Plan.Name, want)
			}
		}
	}
	// A failure in the second half of a round leaves the complete rounds.
	order = nil
	all, err = Interleave(t.Context(), 3, recorder(&order, 3))
	if err == nil || len(all[0]) != 1 || len(all[1]) != 1 {
		t.Error(err, len(all[0]), len(all[1]))
	}
}

func TestRepeat(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var order []string
	run := recorder(&order, -1)
	all, err := Repeat(ctx, 5, func(ctx context.Context, i int) (*result.Result, error) {
		if i == 2 {
			cancel()
		}
		return run(ctx, 0, i)
	})
	if !errors.Is(err, context.Canceled) || len(all) != 3 || all[2].Plan.Name != "A2" {
		t.Error(err, order)
	}
}

func TestReadSides(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i, n := range []int{3, 1, 2} {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.json", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := report.WriteJSON(f, resulttest.Repeats(n, 1, 1)...); err != nil {
			t.Fatal(err)
		}
		f.Close()
		names = append(names, f.Name())
	}
	sides, err := ReadSides(names[0], names[1]+","+names[2])
	if err != nil || len(sides) != 2 || len(sides[0].Results) != 3 || len(sides[1].Results) != 3 || sides[0].Name != names[0] {
		t.Error(err, sides)
	}
	if _, err := ReadSides(names[0], names[1]+",missing.json"); err == nil || !strings.Contains(err.Error(), "missing.json") {
		t.Error(err)
	}
}
