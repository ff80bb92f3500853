package middleware

import (
	"time"

	"github.com/gallop-http/gallop"
)

// fill gets the response from the handler, or from another request that is already getting it.
func (x *exchange) fill() error {
	d := x.cache
	until := time.Now().Add(d.Wait)
	for {
		f, first := d.flights.join(x.flightKey())
		if first {
			return x.lead(f, until)
		}
		if x.use() == reuseWhileRevalidating {
			return x.serve(&x.found, "; hit", true)
		}
		result, err := x.wait(f, until)
		if result.kind == flightLate {
			d.passed.add(x.passKey()) // it may be a stream without an end
		}
		switch {
		case err != nil:
			return err
		case result.kind == flightStored && !result.response.meta.noCache && x.matches(&result):
			return x.serve(&result.response, "; fwd="+x.why()+"; collapsed", false)
		case result.kind == flightFailed && x.has && x.found.meta.helpsError(&x.control, time.Now().UnixNano()):
			return x.serve(&x.found, "; fwd=stale; collapsed", false)
		case result.kind != flightGone && result.kind != flightStored || result.response.meta.noCache:
			return x.forward()
		}
		if err := x.look(); err != nil { // because the client of the other request is gone, or the URI has got variants
			return x.withoutStore(err)
		}
		if use := x.use(); use == reuseFresh || use == reuseStale {
			return x.serve(&x.found, "; hit", true)
		}
	}
}

// matches reports whether a response that another request got is the one for this request.
func (x *exchange) matches(result *flightResult) bool {
	m := &result.response.meta
	if m.guessed && x.asUser {
		return false
	}
	if x.control.maxAge != unset && m.age(time.Now().UnixNano()) > x.control.maxAge {
		return false
	}
	return len(result.names) == 0 || variantOf(&x.r.Request.Header, result.names) == result.variant
}

// wait waits for another request.
func (x *exchange) wait(f *flight, until time.Time) (flightResult, error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-f.done:
		return f.result, nil
	case <-timer.C:
		return flightResult{kind: flightLate}, nil
	case <-x.c.Done():
		return flightResult{}, x.c.Err()
	}
}

// lead gets the response from the handler, on behalf of all requests that wait for f.
func (x *exchange) lead(f *flight, until time.Time) (err error) {
	d := x.cache
	result := flightResult{kind: flightFailed} // if the handler panics
	defer func() { d.flights.end(f, result) }()
	lease, use, err := x.claim(f, until)
	switch {
	case err != nil:
		d.flights.end(f, flightResult{kind: flightGone}) // before the handler runs
		return x.withoutStore(err)
	case use: // another request was faster
		result.kind = flightGone
		return x.serve(&x.found, "; hit", true)
	}
	defer lease.end(x)
	result, err = x.run(true)
	switch {
	case err != nil && x.c.Err() != nil: // the client is gone, and another request has to try
		result.kind = flightGone
	case result.kind == flightPassed:
		d.passed.add(x.passKey())
	}
	return err
}

// run runs the handler and stores the response. If whole is true, the handler does not see the conditions of the client, because the cache
// needs the whole response. If there is a stale response with validators, the handler can validate it.
func (x *exchange) run(whole bool) (result flightResult, err error) {
	validates := x.has && x.found.meta.validators && x.found.status == gallop.StatusOK
	if whole || validates {
		x.hideConditions(validates)
		defer x.showConditions()
	}
	before, asked := snapshotOf(&x.r.Response.Header), time.Now()
	result.kind = flightFailed
	err = x.c.Next()
	if x.canHelp(err) {
		x.showConditions()
		return result, x.help(err)
	}
	parameters := "; fwd=" + x.why()
	if err != nil {
		if !isFailure(statusOf(err, 0)) {
			result.kind = flightPassed
		}
		x.status(parameters)
		return result, err
	}
	if validates && x.r.Response.StatusCode() == gallop.StatusNotModified && !isTaken(x.r) {
		x.merge(before)
		parameters += "; fwd-status=304"
	}
	if result = x.keep(before, asked); result.kind == flightStored {
		parameters += "; stored"
	}
	x.status(parameters)
	if x.hidden && !isTaken(x.r) && x.r.Response.StatusCode() == gallop.StatusOK {
		x.showConditions()
		x.chooseCondition()
	}
	return result, nil
}

// conditions are the headers by which a client asks whether its copy of a response is current.
var conditions = [...]string{gallop.HeaderIfNoneMatch, gallop.HeaderIfModifiedSince}

// hideConditions removes the conditions of the client from the request. If validates is true, it adds the conditions that validate the
// stored response.
func (x *exchange) hideConditions(validates bool) {
	h := &x.r.Request.Header
	x.hidden = true
	for i, name := range conditions {
		for _, line := range h.PeekAll(name) {
			x.conditions[i] = append(x.conditions[i], string(line))
		}
		h.Del(name)
	}
	if !validates {
		return
	}
	if tag := x.found.get(nameETag); len(tag) > 0 {
		h.SetBytesV(gallop.HeaderIfNoneMatch, tag)
	}
	if modified := x.found.get(gallop.HeaderLastModified); len(modified) > 0 {
		h.SetBytesV(gallop.HeaderIfModifiedSince, modified)
	}
}

// nameETag is ETag in the spelling of Header.All.
const nameETag = "Etag"

// showConditions puts the conditions of the client back into the request.
func (x *exchange) showConditions() {
	if !x.hidden {
		return
	}
	x.hidden = false
	h := &x.r.Request.Header
	for i, name := range conditions {
		h.Del(name)
		for _, line := range x.conditions[i] {
			h.Add(name, line)
		}
	}
}

// merge makes the response, a 304, the stored response with the headers of the 304 (RFC 9111 §4.3.4).
func (x *exchange) merge(before *snapshot) {
	h := &x.r.Response.Header
	for _, name := range ofBody {
		h.Del(name)
	}
	updated := before.changed(h)
	for rest := x.found.lines; len(rest) > 0; {
		var mode byte
		var name, value []byte
		mode, name, value, rest, _ = cutLine(rest)
		switch {
		case string(name) == gallop.HeaderDate || updated[string(name)]:
			continue
		case mode == lineSet:
			h.SetBytesKV(name, value)
		default:
			h.AddBytesKV(name, value)
		}
	}
	x.r.SetStatusCode(x.found.status)
	x.r.Response.SetBodyRaw(x.found.body)
}

// ofBody are headers that belong to the stored body, so that a 304 does not update them (RFC 9111 §3.2).
var ofBody = [...]string{
	gallop.HeaderContentEncoding, gallop.HeaderContentRange, gallop.HeaderETag, "Content-MD5", "Content-Digest", "Repr-Digest", "Digest",
}
