package plan

import (
	"fmt"
	"slices"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/threshold"
	"github.com/gallop-http/gallop/internal/load/engine"
)

// thresholds adds the conditions of the file, and the one for dropped iterations: a load that reaches a limit on users is not the
// load that was asked for.
func (f *File) thresholds(p *Plan) error {
	for _, t := range f.Thresholds {
		one := *t
		one.Abort = one.Abort || f.AbortOnFail
		if one.Delay == 0 {
			one.Delay = f.DelayAbortEval.Duration
		}
		if err := p.checkTags(&one); err != nil {
			return err
		}
		p.Thresholds = append(p.Thresholds, &one)
	}
	limited := slices.ContainsFunc(p.Scenarios, func(s engine.Scenario) bool { return s.Load.MaxVUs > 0 })
	if limited && !slices.ContainsFunc(p.Thresholds, func(t *threshold.Threshold) bool { return t.About("dropped_iterations") }) {
		t, err := threshold.Parse("dropped_iterations", "count==0")
		if err != nil {
			return err
		}
		p.Thresholds = append(p.Thresholds, t)
	}
	return nil
}

// checkTags reports tags that no request has, because their thresholds would have nothing to examine.
func (p *Plan) checkTags(t *threshold.Threshold) error {
	for key, value := range t.Tags {
		switch key {
		case "name":
			if !slices.ContainsFunc(p.Scripts, func(s *Script) bool { return slices.Contains(s.names, value) }) {
				return fmt.Errorf("threshold %s: no request is named %q", t.Metric, value)
			}
		case "scenario":
			if !slices.ContainsFunc(p.Scenarios, func(s engine.Scenario) bool { return s.Name == value }) {
				return fmt.Errorf("threshold %s: no scenario is named %q", t.Metric, value)
			}
		case "method", "proto", "status", "expected_response", "check":
		default:
			if !p.hasTag(key) {
				return fmt.Errorf("threshold %s: no request has the tag %q", t.Metric, key)
			}
		}
	}
	return nil
}

func (p *Plan) hasTag(key string) bool {
	for _, s := range p.Scripts {
		for _, k := range s.kinds {
			if _, ok := k.Tags[key]; ok {
				return true
			}
		}
	}
	return false
}
