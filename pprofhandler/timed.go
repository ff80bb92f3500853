package pprofhandler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"time"
)

// serveCPU serves a CPU profile.
func serveCPU(w http.ResponseWriter, r *http.Request) {
	serveTimed(w, r, "profile", durationOfCPU(r.FormValue("seconds")), pprof.StartCPUProfile, pprof.StopCPUProfile)
}

// durationOfCPU returns how long a CPU profile takes, by the argument seconds.
func durationOfCPU(argument string) time.Duration {
	seconds, err := strconv.ParseInt(argument, 10, 64)
	if err != nil || seconds <= 0 {
		seconds = 30
	}
	return time.Duration(seconds) * time.Second
}

// serveTrace serves an execution trace.
func serveTrace(w http.ResponseWriter, r *http.Request) {
	serveTimed(w, r, "trace", durationOfTrace(r.FormValue("seconds")), trace.Start, trace.Stop)
}

// durationOfTrace returns how long an execution trace takes, by the argument seconds.
func durationOfTrace(argument string) time.Duration {
	seconds, err := strconv.ParseFloat(argument, 64)
	if err != nil || seconds <= 0 {
		seconds = 1
	}
	return time.Duration(seconds * float64(time.Second))
}

// serveTimed serves what is written to w between start and stop, as a file with this name.
func serveTimed(w http.ResponseWriter, r *http.Request, name string, d time.Duration, start func(io.Writer) error, stop func()) {
	startFile(w, name)
	if err := start(w); err != nil { // nothing is written then
		refuse(w, http.StatusInternalServerError, "the "+name+" cannot be started: "+err.Error())
		return
	}
	defer stop()
	wait(r.Context(), d)
}

// wait waits for some time, or until ctx ends, and returns the error of ctx then.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changing are the profiles whose change over time is served. The values of profiles that programs add may not be counters.
var changing = []string{"allocs", "block", "goroutine", "goroutineleak", "heap", "mutex", "threadcreate"}

// serveChange serves what changes in a profile within some seconds.
func serveChange(w http.ResponseWriter, r *http.Request, profile *pprof.Profile, argument string) {
	seconds, err := strconv.ParseInt(argument, 10, 64)
	switch {
	case err != nil || seconds <= 0:
		refuse(w, http.StatusBadRequest, "the argument seconds must be a positive whole number")
		return
	case !slices.Contains(changing, profile.Name()):
		refuse(w, http.StatusBadRequest, "this profile does not take the argument seconds")
		return
	case numberOf(r, "debug") != 0:
		refuse(w, http.StatusBadRequest, "the arguments seconds and debug cannot be combined")
		return
	}
	change, err := changeOf(r.Context(), profile, time.Duration(seconds)*time.Second)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		refuse(w, http.StatusRequestTimeout, err.Error())
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		startFile(w, profile.Name()+"-delta")
		w.Write(change)
	}
}

// changeOf returns what changes in a profile within d, as a profile.
func changeOf(ctx context.Context, profile *pprof.Profile, d time.Duration) ([]byte, error) {
	var before, after bytes.Buffer
	if err := profile.WriteTo(&before, 0); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := wait(ctx, d); err != nil {
		return nil, err
	}
	if err := profile.WriteTo(&after, 0); err != nil {
		return nil, err
	}
	now := time.Now()
	return delta(before.Bytes(), after.Bytes(), now, now.Sub(begun))
}
