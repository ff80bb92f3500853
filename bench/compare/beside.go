//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// beside is a load whose latencies are those of a goroutine in the server's process. With 0 connections there is no
// load.
type beside struct{ load loader }

type besideRunning struct {
	running
	target
}

// noLoad does nothing for the length of a round.
type noLoad struct{ length time.Duration }

func (l noLoad) measure() (outcome, error) {
	time.Sleep(l.length)
	return outcome{}, nil
}

func (noLoad) stop() {}

func (b beside) start(t target) (running, error) {
	if t.conns == 0 {
		time.Sleep(warmUp)
		return besideRunning{noLoad{t.length}, t}, nil
	}
	r, err := b.load.start(t)
	return besideRunning{r, t}, err
}

func (b besideRunning) measure() (o outcome, err error) {
	if _, err := b.ask(); err != nil { // discard the measurements before the round
		return o, err
	}
	if o, err = b.running.measure(); err != nil {
		return o, err
	}
	l, err := b.ask()
	o.p50, o.p95, o.p99 = l.P50, l.P95, l.P99
	return o, err
}

// besideLatencies are the latencies that cmd/peer reports for its goroutine.
type besideLatencies struct {
	Count         int
	P50, P95, P99 time.Duration
}

// ask returns the goroutine's measurements since the last call.
func (b besideRunning) ask() (l besideLatencies, err error) {
	resp, err := http.Get("http://" + b.address + "/beside")
	if err != nil {
		return l, err
	}
	defer resp.Body.Close()
	if err = json.NewDecoder(resp.Body).Decode(&l); err == nil && l.Count == 0 {
		err = fmt.Errorf("the goroutine beside %s did not run", b.address)
	}
	return l, err
}
