package client

import (
	"context"
	"time"

	"github.com/gallop-http/gallop"

	"github.com/gallop-http/gallop/internal/load/result"
	"github.com/gallop-http/gallop/internal/load/script"
)

// user sends the requests of a script's user.
type user struct {
	*scenario
	script script.User
	trace  trace
	ctx    context.Context // scenario.sending, with the trace unless redirects are followed
	req    *gallop.Request
	resp   *gallop.Response
	out    script.Response
}

func (s *scenario) newUser(number int) *user {
	u := &user{scenario: s, script: s.Script.NewUser(number), ctx: s.sending, req: &gallop.Request{}, resp: &gallop.Response{}}
	if s.options.Redirects == 0 { // the phases of several requests do not add up to those of one
		u.ctx = gallop.WithClientTrace(s.sending, u.trace.hooks())
	}
	return u
}

// iterate runs one iteration. In an open loop, due is when its first request was due. Later requests are due when their pause ends.
func (u *user) iterate(due time.Time) {
	start := due
	if start.IsZero() {
		start = time.Now()
	}
	for {
		q, ok := u.script.Next()
		if !ok {
			break
		}
		if q.Pause > 0 {
			if !due.IsZero() {
				due = due.Add(q.Pause)
			}
			if !sleep(u.sending, q.Pause) {
				u.interrupted()
				return
			}
		}
		if u.sending.Err() != nil || !u.send(q, due) {
			u.interrupted()
			return
		}
		if !due.IsZero() {
			due = time.Now()
		}
	}
	rec := u.recorder
	rec.mu.Lock()
	defer rec.mu.Unlock()
	users := &rec.period.Users[u.index]
	users.Iterations++
	users.Length.Add(time.Since(start))
}

// interrupted counts an iteration that was cut off. The script's user begins a new iteration afterwards.
func (u *user) interrupted() {
	rec := u.recorder
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.period.Users[u.index].Interrupted++
}

// send sends one request and records the outcome. It reports false if the request was cut off.
func (u *user) send(q *script.Request, due time.Time) bool {
	u.prepare(q, due)
	u.began(q, due)
	u.trace.reset()
	sent := time.Now()
	if due.IsZero() {
		due = sent
	}
	err := u.client.DoContext(u.ctx, u.req, u.resp)
	end := time.Now()
	t := u.trace.take()
	cut := err != nil && u.sending.Err() != nil
	u.reply(q, err)
	u.ended(q, outcome{due: due, sent: sent, end: end, times: t, err: err, cut: cut})
	if !cut {
		u.script.Done(&u.out)
	}
	return !cut
}

// defaultTimeout is the timeout of a request that has none.
const defaultTimeout = 60 * time.Second

// prepare builds the client's request.
func (u *user) prepare(q *script.Request, due time.Time) {
	u.req.Reset()
	u.resp.Reset()
	h := &u.req.Header
	h.DisableNormalizing()
	h.SetMethod(q.Method)
	scheme, authority := q.Scheme, q.Authority
	if scheme == "" {
		scheme = u.options.Scheme
	}
	host := authority
	if authority == "" || q.Scheme == "" {
		authority = u.options.Authority // a request with another Host still goes to the target
	}
	u.req.SetRequestURI(scheme + "://" + authority + q.Path)
	if host != "" && host != authority {
		u.req.SetHost(host)
	}
	for _, f := range q.Header {
		h.Add(f.Name, f.Value)
	}
	u.req.SetBodyRaw(q.Body)
	u.req.SetTimeout(u.timeout(q, due))
}

// timeout returns how long a call may take. It counts from when the request was due.
func (u *user) timeout(q *script.Request, due time.Time) time.Duration {
	timeout := q.Timeout
	if timeout == 0 {
		timeout = u.options.Timeout
	}
	if timeout == 0 {
		timeout = defaultTimeout
	}
	if !due.IsZero() {
		timeout = max(timeout-time.Since(due), time.Nanosecond)
	}
	return timeout
}

