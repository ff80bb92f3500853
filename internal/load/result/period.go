package result

import "time"

// Period is what one thread of an engine counted within about a second. Engines create one with NewPeriod, fill it without
// locks, send it to the collector when it is over, and fill another one meanwhile.
type Period struct {
	Start  time.Duration // since the start of the run
	End    time.Duration
	Cut    uint64    // number of the latest Control.Cut before the end
	Series []*Series // by index of the request over all scenarios
	Users  []Users   // by scenario
	Lag    Histogram // of open loops: how late requests were sent although nothing but the generator held them up; coarse

	Opened    int64         // connections opened
	Resumed   int64         // part of Opened: with a resumed TLS session
	Closed    int64         // connections closed by the peer while idle
	Conns     int64         // connections open at the end of the period
	InFlight  int64         // requests in flight at the end of the period
	CPU       time.Duration // CPU time of the whole process in this period; set by one thread only
	ServerCPU time.Duration // CPU time of the server, if it is watched; set by one thread only
	ServerRSS int64         // memory of the server in bytes at the end of the period
}

// Users is what the users of one scenario did.
type Users struct {
	Iterations  int64     `json:"iterations"`  // complete ones
	Interrupted int64     `json:"interrupted"` // cut off at the end of the run
	Dropped     int64     `json:"dropped"`     // open loops: not started because MaxVUs users were busy
	Active      int64     `json:"active"`      // users at the end of the period; in a result: at the end of the run
	Most        int64     `json:"most"`        // users at most
	Length      Histogram `json:"length"`      // duration of complete iterations; coarse
}

// Merge adds the counts of another thread or period. Active and Most are added up as well, as threads need it.
func (u *Users) Merge(from *Users) {
	u.Iterations += from.Iterations
	u.Interrupted += from.Interrupted
	u.Dropped += from.Dropped
	u.Active += from.Active
	u.Most += from.Most
	u.Length.Merge(&from.Length)
}

// NewPeriod creates an empty period for these requests. The slice names holds one name list per scenario.
func NewPeriod(scenarios []string, names [][]string) *Period {
	p := &Period{Users: make([]Users, len(scenarios))}
	for i, scenario := range scenarios {
		p.Users[i].Length.Coarse()
		for _, name := range names[i] {
			p.Series = append(p.Series, NewSeries(scenario, name))
		}
	}
	p.Lag.Coarse()
	return p
}

// Reset empties the period and keeps its memory.
func (p *Period) Reset() {
	for _, s := range p.Series {
		s.Reset()
	}
	for i := range p.Users {
		length := p.Users[i].Length
		length.Reset()
		p.Users[i] = Users{Length: length}
	}
	p.Lag.Reset()
	*p = Period{Series: p.Series, Users: p.Users, Lag: p.Lag}
}
