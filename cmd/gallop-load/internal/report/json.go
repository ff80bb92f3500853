package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gallop-http/gallop/internal/load/result"
)

// Limits of a result file. They bound the memory that a hostile file can make the reader use.
const (
	maxFile      = 256 << 20
	maxResults   = 1000
	maxSeries    = 2000 // each has nine histograms
	maxScenarios = 1000
	maxSeconds   = 7 * 24 * 3600
)

// WriteJSON writes results to a file, one JSON object after another.
func WriteJSON(w io.Writer, results ...*result.Result) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	for _, r := range results {
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// ReadJSON reads a file with one or more results: objects one after another, or one array of them. It refuses other schema
// versions and results that contradict themselves.
func ReadJSON(r io.Reader) ([]*result.Result, error) {
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	input := bufio.NewReader(limited)
	decoder := json.NewDecoder(input)
	first, err := firstByte(input)
	if err != nil {
		return nil, err
	}
	if first == '[' {
		if _, err := decoder.Token(); err != nil {
			return nil, err
		}
	}
	var all []*result.Result
	for decoder.More() {
		one, err := readOne(decoder)
		if limited.N <= 0 {
			return nil, fmt.Errorf("report: result file is larger than %d MiB", maxFile>>20)
		}
		if err != nil {
			return nil, fmt.Errorf("report: result %d of the file: %w", len(all)+1, err)
		}
		if all = append(all, one); len(all) > maxResults {
			return nil, fmt.Errorf("report: more than %d results in one file", maxResults)
		}
	}
	if err := checkEnd(decoder, first == '['); err != nil {
		return nil, fmt.Errorf("report: after the last result: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("report: no result in the file")
	}
	return all, nil
}

// checkEnd expects the end of the file, after the end of the array if there is one.
func checkEnd(decoder *json.Decoder, array bool) error {
	if array {
		if _, err := decoder.Token(); err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
	}
	token, err := decoder.Token()
	switch {
	case err == io.EOF:
		return nil
	case err == nil:
		return fmt.Errorf("unexpected %v", token)
	}
	return err
}

// firstByte returns the first byte that is not white space, without consuming it.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		c, err := r.ReadByte()
		if err == io.EOF {
			return 0, errors.New("report: the result file is empty")
		}
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, r.UnreadByte()
		}
	}
}

func readOne(decoder *json.Decoder) (*result.Result, error) {
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return nil, err
	}
	if err := checkSize(raw); err != nil {
		return nil, err
	}
	r := &result.Result{}
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, err
	}
	return r, check(r)
}

// checkSize looks at the schema and at the lengths of lists before histograms, which need much memory, are decoded.
func checkSize(raw []byte) error {
	var head struct {
		Schema    *int
		Series    []json.RawMessage
		Scenarios []json.RawMessage
		Seconds   []json.RawMessage
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return err
	}
	switch {
	case head.Schema == nil:
		return errors.New("not a result of gallop load: the field schema is missing")
	case *head.Schema != result.Schema:
		return fmt.Errorf("schema %d is not supported, this program reads schema %d", *head.Schema, result.Schema)
	case len(head.Series) > maxSeries:
		return fmt.Errorf("%d series, the limit is %d", len(head.Series), maxSeries)
	case len(head.Scenarios) > maxScenarios:
		return fmt.Errorf("%d scenarios, the limit is %d", len(head.Scenarios), maxScenarios)
	case len(head.Seconds) > maxSeconds:
		return fmt.Errorf("%d seconds, the limit is %d", len(head.Seconds), maxSeconds)
	}
	return nil
}

// check refuses results whose figures are impossible, so that reports need not expect them.
func check(r *result.Result) error {
	if r.Elapsed() < 0 || r.Elapsed() > maxSeconds*time.Second {
		return errors.New("the run ends before it starts, or lasts more than a week")
	}
	for i, s := range r.Series {
		if s == nil {
			return fmt.Errorf("series %d is null", i)
		}
		if err := checkSeries(s); err != nil {
			return fmt.Errorf("series %q: %w", s.Name, err)
		}
	}
	for i := range r.Seconds {
		if err := checkSecond(&r.Seconds[i]); err != nil {
			return fmt.Errorf("second %d: %w", i, err)
		}
	}
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		u := &s.Users
		if negative(u.Iterations, u.Interrupted, u.Dropped, u.Active, u.Most, int64(s.VUs), int64(s.Duration), int64(s.Start)) || s.Rate < 0 {
			return fmt.Errorf("scenario %q: a count is negative or too large", s.Name)
		}
	}
	return checkMachines(r)
}

func checkMachines(r *result.Result) error {
	c, g := r.Connections, &r.Generator
	bad := negative(c.Opened, c.Resumed, c.ClosedByPeer, int64(g.CPU), int64(g.PerCall), int64(g.GCPause), g.MaxRSS, int64(r.Plan.WarmUp))
	if s := r.Server; s != nil {
		bad = bad || negative(int64(s.CPU), int64(s.PerCall), s.MaxRSS)
	}
	if bad {
		return errors.New("a figure of connections, generator or server is negative or too large")
	}
	return nil
}

func checkSeries(s *result.Series) error {
	if negative(s.Due, s.Dropped, s.Sent, s.Done, s.Failed, s.Aborted, s.Resets, s.Raced, s.Unexpected, s.BytesOut, s.BytesIn, s.BodyIn) {
		return errors.New("a count is negative or too large")
	}
	if s.Unexpected > s.Done {
		return errors.New("more unexpected responses than responses")
	}
	for code, n := range s.Status {
		if code < 100 || code > 999 || negative(n) {
			return fmt.Errorf("status %d with count %d", code, n)
		}
	}
	for _, e := range s.Errors {
		if negative(e.Count) {
			return errors.New("the count of an error is negative or too large")
		}
	}
	for _, c := range s.Checks {
		if negative(c.Pass, c.Fail) {
			return errors.New("the count of a check is negative or too large")
		}
	}
	return nil
}

func checkSecond(s *result.Second) error {
	if len(s.Heat) > result.HeatRows {
		return fmt.Errorf("%d heat rows, at most %d are possible", len(s.Heat), result.HeatRows)
	}
	if negative(s.Due, s.Sent, s.Done, s.Failed, s.Users, s.Conns, s.InFlight, s.Opened, s.Closed, int64(s.T), int64(s.Length), int64(s.P50),
		int64(s.P90), int64(s.P99), int64(s.Max), int64(s.Lag), int64(s.CPU), int64(s.Server)) || negative(s.Heat...) {
		return errors.New("a figure is negative or too large")
	}
	return nil
}

// negative reports whether a count is negative, or so large that sums of counts could overflow.
func negative(counts ...int64) bool {
	for _, n := range counts {
		if n < 0 || n > 1<<53 {
			return true
		}
	}
	return false
}

// ReadFiles reads the results of several files.
func ReadFiles(names ...string) ([]*result.Result, error) {
	var all []*result.Result
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		some, err := ReadJSON(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}
