//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/gallop-http/gallop/bench/measure"
)

// record is what a run has measured, for the JSON file, the page and the plots.
type record struct {
	Schema      int        `json:"schema"`
	Date        time.Time  `json:"date"`
	Commit      string     `json:"commit"`
	Versions    []string   `json:"versions"` // of Go and of the peers
	Machine     string     `json:"machine"`
	Rounds      int        `json:"rounds"`
	Length      float64    `json:"seconds_per_round"`
	Comparisons []recorded `json:"comparisons"`
}

// recorded is the outcome of one comparison.
type recorded struct {
	Name     string          `json:"name"`
	About    string          `json:"about"`
	Shared   bool            `json:"shared"` // server and load shared all cores
	Conns    int             `json:"connections"`
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

type verdictRecord struct {
	Text string `json:"text"`
	Met  bool   `json:"met"`
}

// figureKeys are the names of the figures in JSON.
var figureKeys = [figures]string{"requests_per_second", "cpu_us", "user_us", "p50_ms", "p95_ms", "p99_ms", "rss_kib"}

func newRecord(o options) *record {
	return &record{Schema: 1, Date: time.Now().UTC(), Commit: o.commit, Versions: measure.Versions(), Machine: measure.Machine(), Rounds: o.rounds, Length: o.length.Seconds()}
}

// add adds a finished comparison.
func (r *record) add(p *report, refused string) {
	c := recorded{Name: p.name, About: p.about, Shared: p.shared, Conns: p.conns, Refused: refused}
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

func (s sample) keyed() map[string]float64 {
	m := map[string]float64{}
	for f := range figures {
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
