package gallop

import (
	"errors"
	"time"
)

// pipelineOutages keeps a client whose server is down from dialing for each call. PipelineClient.mu guards it.
type pipelineOutages struct {
	err    error // of the last dial, or of connections that ended before they had brought an answer; nil: all is well
	retry  time.Time
	barren int // connections since the last answer that ended without one
}

const (
	// pipelineRetry is how long calls fail after a failure, without another dial.
	pipelineRetry = 100 * time.Millisecond

	// maxBarren is how many connections may end one after the other without an answer before that counts as a failure: one may be an
	// accident.
	maxBarren = 2
)

// check returns nil if a connection may be made now, and otherwise why the last one failed.
func (o *pipelineOutages) check() error {
	if o.err != nil && time.Now().Before(o.retry) {
		return o.err
	}
	o.retry = time.Now().Add(pipelineRetry) // others do not dial beside this one
	return nil
}

func (o *pipelineOutages) failed(err error) {
	o.err, o.retry = err, time.Now().Add(pipelineRetry)
}

// ended is told of a connection that has ended.
func (o *pipelineOutages) ended(opened bool, answered int, err error) {
	var panicked *PanicError
	switch {
	case err == errGoexit || errors.As(err, &panicked): // it is the program that has failed
	case !opened:
		o.failed(err)
	case answered > 0:
		*o = pipelineOutages{}
	case err != errPipelineIdle && !timedOut(err):
		if o.barren++; o.barren >= maxBarren {
			o.failed(err)
		}
	}
}
