package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/remote"
	"github.com/gallop-http/gallop/internal/load/result"
)

// pushInterval is how often seconds of the time line are sent.
const pushInterval = 5 * time.Second

// pusher sends the time line of a run to Prometheus while the run goes on, and the totals at its end.
type pusher struct {
	writer  *remote.Writer
	line    *remote.Timeline
	run     *liveRun
	sent    time.Duration // end of the last second that was sent
	failure error
}

// newPusher returns a pusher for the URL of the flag --prometheus. The URL may have a user name and a password, and the
// variable GALLOP_LOAD_PROMETHEUS_TOKEN may have a bearer token.
func newPusher(env commandline.Env, target string, run *liveRun) (*pusher, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, errors.New("--prometheus: the URL is not valid")
	}
	o := remote.Options{BearerToken: env.Getenv("GALLOP_LOAD_PROMETHEUS_TOKEN"), Labels: map[string]string{"job": "gallop-load"}}
	if u.User != nil {
		o.Username = u.User.Username()
		o.Password, _ = u.User.Password()
		u.User = nil
	}
	o.URL = u.String()
	w, err := remote.New(o)
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	return &pusher{writer: w, line: remote.NewTimeline(run.start.Add(run.plan.WarmUp)), run: run}, nil
}

// start sends seconds until the returned function is called. That function sends the rest and the totals of the result, if there is one.
func (p *pusher) start() (end func(*result.Result) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(pushInterval); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				p.push(complete(p.run.collector.Snapshot().Seconds, time.Since(p.run.start)-p.run.plan.WarmUp))
			}
		}
	}()
	return func(r *result.Result) error {
		cancel()
		<-done
		if r != nil {
			p.push(r.Seconds)
			p.note(p.writer.Write(context.Background(), remote.Totals(r)))
		}
		return p.failure
	}
}

// push sends the seconds that were not sent before. A failure does not end the run.
func (p *pusher) push(seconds []result.Second) {
	for i := range seconds {
		if s := &seconds[i]; s.T >= p.sent && s.T >= 0 {
			p.line.Add(s)
			p.sent = s.T + s.Length
		}
	}
	p.note(p.writer.Write(context.Background(), p.line.Take()))
}

func (p *pusher) note(err error) {
	if err != nil && p.failure == nil {
		p.failure = fmt.Errorf("--prometheus: %w", err)
	}
}
