package middleware

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
)

// serve responds with a stored response. The parameters are those of Cache-Status; ttl adds how long the response is fresh.
func (x *exchange) serve(s *storedResponse, parameters string, ttl bool) error {
	x.write(s)
	now := time.Now().UnixNano()
	var room [64]byte
	age := min(max(s.meta.age(now), 0)/time.Second, maxDelta)
	x.r.Response.Header.SetBytesV(gallop.HeaderAge, strconv.AppendInt(room[:0], int64(age), 10))
	b := append(append(room[:0], statusName...), parameters...)
	if ttl {
		b = strconv.AppendInt(append(b, "; ttl="...), int64(s.meta.lifetime/time.Second-age), 10)
	}
	x.r.Response.Header.AddBytesV(headerCacheStatus, b)
	x.choose(s.body)
	return nil
}

// write puts a stored response into the response.
func (x *exchange) write(s *storedResponse) {
	h := &x.r.Response.Header
	x.r.SetStatusCode(s.status)
	for rest := s.lines; len(rest) > 0; {
		var mode byte
		var name, value []byte
		if mode, name, value, rest, _ = cutLine(rest); mode == lineSet {
			h.SetBytesKV(name, value)
		} else {
			h.AddBytesKV(name, value)
		}
	}
	x.r.Response.SetBodyRaw(s.body)
}

// choose makes the response a 304 or a part of the body, if the request asks for that and the status is 200.
func (x *exchange) choose(body []byte) {
	q, p := &x.r.Request.Header, &x.r.Response
	if p.StatusCode() != gallop.StatusOK {
		return
	}
	if q.IsGet() && len(q.Peek(gallop.HeaderRange)) > 0 {
		modified, _ := gallop.ParseHTTPDate(p.Header.Peek(gallop.HeaderLastModified))
		gallop.ServeContent(x.r, "", modified, bytes.NewReader(body))
		return
	}
	x.chooseCondition()
}

// chooseCondition makes the response a 304 if the client has it.
func (x *exchange) chooseCondition() {
	q := &x.r.Request.Header
	if len(q.Peek(gallop.HeaderIfNoneMatch)) == 0 && len(q.Peek(gallop.HeaderIfModifiedSince)) == 0 {
		return
	}
	if x.r.FailedCondition() == gallop.StatusNotModified {
		notModified(x.r)
	}
}

// canHelp reports whether the handler has failed and the stored response may be used instead.
func (x *exchange) canHelp(err error) bool {
	if !x.has || isTaken(x.r) || x.c.Err() != nil || !x.found.meta.helpsError(&x.control, time.Now().UnixNano()) {
		return false
	}
	return isFailure(statusOf(err, x.r.Response.StatusCode()))
}

// statusOf returns the status of an error, or the status of the response if there is no error.
func statusOf(err error, status int) int {
	var e *web.Error
	switch {
	case err == nil:
		return status
	case errors.As(err, &e):
		return e.Status
	}
	return gallop.StatusInternalServerError
}

// help responds with the stored response instead of a failure, and logs the failure.
func (x *exchange) help(err error) error {
	if err != nil && x.c.MarkErrorLogged() {
		x.c.Log().Error("the cache responds with a stale response, because the handler failed", "error", err)
	}
	failed := statusOf(err, x.r.Response.StatusCode())
	x.r.ResetBody()
	for _, name := range [...]string{gallop.HeaderContentEncoding, gallop.HeaderContentLength, gallop.HeaderCacheControl} {
		x.r.Response.Header.Del(name)
	}
	return x.serve(&x.found, "; fwd=stale; fwd-status="+strconv.Itoa(failed), false)
}
