package threshold

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// sample is a result of 10 s with two requests: hello takes 1 ms to 100 ms, and 406 fails half of its responses.
func sample() *result.Result {
	hello, odd := result.NewSeries("main", "hello"), result.NewSeries("other", "odd")
	for i := range 100 {
		hello.Response.Add(time.Duration(i+1) * time.Millisecond)
		hello.Service.Add(time.Duration(i+1) * time.Microsecond)
	}
	hello.Method, hello.Done, hello.Status = "GET", 100, map[int]int64{200: 100}
	hello.Checks = []result.Check{{Name: "a", Pass: 90, Fail: 10}, {Name: "b", Pass: 100}}
	hello.Phases.Waiting.Add(7 * time.Millisecond)
	odd.Done, odd.Unexpected, odd.Failed, odd.BytesIn, odd.Tags = 20, 10, 5, 4096, map[string]string{"kind": "write"}
	odd.Status = map[int]int64{200: 10, 406: 10}
	for range 10 {
		odd.Response.Add(time.Second)
		odd.UnexpectedResponse.Add(2 * time.Second)
	}
	r := &result.Result{Series: []*result.Series{hello, odd}, Started: time.Unix(0, 0), Ended: time.Unix(10, 0),
		Scenarios: []result.Scenario{{Name: "main", Users: result.Users{Iterations: 100, Active: 3, Most: 5}}, {Name: "other", Users: result.Users{Iterations: 20, Dropped: 2, Most: 1}}},
		Server:    &result.Server{CPU: 5 * time.Second, MaxRSS: 1 << 20}}
	r.Scenarios[0].Users.Length.Add(time.Second)
	r.Generator.Lag.Add(time.Millisecond)
	return r
}

func TestValues(t *testing.T) {
	for line, want := range map[string]float64{
		"http_req_duration{name:hello}:p(95)<500": 95, "http_req_duration{name:hello}:p95<500": 95, "http_req_duration{name:hello}: avg < 1s": 50.5,
		"http_req_duration{scenario:main,method:GET}:med<1": 50, "latency max<3s": 2000, "http_req_duration{expected_response:true}:max<1": 1000,
		"http_req_duration{expected_response:false}:min<1": 2000, "http_req_duration{kind:write}:min<1": 1000, "http_req_duration{name:hello}:p(99.9)<1": 100,
		"http_req_service{name:hello}:max<1ms": 0.1, "http_req_waiting:max<1": 7, "iteration_duration:avg<1": 1000, "lag:max<1": 1,
		"http_req_failed:rate<1%": 15. / 125, "errors{name:hello}:rate<0.01": 0, "checks:rate>0.9": 190. / 200, "checks{check:a}:rate>0.9": 0.9,
		"http_reqs:count>1k": 125, "http_reqs:rate>1": 12.5, "http_reqs{status:406}:count==0": 10, "http_reqs{expected_response:false}:count<1": 15,
		"iterations:count>1": 120, "iterations{scenario:other}:rate>1": 2, "dropped:count==0": 2, "dropped_iterations{scenario:main}:count===0": 0,
		"data_received:count<1MiB": 4096, "vus:value>0": 3, "vus_max:value>=5": 6, "cpu:value<90%": 50, "rss:value<100MiB": 1 << 20,
	} {
		th, err := ParseLine(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		got, ok := th.Value(sample())
		if diff := math.Abs(got - want); !ok || diff > want*0.011 {
			t.Errorf("%s: %v, %v, want %v", line, got, ok, want)
		}
	}
}

func TestConditions(t *testing.T) {
	for expr, want := range map[string]bool{
		"count<125": false, "count<=125": true, "count>125": false, "count>=125": true, "count==125": true, "count===125": true, "count!=125": false,
		"count<0.126k": true, "count > 1e2": true, "count<-5": false, "rate<12.6": true,
	} {
		th, err := Parse("http_reqs", expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if got := th.Evaluate(sample()); got.OK != want || got.Metric != "http_reqs" || got.Expr != expr {
			t.Errorf("%s: %+v", expr, got)
		}
	}
	for line, ok := range map[string]bool{"latency{name:never}:p(95)<1": false, "errors{name:never}:rate<1": false, "http_reqs{name:never}:count==0": true, "cpu:value<1": false} {
		th, err := ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		r := sample()
		r.Server = nil
		if got := th.Evaluate(r); got.OK != ok {
			t.Errorf("%s without data: %+v", line, got)
		}
	}
}

func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		"http_req_durations:p(95)<1": "there is no metric http_req_durations; there are", "http_req_duration": "write METRIC:EXPR",
		"http_req_duration:rate<1": "has avg, min, med, max, p, but not rate", "http_reqs:avg<1": "has count, rate, but not avg", "checks:count>1": "has rate, but not count",
		"http_req_duration:p(101)<1": "from 0 to 100", "http_req_duration:p(95)": "an aggregation, an operator and a value", "http_req_duration:p(95)<1xs": "no value of this metric",
		"http_req_duration{name}:avg<1": "a tag looks like", "http_req_duration{status:200}:avg<1": "no tag status", "iterations{name:x}:count>1": "no tag name", "vus{name:x}:value>1": "no tag name",
		"http_req_failed:rate<1ms": "no value of this metric", "http_reqs:count<.": "no value of this metric", "{}:a<1": "a metric looks like",
	} {
		if _, err := ParseLine(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// FuzzParseLine checks that no line panics, and that an accepted threshold can be evaluated.
func FuzzParseLine(f *testing.F) {
	for _, s := range []string{"http_req_duration{name:a}:p(95)<500", "dropped count==0", "checks{check:a b}:rate>99%", "{:}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if th, err := ParseLine(line); err == nil {
			th.Evaluate(sample())
			if _, err := Parse(th.Metric, th.Expr); err != nil {
				t.Errorf("%q is accepted, but not %q with %q: %v", line, th.Metric, th.Expr, err)
			}
		}
	})
}