// began counts a request that is about to be sent.
func (u *user) began(q *script.Request, due time.Time) {
	rec := u.recorder
	rec.mu.Lock()
	defer rec.mu.Unlock()
	s := rec.series(u.index, q.Kind)
	s.Due++
	s.Sent++
	rec.inFlight++
	if !due.IsZero() {
		rec.period.Lag.Add(time.Since(due))
	}
}

// outcome is what happened to a request.
type outcome struct {
	due, sent, end time.Time
	times
	err error
	cut bool
}

// begun returns when the client began to write the request: it may have waited for a connection before.
func (o *outcome) begun() time.Time {
	if o.got.After(o.sent) {
		return o.got
	}
	return o.sent
}

// ended records the outcome.
func (u *user) ended(q *script.Request, o outcome) {
	rec := u.recorder
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.inFlight--
	s := rec.series(u.index, q.Kind)
	s.BytesOut += requestSize(q, u.options.Authority)
	s.Raced += int64(max(o.gots-1, 0))
	if o.opened {
		rec.period.Opened++
		if o.resumed {
			rec.period.Resumed++
		}
	}
	switch {
	case o.cut:
		s.Aborted++
	case o.err != nil:
		s.Fail(kindOf(o.err), o.end, o.err.Error())
	default:
		u.done(s, q, o)
	}
}

// done records a complete response.
func (u *user) done(s *result.Series, q *script.Request, o outcome) {
	status := u.resp.StatusCode()
	s.Done++
	s.Status[status]++
	s.BodyIn += u.out.Size
	s.BytesIn += u.out.Size + headSize(u.resp)
	if q.Expect.Has(status) {
		s.Response.Add(o.end.Sub(o.due))
		s.Service.Add(o.end.Sub(o.begun()))
	} else {
		s.Unexpected++
		s.UnexpectedResponse.Add(o.end.Sub(o.due))
	}
	p := &s.Phases
	if !o.got.IsZero() {
		p.Blocked.Add(o.got.Sub(o.sent) - o.connect - o.times.tls)
	}
	if o.connect > 0 {
		p.Connect.Add(o.connect)
	}
	if o.times.tls > 0 {
		p.TLS.Add(o.times.tls)
	}
	if !o.wrote.IsZero() && !o.firstBytes.IsZero() {
		p.Sending.Add(o.wrote.Sub(o.got))
		p.Waiting.Add(o.firstBytes.Sub(o.wrote))
		p.Receiving.Add(o.end.Sub(o.firstBytes))
	}
}

// defaultMaxBody is how much of a body is kept for a script.
const defaultMaxBody = 1 << 20

// reply fills in the response for the script.
func (u *user) reply(q *script.Request, err error) {
	out := &u.out
	*out = script.Response{Err: err, Header: out.Header[:0]}
	if err != nil {
		return
	}
	out.Status = u.resp.StatusCode()
	body := u.resp.Body()
	out.Size = int64(len(body))
	keep := q.KeepBody
	if keep < 0 {
		keep = defaultMaxBody
		if u.options.MaxBody > 0 {
			keep = u.options.MaxBody
		}
	}
	out.Body = body[:min(len(body), keep)]
	if q.KeepHead {
		for name, value := range u.resp.Header.All() {
			out.Header = append(out.Header, script.Field{Name: string(name), Value: string(value)})
		}
	}
}

// requestSize returns the length of a request in HTTP/1.1. In HTTP/2, heads are shorter.
func requestSize(q *script.Request, authority string) int64 {
	if q.Wire != nil {
		return int64(len(q.Wire))
	}
	if q.Authority != "" {
		authority = q.Authority
	}
	n := len(q.Method) + len(q.Path) + len("  HTTP/1.1\r\nHost: \r\n\r\n") + len(authority) + len(q.Body)
	for _, f := range q.Header {
		n += len(f.Name) + len(f.Value) + len(": \r\n")
	}
	return int64(n)
}

// headSize returns the length of the head of a response in HTTP/1.1.
func headSize(resp *gallop.Response) int64 {
	n := len("HTTP/1.1 200 \r\n\r\n") + len(gallop.StatusMessage(resp.StatusCode()))
	for name, value := range resp.Header.All() {
		n += len(name) + len(value) + len(": \r\n")
	}
	return int64(n)
}
