// Package remote sends results to Prometheus and to databases that understand its remote write protocol (version 1).
//
//	remote.go    requests: authentication, retries
//	series.go    the metrics of a run
//	encode.go    the protocol buffers of the protocol
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
)

// Options say where to send and how. The zero value of a field is its default.
type Options struct {
	URL         string            // of the endpoint, for example http://localhost:9090/api/v1/write
	Username    string            // for basic authentication, with Password
	Password    string            //
	BearerToken string            // instead of basic authentication
	Labels      map[string]string // added to every series, for example job and instance
	Client      *http.Client      // nil: a client with a timeout of 10 s
	Attempts    int               // for each request; 0: 4
	Wait        time.Duration     // before the second attempt, doubled for each further one; 0: 500 ms
}

// Writer sends series. It is for one goroutine at a time.
type Writer struct{ o Options }

// New checks the options and creates a writer.
func New(o Options) (*Writer, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("remote: %q is not the URL of a remote write endpoint, such as http://localhost:9090/api/v1/write", o.URL)
	}
	for name := range o.Labels {
		if !validName(name) {
			return nil, fmt.Errorf("remote: %q is not a label name: it needs letters, digits and underscores", name)
		}
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	o.Attempts, o.Wait = cmp.Or(o.Attempts, 4), cmp.Or(o.Wait, 500*time.Millisecond)
	return &Writer{o}, nil
}

func validName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// perRequest is how many samples of each series one request carries at most.
const perRequest = 500

// Write sends series. The samples of a series have to be in the order of their times, and later than those sent before. It
// repeats a request after an error of the network, status 429 and statuses of 500 and above.
func (w *Writer) Write(ctx context.Context, all []Series) error {
	for from := 0; ; from += perRequest {
		var part []Series
		for _, s := range all {
			if from < len(s.Samples) {
				part = append(part, Series{w.labels(s.Labels), s.Samples[from:min(from+perRequest, len(s.Samples))]})
			}
		}
		if len(part) == 0 {
			return nil
		}
		if err := w.send(ctx, snappy.Encode(nil, encode(part))); err != nil {
			return err
		}
	}
}

// labels adds the labels of the writer, and sorts them as the protocol demands.
func (w *Writer) labels(all []Label) []Label {
	all = slices.Clone(all)
	for name, value := range w.o.Labels {
		if !slices.ContainsFunc(all, func(l Label) bool { return l.Name == name }) {
			all = append(all, Label{name, value})
		}
	}
	slices.SortFunc(all, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

func (w *Writer) send(ctx context.Context, body []byte) error {
	wait := w.o.Wait
	for attempt := 1; ; attempt++ {
		after, err := w.post(ctx, body)
		var last *permanentError
		if err == nil || errors.As(err, &last) || attempt >= w.o.Attempts {
			return err
		}
		timer := time.NewTimer(max(wait, after))
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w, after %w", ctx.Err(), err)
		case <-timer.C:
		}
		wait *= 2
	}
}

// permanentError is an error that the same request would cause again.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

func (e *permanentError) Unwrap() error { return e.err }

// longestWait bounds what a server can ask for with Retry-After.
const longestWait = 30 * time.Second

// post sends a request once. If the server says when to try again, it returns how long to wait.
func (w *Writer) post(ctx context.Context, body []byte) (after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.o.URL, bytes.NewReader(body))
	if err != nil {
		return 0, &permanentError{err}
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	request.Header.Set("Content-Encoding", "snappy")
	request.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	request.Header.Set("User-Agent", "gallop-load")
	switch {
	case w.o.BearerToken != "":
		request.Header.Set("Authorization", "Bearer "+w.o.BearerToken)
	case w.o.Username != "" || w.o.Password != "":
		request.SetBasicAuth(w.o.Username, w.o.Password)
	}
	response, err := w.o.Client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("remote: %w", err)
	}
	defer response.Body.Close()
	message, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	if response.StatusCode/100 == 2 {
		return 0, nil
	}
	err = fmt.Errorf("remote: %s has responded with status %d: %s", request.URL.Redacted(), response.StatusCode, figure.Line(string(message), 300))
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode < 500 {
		return 0, &permanentError{err}
	}
	if n, convErr := strconv.Atoi(response.Header.Get("Retry-After")); convErr == nil && n > 0 {
		after = min(time.Duration(n)*time.Second, longestWait)
	}
	return after, err
}
