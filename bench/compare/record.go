//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
	"github.com/gallop-http/gallop/bench/micro"
)

// record is what a run has measured, for the JSON file, the page and the plots.
type record struct {
	Schema      int        `json:"schema"`
	Date        time.Time  `json:"date"`
	Commit      string     `json:"commit"`
	Versions    []string   `json:"versions"` // of Go and of the peers
	Machine     string     `json:"machine"`
	Comparisons []recorded `json:"comparisons,omitempty"`
	Benchmarks  []benched  `json:"benchmarks,omitempty"`
	Programs    []ran      `json:"programs,omitempty"`
}

// recorded is the outcome of one comparison.
type recorded struct {
	Name     string          `json:"name"`
	About    string          `json:"about"`
	Shared   bool            `json:"shared"` // server and load shared all cores
	Conns    int             `json:"connections"`
	Rounds   int             `json:"rounds"`
	Length   float64         `json:"seconds_per_round"`
	Refused  string          `json:"refused,omitempty"` // why the figures mean nothing
	Servers  []serverRecord  `json:"servers"`
	Verdicts []verdictRecord `json:"goals,omitempty"`
}

// serverRecord is what one server did. Figures are in the units of their names.
type serverRecord struct {
	Name   string               `json:"name"`
	Median map[string]float64   `json:"median"`
	Rounds []map[string]float64 `json:"rounds"`
}

// benched is what a row of Go benchmarks has measured.
type benched struct {
	Name     string            `json:"name"`
	About    string            `json:"about"`
	Rounds   int               `json:"rounds"`
	Time     float64           `json:"seconds_per_benchmark"`
	Results  []micro.Benchmark `json:"results"`
	Verdicts []verdictRecord   `json:"goals,omitempty"`
	tables   string
}

// ran is what another command has printed.
type ran struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Command string   `json:"command"`
	Args    []string `json:"arguments"`
	Met     bool     `json:"goals_met"`
	Seconds float64  `json:"seconds"`
	Text    string   `json:"text"`
}

type verdictRecord struct {
	Text string `json:"text"`
	Met  bool   `json:"met"`
}

// figureKeys are the names of the figures in JSON.
var figureKeys = [figureCount]string{"requests_per_second", "cpu_us", "user_us", "p50_ms", "p95_ms", "p99_ms", "rss_kib"}

func newRecord(o options) *record {
	return &record{Schema: 2, Date: time.Now().UTC(), Commit: o.commit, Versions: measure.Versions(), Machine: measure.Machine()}
}

// add adds a finished comparison.
func (r *record) add(p *report, o options, refused string) {
	c := recorded{Name: p.name, About: p.about, Shared: p.shared, Conns: p.conns, Rounds: o.rounds, Length: o.length.Seconds(), Refused: refused}
	for _, rival := range p.rivals {
		s := serverRecord{Name: rival.name, Median: median(p.samples[rival.name]).keyed()}
		for _, round := range p.samples[rival.name] {
			s.Rounds = append(s.Rounds, round.keyed())
		}
		c.Servers = append(c.Servers, s)
	}
	for _, g := range p.goals {
		if text, met, judged := p.judge(g); judged {
			c.Verdicts = append(c.Verdicts, verdictRecord{text, met})
		}
	}
	r.Comparisons = append(r.Comparisons, c)
}

// addBenchmarks adds a finished row of Go benchmarks.
func (r *record) addBenchmarks(row micro.Row, o micro.Options, result micro.Result) {
	b := benched{Name: row.Name, About: row.About, Rounds: o.Rounds, Time: o.Time.Seconds(), Results: result.Benchmarks, tables: result.Tables}
	for _, g := range result.Goals {
		b.Verdicts = append(b.Verdicts, verdictRecord{g.Text, g.Met})
	}
	r.Benchmarks = append(r.Benchmarks, b)
}

// addProgram adds what another command has printed.
func (r *record) addProgram(p program, args []string, v verdict, took time.Duration, text string) {
	r.Programs = append(r.Programs, ran{p.name, p.about, p.command, args, v == met, took.Seconds(), text})
}

func (s sample) keyed() map[string]float64 {
	m := map[string]float64{}
	for f := range figureCount {
		m[figureKeys[f]] = s[f]
	}
	return m
}

// write writes results.json, README.md and the plots to a directory.
func (r *record) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	for name, content := range r.files() {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "results.json"), append(encoded, '\n'), 0o644)
}
