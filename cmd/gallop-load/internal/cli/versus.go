package cli

import (
	"context"
	"errors"
	"os"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/compare"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
	"github.com/gallop-http/gallop/internal/load/result"
)

// versusRepeats is how often each target is put under load if --repeat does not say it. Fewer runs have no confidence intervals.
const versusRepeats = 6

// against puts two targets under load in turn and compares them.
func (s *settings) against(env commandline.Env, f *plan.File, signals <-chan os.Signal) error {
	n := int(s.repeat)
	if n == 1 {
		n = versusRepeats
	}
	other := *f
	other.Target = s.versus
	files := [2]*plan.File{f, &other}
	var failed error
	results, err := compare.Interleave(context.Background(), n, func(_ context.Context, target, _ int) (*result.Result, error) {
		p, err := files[target].Build()
		if err != nil {
			return nil, invalid(err)
		}
		r, err := s.once(env, p, signals)
		if errors.Is(err, errThresholds) {
			failed, err = err, nil
		}
		return r, err
	})
	if err != nil {
		return status(err)
	}
	if err := s.outputs.write(env, append(results[0], results[1]...)); err != nil {
		return err
	}
	c, err := compare.Compare([]compare.Side{{Name: f.Target, Results: results[0]}, {Name: s.versus, Results: results[1]}}, compare.Options{Force: true})
	if err != nil {
		return err
	}
	w := env.Stdout
	if s.outputs.toStdout() {
		w = env.Stderr
	}
	if err := writeComparison(w, c, "text"); err != nil {
		return err
	}
	return status(failed)
}
