//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// good returns a verdict about a run without any fault.
func good(t *testing.T) *verdict {
	t.Helper()
	r := &rudeResult{wrong: map[string]int{}, slow: make([]slowResult, len(slowKinds))}
	r.refused.Add(1)
	r.cut.Add(1)
	o := &outcome{name: "keep-alive"}
	const result = `{"series": [{"name": "get", "sent": 9, "done": 9, "checks": [{"name": "body = ok", "pass": 9}], "response": {"p50": 1000, "p99": 2000000}}]}`
	if err := json.Unmarshal([]byte(result), o); err != nil {
		t.Fatal(err)
	}
	v := &verdict{options: options{length: 10 * time.Minute, share: .7}, busy: .7, results: []*outcome{o}, rude: r}
	for i := range 600 {
		v.samples = append(v.samples, sample{at: time.Duration(i) * time.Second, resident: 30<<20 + i%7*4096})
	}
	return v
}

// TestJudge has one fault at a time.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		missed string // "" if there is no fault
		change func(*verdict)
	}{
		{"", func(*verdict) {}},
		{"", func(v *verdict) { // memory that grows only at the beginning
			for i := range 60 {
				v.samples[i].resident = 10 << 20
			}
		}},
		{"", func(v *verdict) { // a short run
			v.length = time.Minute
			for i := range v.samples {
				v.samples[i].resident += i * 5000
			}
		}},
		{"memory grew from ", func(v *verdict) {
			for i := range v.samples {
				v.samples[i].resident += i * 5000
			}
		}},
		{"memory grew from 0.0", func(v *verdict) { v.samples = nil }},
		{"keep-alive, get: 1 responses differ", func(v *verdict) { v.results[0].Series[0].Checks[0].Fail = 1 }},
		{"keep-alive, get: 2 responses with another status", func(v *verdict) { v.results[0].Series[0].Unexpected = 2 }},
		{"keep-alive, get: 1 requests lost", func(v *verdict) { v.results[0].Series[0].Sent++ }},
		{"keep-alive: 3 requests were not sent", func(v *verdict) { v.results[0].Series[0].Dropped = 3 }},
		{"keep-alive, get: no response", func(v *verdict) { v.results[0].Series[0].Done, v.results[0].Series[0].Sent = 0, 0 }},
		{"the server was busy for 30 %", func(v *verdict) { v.busy = .3 }},
		{"1 descriptors are still open", func(v *verdict) { v.left = 1 }},
		{"4× no Host: stays open", func(v *verdict) { v.rude.wrong["no Host: stays open"] = 4 }},
		{"no malformed", func(v *verdict) { v.rude.refused.Store(0) }},
	} {
		v := good(t)
		test.change(v)
		v.judge(io.Discard)
		missed := strings.Join(v.missed, "; ")
		if (test.missed == "") != (missed == "") || !strings.Contains(missed, test.missed) {
			t.Errorf("missed %q, want %q", missed, test.missed)
		}
		if word, _, _ := strings.Cut(v.line(), " "); (word == "PASS") != (test.missed == "") {
			t.Errorf("%s", v.line())
		}
	}
	v := good(t)
	for i := range v.samples {
		v.samples[i].resident = 30<<20 + i*1024
	}
	var text bytes.Buffer
	v.judge(&text)
	if !strings.Contains(v.line(), "slope +60.0 KiB/min") || !strings.Contains(text.String(), "2ms  get") {
		t.Errorf("%s\n%s", v.line(), &text)
	}
}

// TestRude has a server that accepts everything and closes nothing.
func TestRude(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 1<<20))
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}()
		}
	}()
	r := startRude(ln.Addr().String(), 1, 1)
	time.Sleep(500 * time.Millisecond)
	r.stop()
	result := r.end()
	if result.refused.Load() != 0 || len(result.wrong) == 0 || result.cut.Load() == 0 {
		t.Errorf("%d refused, %d cut, %v", result.refused.Load(), result.cut.Load(), result.wrong)
	}
}
