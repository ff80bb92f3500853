package compare

import (
	"context"
	"strings"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/internal/load/result"
)

// ReadSides reads result files. Each argument is one side: a file with one or more results, or several files with commas
// between their names.
func ReadSides(args ...string) ([]Side, error) {
	var sides []Side
	for _, arg := range args {
		all, err := report.ReadFiles(strings.Split(arg, ",")...)
		if err != nil {
			return nil, err
		}
		sides = append(sides, Side{arg, all})
	}
	return sides, nil
}

// Repeat calls run n times, one after another. If run fails, it returns the results so far and the error.
func Repeat(ctx context.Context, n int, run func(ctx context.Context, i int) (*result.Result, error)) ([]*result.Result, error) {
	var all []*result.Result
	for i := range n {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		r, err := run(ctx, i)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Interleave puts two targets under load in turn, n times each. The target that goes first alternates, so that a drift of
// the machine affects both alike: A B, B A, A B, … If run fails, it returns the results of complete rounds and the error.
func Interleave(ctx context.Context, n int, run func(ctx context.Context, target, round int) (*result.Result, error)) ([2][]*result.Result, error) {
	var all [2][]*result.Result
	for round := range n {
		var pair [2]*result.Result
		for i := range 2 {
			target := (i + round) % 2
			if err := ctx.Err(); err != nil {
				return all, err
			}
			r, err := run(ctx, target, round)
			if err != nil {
				return all, err
			}
			pair[target] = r
		}
		all[0], all[1] = append(all[0], pair[0]), append(all[1], pair[1])
	}
	return all, nil
}
