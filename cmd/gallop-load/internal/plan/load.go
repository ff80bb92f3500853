package plan

import (
	"errors"
	"fmt"
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// Defaults of a scenario.
const (
	defaultVUs      = 1
	defaultDuration = 10 * time.Second
	defaultGrace    = 30 * time.Second
)

// maxUsers bounds the users of a scenario, because a mistyped number should not fill the memory.
const maxUsers = 10_000_000

// load turns a shape into a load. An executor that is not named follows from the other values.
func (s *Shape) load() (l script.Load, err error) {
	if l.Executor, err = s.executor(); err != nil {
		return l, err
	}
	unit := time.Second
	if s.TimeUnit.Given {
		unit = s.TimeUnit.Duration
	}
	l.Duration, l.StartTime, l.Grace = s.Duration.Duration, s.StartTime.Duration, defaultGrace
	if s.GracefulStop.Given {
		l.Grace = s.GracefulStop.Duration
	}
	l.VUs, l.MaxVUs, l.Iterations = int(s.VUs), int(s.MaxVUs), int64(s.Iterations)
	if unit <= 0 {
		return l, errors.New("time-unit must be longer than 0")
	}
	l.Rate = s.Rate.perSecond(unit)
	for _, st := range s.Stages {
		target := st.Target.Count
		if l.Executor.Open() {
			target = st.Target.perSecond(unit)
		}
		l.Stages = append(l.Stages, script.Stage{Duration: st.Duration.Duration, Target: target})
	}
	switch s.Arrivals {
	case "", "even":
	case "poisson":
		l.Poisson = true
	default:
		return l, fmt.Errorf("arrivals must be even or poisson, not %q", s.Arrivals)
	}
	return l, s.complete(&l)
}

// executor returns the executor that is named or follows from the other values.
func (s *Shape) executor() (script.Executor, error) {
	if s.Executor != "" {
		e, ok := script.ParseExecutor(s.Executor)
		if !ok {
			return 0, fmt.Errorf("there is no executor %q; there are constant-vus, ramping-vus, shared-iterations, per-vu-iterations, constant-arrival-rate and ramping-arrival-rate", s.Executor)
		}
		return e, nil
	}
	rates := s.Rate.Count > 0
	for _, st := range s.Stages {
		rates = rates || st.Target.Unit != 0
	}
	switch {
	case len(s.Stages) > 0 && rates:
		return script.RampingArrivalRate, nil
	case len(s.Stages) > 0:
		return script.RampingVUs, nil
	case rates:
		return script.ConstantArrivalRate, nil
	case s.Iterations > 0:
		return script.SharedIterations, nil
	}
	return script.ConstantVUs, nil
}

// complete fills in defaults and reports contradictions.
func (s *Shape) complete(l *script.Load) error {
	e := l.Executor
	ramps := e == script.RampingVUs || e == script.RampingArrivalRate
	counts := e == script.SharedIterations || e == script.PerVUIterations
	switch {
	case ramps && len(l.Stages) == 0:
		return fmt.Errorf("%v needs stages, such as 30s:100", e)
	case ramps && s.Duration.Given:
		return fmt.Errorf("%v lasts as long as its stages; leave duration out", e)
	case !ramps && len(l.Stages) > 0:
		return fmt.Errorf("%v has no stages", e)
	case e == script.ConstantArrivalRate && l.Rate <= 0:
		return fmt.Errorf("%v needs a rate, such as 500/s", e)
	case !e.Open() && s.Rate.Count > 0:
		return fmt.Errorf("%v has no rate", e)
	case !e.Open() && (s.MaxVUs > 0 || l.Poisson):
		return fmt.Errorf("max-vus and arrivals are for a load with a rate, and not for %v", e)
	case !counts && l.Iterations > 0:
		return fmt.Errorf("%v has no iterations; a load ends after a duration or after iterations", e)
	case l.MaxVUs > 0 && l.MaxVUs < l.VUs:
		return fmt.Errorf("max-vus %d is less than vus %d", l.MaxVUs, l.VUs)
	case l.VUs > maxUsers || l.MaxVUs > maxUsers:
		return fmt.Errorf("a scenario has at most %d users", maxUsers)
	case s.Duration.Given && l.Duration <= 0:
		return errors.New("duration must be longer than 0")
	}
	if l.Duration == 0 && !ramps && !counts {
		l.Duration = defaultDuration
	}
	if counts && l.Iterations == 0 {
		l.Iterations = 1
	}
	if l.VUs == 0 && !e.Open() && e != script.RampingVUs {
		l.VUs = defaultVUs
	}
	if ramps && l.Length() <= 0 {
		return errors.New("the stages have no duration")
	}
	return nil
}
