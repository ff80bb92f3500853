package cli

import (
	"fmt"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
	"github.com/gallop-http/gallop/internal/load/result"
)

func newMerge() *commandline.Command {
	s := newSettings()
	c := &commandline.Command{
		Name:  "merge",
		Args:  "FILE FILE...",
		Short: "Merge the results of several processes",
		Long: `
Reads results that --output json has written, and merges them as if one process had
sent everything: counts add up, and percentiles come from the merged histograms.
Thresholds are evaluated again for the whole, and decide the exit status.`,
		Flags: []commandline.Option{
			{Name: "output", Value: "FORMAT[=FILE]", Help: "write the merged result; see gallop-load help load", Into: &s.outputs, Short: "o"},
			{Name: "summary", Value: "FORM", Help: "full, compact or off", Into: &s.summary},
		},
		Examples: [][2]string{
			{"Merge the results of two machines", "gallop-load merge a.json b.json"},
			{"Keep the merged result", "gallop-load merge -o json=all.json part-*.json"},
		},
	}
	c.Run = func(env commandline.Env, args []string) error {
		if len(args) == 0 {
			return commandline.Usage("there is no result to merge", c.SeeHelp())
		}
		if err := s.outputs.check(); err != nil {
			return invalid(err)
		}
		r, err := mergeFiles(args)
		if err != nil {
			return invalid(err)
		}
		if err := s.summarise(env, r); err != nil {
			return err
		}
		if err := s.outputs.write(env, []*result.Result{r}); err != nil {
			return err
		}
		return status(verdict(r, nil))
	}
	return c
}

// mergeFiles merges all results of the files and evaluates their thresholds.
func mergeFiles(names []string) (*result.Result, error) {
	var merged *result.Result
	for _, name := range names {
		all, err := report.ReadFiles(name)
		if err != nil {
			return nil, err
		}
		for _, r := range all {
			if merged == nil {
				merged = r
			} else if err := merged.Merge(r); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for i := range merged.Thresholds {
		old := &merged.Thresholds[i]
		t, err := threshold.Parse(old.Metric, old.Expr)
		if err != nil {
			return nil, err
		}
		abort := old.Abort
		*old = t.Evaluate(merged)
		old.Abort = abort
	}
	return merged, nil
}
