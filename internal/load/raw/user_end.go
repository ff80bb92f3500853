package raw

import (
	"time"

	"github.com/gallop-http/gallop/internal/load/script"
)

// complete ends a request that has a complete response, which arrived just now.
func (u *user) complete() {
	t := u.t
	t.flying--
	s := u.series()
	s.Done++
	s.Status[u.resp.status]++
	service := t.now - u.sent
	response := service
	if u.sc.arrivals != nil {
		response = t.now - u.due
	}
	if u.req.Expect.Has(u.resp.status) {
		s.Response.Add(response)
		s.Service.Add(service)
	} else {
		s.Unexpected++
		s.UnexpectedResponse.Add(response)
	}
	s.BytesIn += u.bytesIn
	s.BodyIn += u.resp.size
	u.recordPhases()
	u.resp.out = script.Response{Status: u.resp.status, Header: u.resp.fields, Body: u.resp.body, Size: u.resp.size}
	u.over()
}

// recordPhases records how the time of the request was spent.
func (u *user) recordPhases() {
	p := &u.series().Phases
	if u.heard == 0 {
		u.heard = u.t.now
	}
	if u.wrote == 0 || u.wrote > u.heard {
		u.wrote = u.heard // the response came before the request was written
	}
	p.Blocked.Add(u.sent - u.asked - u.connect - u.secure)
	if u.opens {
		p.Connect.Add(u.connect)
		if u.t.tls != nil {
			p.TLS.Add(u.secure)
		}
	}
	p.Sending.Add(u.wrote - u.sent)
	p.Waiting.Add(u.heard - u.wrote)
	p.Receiving.Add(u.t.now - u.heard)
}

// over tells the script about the outcome, and lets the user go on.
func (u *user) over() {
	u.round++
	u.conn = nil
	u.state = ready
	u.script.Done(&u.resp.out)
	if u.failed {
		u.failed = false
		u.sleep(ready, u.t.now+failedPause)
		return
	}
	u.t.running.push(u)
}

// fail ends a request without a complete response.
func (u *user) fail(err *failure) {
	s := u.series()
	if u.counted {
		u.t.flying--
	} else {
		s.Sent++
	}
	s.Fail(err.kind, time.Now(), err.Error())
	s.BytesIn += u.bytesIn
	u.resp.out = script.Response{Err: err}
	u.over()
}

// endReset ends a request after which this side has reset the connection, as the script wanted.
func (u *user) endReset() {
	u.t.flying--
	u.series().Resets++
	u.resp.out = script.Response{}
	u.over()
}

// failedPause is how long a user of a closed loop waits after an attempt to connect has failed. Such attempts fail so fast that
// trying them again at once would measure nothing but the generator.
const failedPause = 10 * time.Millisecond

// failToConnect ends a request whose connection could not be opened.
func (u *user) failToConnect(err *failure) {
	u.failed = u.sc.arrivals == nil
	u.fail(err)
}

// timeout fails the request because its time is up.
func (u *user) timeout() {
	if u.state == flying {
		u.conn.giveUp(u)
		return
	}
	u.stopConnecting()
	u.fail(errTimeout)
}

// stopConnecting closes the connection that the user opens, if it is not open yet.
func (u *user) stopConnecting() {
	if c := u.conn; c != nil && c.state == connecting {
		u.t.remove(c)
	}
}

// retry sends the request again on another connection, because its connection was closed before the server has read it.
func (u *user) retry() {
	u.series().Raced++
	u.retried = true
	u.state, u.conn = waiting, nil
	u.t.assign(u)
}

// abort ends the user's work at the end of the scenario.
func (u *user) abort() {
	if u.state == resting {
		return
	}
	inIteration := !u.first
	switch u.state {
	case flying:
		u.t.flying--
		u.series().Aborted++
		u.conn.abandon(u)
	case waiting:
		u.stopConnecting()
		s := u.series()
		switch {
		case u.counted: // it waits for another connection
			u.t.flying--
			s.Aborted++
		case u.opens:
			s.Sent++
			s.Aborted++
		default:
			s.Dropped++
		}
	}
	if inIteration {
		u.sc.counts().Interrupted++
	}
	u.state = resting
	u.round++
	u.sc.active--
}
