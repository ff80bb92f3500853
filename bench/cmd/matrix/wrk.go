//go:build linux

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/child"
)

// outcome is what wrk has measured.
type outcome struct {
	sample
	requests int
	bytes    int
}

// sizeError is the error of a server whose responses have a wrong size.
type sizeError struct{ text string }

func (e sizeError) Error() string { return e.text }

// wrk runs wrk on core 1 and checks how many bytes came.
func (s *server) wrk(c cell, conns int, length time.Duration) (outcome, error) {
	cmd := exec.Command("wrk", "-t1", "-c"+strconv.Itoa(conns), fmt.Sprintf("-d%.0fs", max(length.Seconds(), 1)), "--timeout", "10s",
		"-s", filepath.Join("wrk", "matrix.lua"), "http://"+s.address+c.path())
	if err := child.Pin(cmd, 1); err != nil {
		return outcome{}, err
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return outcome{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	o, err := parseWrk(string(out))
	if err != nil {
		return o, err
	}
	return o, o.verify(c, conns, s.least, s.most)
}

// parseWrk reads the line of wrk/matrix.lua.
func parseWrk(text string) (o outcome, err error) {
	_, line, found := strings.Cut(text, "\nmatrix ")
	line, _, _ = strings.Cut(line, "\n")
	cells := strings.Fields(line)
	if !found || len(cells) != 9 {
		return o, fmt.Errorf("unexpected output of wrk:\n%s", text)
	}
	var v [9]float64
	for i, cell := range cells {
		if v[i], err = strconv.ParseFloat(cell, 64); err != nil {
			return o, fmt.Errorf("unexpected output of wrk: %w\n%s", err, text)
		}
	}
	if v[3] > 0 || v[0] == 0 || v[2] == 0 {
		return o, fmt.Errorf("wrk has errors:\n%s", text)
	}
	o.requests, o.bytes = int(v[0]), int(v[1])
	o.sample[rate] = v[0] / (v[2] / 1e6)
	for i := range 5 {
		o.sample[p50+figure(i)] = v[4+i] / 1000
	}
	return o, nil
}

// verify returns a sizeError unless the bytes are those of the complete responses, and of at most one incomplete response on each
// connection. A response had between least and most bytes when it was checked. The chunks of a stream may be cut differently each
// time, which changes the sizes a little.
func (o outcome) verify(c cell, conns, least, most int) error {
	low, high := o.requests*least, (o.requests+conns)*most
	if c.kind == "chunked" {
		low, high = low-low/50, high+high/50
	}
	if least == 0 || o.bytes < low || o.bytes > high {
		return sizeError{fmt.Sprintf("%d responses have %d bytes, which should be %d to %d", o.requests, o.bytes, low, high)}
	}
	return nil
}
