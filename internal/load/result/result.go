// Package result holds what a load has measured: histograms, counts for each request, and the result of a whole run with its
// file format. Results of several processes merge exactly.
//
//	histogram.go   durations
//	series.go      the requests with one name
//	period.go      what an engine reports each second
//	result.go      the result of a run, and its file
package result

import "time"

// Schema is the version of the file format. It changes when a field changes its meaning.
const Schema = 1

// Result is the result of a run. In files, durations are nanoseconds.
type Result struct {
	Schema  int       `json:"schema"`
	Tool    Tool      `json:"tool"`
	Host    Host      `json:"host"`
	Target  Target    `json:"target"`
	Plan    Plan      `json:"plan"`
	Started time.Time `json:"started"` // end of the warm-up
	Ended   time.Time `json:"ended"`
	ByHand  bool      `json:"by_hand,omitempty"` // somebody changed the rate or paused the run

	Scenarios   []Scenario  `json:"scenarios"`
	Series      []*Series   `json:"series"`
	Seconds     []Second    `json:"seconds"`
	Connections Connections `json:"connections"`
	Generator   Generator   `json:"generator"`
	Server      *Server     `json:"server,omitempty"`
	Thresholds  []Threshold `json:"thresholds,omitempty"`
	Warnings    []string    `json:"warnings,omitempty"` // reasons to doubt the figures
}

// Tool is the program that produced the result.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Go      string `json:"go"`
	Engine  string `json:"engine"` // raw or client
}

// Host is the machine of the generator.
type Host struct {
	OS         string  `json:"os"`
	Kernel     string  `json:"kernel,omitempty"`
	CPU        string  `json:"cpu,omitempty"`
	CPUs       int     `json:"cpus"` // that this process may use
	LoadBefore float64 `json:"load_before"`
}

// Target is what was put under load.
type Target struct {
	URL   string `json:"url"`
	Proto string `json:"proto"` // HTTP/1.1 or HTTP/2
	TLS   string `json:"tls,omitempty"`
	Peer  string `json:"peer,omitempty"` // address of the first connection
}

// Plan summarises what was asked for.
type Plan struct {
	Name        string        `json:"name,omitempty"`
	WarmUp      time.Duration `json:"warm_up"`
	Connections int           `json:"connections,omitempty"`
	Streams     int           `json:"streams,omitempty"`
	Pipeline    int           `json:"pipeline,omitempty"`
	Parts       int           `json:"parts"` // number of processes whose results were merged; 1 for a single process
}

// Scenario is the outcome of one scenario.
type Scenario struct {
	Name     string        `json:"name"`
	Executor string        `json:"executor"`
	Open     bool          `json:"open"` // latencies count from when requests were due
	VUs      int           `json:"vus,omitempty"`
	Rate     float64       `json:"rate,omitempty"` // asked for, in iterations per second on average
	Start    time.Duration `json:"start"`
	Duration time.Duration `json:"duration"`
	Users    Users         `json:"users"`
}

// Second is a row of the time line: what happened between T and T plus Length.
type Second struct {
	T        time.Duration `json:"t"`
	Length   time.Duration `json:"length"`
	Due      int64         `json:"due"`
	Sent     int64         `json:"sent"`
	Done     int64         `json:"done"`
	Failed   int64         `json:"failed"` // errors and unexpected statuses
	P50      time.Duration `json:"p50"`
	P90      time.Duration `json:"p90"`
	P99      time.Duration `json:"p99"`
	Max      time.Duration `json:"max"`
	Users    int64         `json:"users"`
	Conns    int64         `json:"conns"`
	InFlight int64         `json:"in_flight"`
	Opened   int64         `json:"opened,omitempty"`         // connections
	Closed   int64         `json:"closed_by_peer,omitempty"` // connections that were idle
	Lag      time.Duration `json:"lag"`                      // the longest
	CPU      time.Duration `json:"cpu"`
	Server   time.Duration `json:"server_cpu,omitempty"`
	Heat     []int64       `json:"heat,omitempty"` // responses by HeatRow of their latency
}

// Connections counts connections.
type Connections struct {
	Opened       int64 `json:"opened"`
	Resumed      int64 `json:"resumed"`
	ClosedByPeer int64 `json:"closed_by_peer"`
}

// Generator is what the load generator itself consumed. If it was saturated, the latencies include its own delays.
type Generator struct {
	CPU       time.Duration `json:"cpu"`
	PerCall   time.Duration `json:"cpu_per_request"`
	Lag       Histogram     `json:"lag"`
	GCPause   time.Duration `json:"gc_pause"`
	MaxRSS    int64         `json:"max_rss"`
	Saturated bool          `json:"saturated"`
}

// Server is what a server on the same machine consumed.
type Server struct {
	PID     int           `json:"pid"`
	CPU     time.Duration `json:"cpu"`
	PerCall time.Duration `json:"cpu_per_request"`
	MaxRSS  int64         `json:"max_rss"`
}

// Threshold is the outcome of a threshold.
type Threshold struct {
	Metric string  `json:"metric"` // with its tags in braces, if any
	Expr   string  `json:"expr"`
	OK     bool    `json:"ok"`
	Value  float64 `json:"value"`           // in milliseconds for durations, like the expression
	Abort  bool    `json:"abort,omitempty"` // the run was aborted because of it
}

// HeatRows is the number of rows of Second.Heat.
const HeatRows = 24

// HeatRow returns the row of a latency: row 0 ends at 10 µs, and each further row is twice as long. The last row has no end.
func HeatRow(d time.Duration) int {
	row := 0
	for top := 10 * time.Microsecond; d > top && row < HeatRows-1; top *= 2 {
		row++
	}
	return row
}

// Total merges all series into one, which has no names.
func (r *Result) Total() *Series {
	total := NewSeries("", "")
	for _, s := range r.Series {
		total.Merge(s)
	}
	return total
}

// Elapsed returns how long requests were sent.
func (r *Result) Elapsed() time.Duration { return r.Ended.Sub(r.Started) }
