package result

import (
	"maps"
	"slices"
	"time"
)

// Series is what happened to the requests of one scenario with one name. An engine fills one per thread; Merge adds them up.
// Sent = Ended() + InFlight at any moment, where InFlight is 0 at the end of a run.
type Series struct {
	Scenario string            `json:"scenario"`
	Name     string            `json:"name"`
	Method   string            `json:"method,omitempty"`
	Proto    string            `json:"proto,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`

	Due     int64 `json:"due"`     // requests that were due, including Dropped ones
	Dropped int64 `json:"dropped"` // due, but not sent because a named limit was reached
	Sent    int64 `json:"sent"`
	Done    int64 `json:"done"`             // complete responses with any status
	Failed  int64 `json:"failed"`           // no complete response: see Errors
	Aborted int64 `json:"aborted"`          // in flight when the run ended
	Resets  int64 `json:"resets,omitempty"` // the script wanted their connections to be reset
	Raced   int64 `json:"raced"`            // sent again because the server had closed an idle connection meanwhile

	Unexpected int64         `json:"unexpected"` // part of Done: responses with a status that was not expected
	Status     map[int]int64 `json:"status,omitempty"`
	Errors     []Error       `json:"errors,omitempty"`
	Checks     []Check       `json:"checks,omitempty"`

	Response           Histogram `json:"response"`            // from when the request was due (closed loop: was sent) to the last byte; expected responses
	Service            Histogram `json:"service"`             // from when the request was sent to the last byte; expected responses
	UnexpectedResponse Histogram `json:"unexpected_response"` // like Response; responses with an unexpected status
	Phases             Phases    `json:"phases"`

	BytesOut int64 `json:"bytes_out"` // bytes of requests as sent, without TLS
	BytesIn  int64 `json:"bytes_in"`  // bytes of responses as received, without TLS
	BodyIn   int64 `json:"body_in"`   // part of BytesIn: bytes of bodies
}

// Phases splits requests as k6 does. The histograms are coarse.
type Phases struct {
	Blocked   Histogram `json:"blocked"`   // waiting for a free connection
	Connect   Histogram `json:"connect"`   // only for requests that opened a connection
	TLS       Histogram `json:"tls"`       // only for requests that opened a connection
	Sending   Histogram `json:"sending"`   // writing the request
	Waiting   Histogram `json:"waiting"`   // from the end of Sending to the first byte of the response
	Receiving Histogram `json:"receiving"` // from the first to the last byte of the response
}

func (p *Phases) all() [6]*Histogram {
	return [6]*Histogram{&p.Blocked, &p.Connect, &p.TLS, &p.Sending, &p.Waiting, &p.Receiving}
}

// Error counts one kind of failure.
type Error struct {
	Kind    string    `json:"kind"` // timeout, refused, reset, closed, protocol, tls, dns, local (this machine), other
	Count   int64     `json:"count"`
	First   time.Time `json:"first"`
	Example string    `json:"example"`
}

// Check counts the outcomes of one check.
type Check struct {
	Name    string `json:"name"`
	Pass    int64  `json:"pass"`
	Fail    int64  `json:"fail"`
	Example string `json:"example,omitempty"` // of the first failure: head and beginning of the body
}

// NewSeries creates an empty series.
func NewSeries(scenario, name string) *Series {
	s := &Series{Scenario: scenario, Name: name, Status: map[int]int64{}}
	for _, h := range s.Phases.all() {
		h.Coarse()
	}
	s.UnexpectedResponse.Coarse()
	return s
}

// Ended returns how many of the sent requests are no longer in flight.
func (s *Series) Ended() int64 { return s.Done + s.Failed + s.Aborted + s.Resets }

// Fail counts a failed request.
func (s *Series) Fail(kind string, now time.Time, example string) {
	s.Failed++
	s.addError(Error{kind, 1, now, example})
}

func (s *Series) addError(e Error) {
	for i := range s.Errors {
		known := &s.Errors[i]
		if known.Kind == e.Kind {
			known.Count += e.Count
			if e.First.Before(known.First) {
				known.First, known.Example = e.First, e.Example
			}
			return
		}
	}
	s.Errors = append(s.Errors, e)
}

// Check counts the outcome of a check. The example is called only for the first failure.
func (s *Series) Check(name string, ok bool, example func() string) {
	i := slices.IndexFunc(s.Checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		i = len(s.Checks)
		s.Checks = append(s.Checks, Check{Name: name})
	}
	switch c := &s.Checks[i]; {
	case ok:
		c.Pass++
	default:
		if c.Fail++; c.Fail == 1 {
			c.Example = example()
		}
	}
}

// Merge adds another series of the same scenario and name.
func (s *Series) Merge(from *Series) {
	s.Due += from.Due
	s.Dropped += from.Dropped
	s.Sent += from.Sent
	s.Done += from.Done
	s.Failed += from.Failed
	s.Aborted += from.Aborted
	s.Resets += from.Resets
	s.Raced += from.Raced
	s.Unexpected += from.Unexpected
	s.BytesOut += from.BytesOut
	s.BytesIn += from.BytesIn
	s.BodyIn += from.BodyIn
	for code, n := range from.Status {
		if s.Status == nil {
			s.Status = map[int]int64{}
		}
		s.Status[code] += n
	}
	for _, e := range from.Errors {
		s.addError(e)
	}
	for _, c := range from.Checks {
		s.mergeCheck(c)
	}
	s.Response.Merge(&from.Response)
	s.Service.Merge(&from.Service)
	s.UnexpectedResponse.Merge(&from.UnexpectedResponse)
	to, other := s.Phases.all(), from.Phases.all()
	for i := range to {
		to[i].Merge(other[i])
	}
}

func (s *Series) mergeCheck(c Check) {
	for i := range s.Checks {
		if known := &s.Checks[i]; known.Name == c.Name {
			known.Pass, known.Fail = known.Pass+c.Pass, known.Fail+c.Fail
			if known.Example == "" {
				known.Example = c.Example
			}
			return
		}
	}
	s.Checks = append(s.Checks, c)
}

// Reset empties the series and keeps its names and its memory.
func (s *Series) Reset() {
	histograms := []*Histogram{&s.Response, &s.Service, &s.UnexpectedResponse}
	all := s.Phases.all()
	for _, h := range append(histograms, all[:]...) {
		h.Reset()
	}
	status := s.Status
	clear(status)
	*s = Series{Scenario: s.Scenario, Name: s.Name, Method: s.Method, Proto: s.Proto, Tags: s.Tags, Status: status,
		Response: s.Response, Service: s.Service, UnexpectedResponse: s.UnexpectedResponse, Phases: s.Phases}
}

// SortedStatus returns the statuses in ascending order.
func (s *Series) SortedStatus() []int { return slices.Sorted(maps.Keys(s.Status)) }
