package result

import (
	"encoding/json"
	"testing"
	"time"
)

// part returns the result of one of several processes.
func part(seed uint64, started time.Time) *Result {
	s := NewSeries("main", "hello")
	fill(&s.Response, random(1000, seed))
	s.Due, s.Sent, s.Done, s.Status[200] = 1000, 1000, 1000, 1000
	s.Checks = []Check{{Name: "c", Pass: 999, Fail: 1, Example: "x"}}
	s.Fail("reset", started.Add(time.Second), "r")
	r := &Result{Schema: Schema, Target: Target{URL: "http://a/"}, Plan: Plan{Parts: 1, Connections: 5}, Started: started, Ended: started.Add(10 * time.Second), Series: []*Series{s},
		Scenarios: []Scenario{{Name: "main", Executor: "constant-vus", VUs: 5, Rate: 2, Users: Users{Iterations: 1000, Most: 5}}},
		Seconds:   []Second{{T: 0, Length: time.Second, Done: 10, P99: time.Duration(seed+1) * time.Millisecond, Heat: []int64{1, 2}}, {T: time.Duration(seed+1) * time.Second, Done: 5}},
		Generator: Generator{CPU: time.Second, Saturated: seed == 1}, Server: &Server{PID: 7, CPU: 2 * time.Second}, Warnings: []string{"w"}}
	r.Generator.Lag.Add(time.Millisecond)
	return r
}

func TestMergeResults(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a, b := part(0, start.Add(time.Second)), part(1, start)
	whole := &Histogram{}
	fill(fill(whole, random(1000, 0)), random(1000, 1))
	data, err := json.Marshal(b) // as from a file
	if err != nil {
		t.Fatal(err)
	}
	read := &Result{}
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	if err := a.Merge(read); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(whole)
	if got, _ := json.Marshal(&a.Series[0].Response); string(got) != string(want) {
		t.Errorf("merged latencies\n%s\nare not\n%s", got, want)
	}
	s := a.Series[0]
	if len(a.Series) != 1 || s.Done != 2000 || s.Checks[0].Pass != 1998 || s.Errors[0].Count != 2 || !s.Errors[0].First.Equal(start.Add(time.Second)) {
		t.Errorf("%+v", s)
	}
	if sc := a.Scenarios[0]; len(a.Scenarios) != 1 || sc.VUs != 10 || sc.Rate != 4 || sc.Users.Iterations != 2000 || sc.Users.Most != 10 {
		t.Errorf("%+v", sc)
	}
	if a.Plan.Parts != 2 || a.Plan.Connections != 10 || !a.Started.Equal(start) || a.Elapsed() != 11*time.Second || len(a.Warnings) != 1 {
		t.Errorf("%+v, %v, %v", a.Plan, a.Elapsed(), a.Warnings)
	}
	if sec := a.Seconds; len(sec) != 3 || sec[0].Done != 20 || sec[0].P99 != 2*time.Millisecond || sec[0].Heat[1] != 4 || sec[1].T != time.Second || sec[2].T != 2*time.Second {
		t.Errorf("%+v", sec)
	}
	if g := a.Generator; g.CPU != 2*time.Second || !g.Saturated || g.Lag.Count() != 2 || g.PerCall != time.Millisecond || a.Server.CPU != 2*time.Second {
		t.Errorf("%+v %+v", g, a.Server)
	}
}

func TestResultsThatDoNotMerge(t *testing.T) {
	start := time.Now()
	for name, change := range map[string]func(*Result){
		"target":   func(r *Result) { r.Target.URL = "http://b/" },
		"warm-up":  func(r *Result) { r.Plan.WarmUp = time.Second },
		"executor": func(r *Result) { r.Scenarios[0].Executor = "ramping-vus" },
	} {
		a, b := part(0, start), part(1, start)
		change(b)
		if err := a.Merge(b); err == nil {
			t.Errorf("results with another %s merge", name)
		}
	}
}
