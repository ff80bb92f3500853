package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/internal/load/result"
)

var (
	//go:embed page.html
	pageSource string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	page = template.Must(template.New("page").Parse(pageSource))
)

// document is what the template of the page shows. Its strings are text, which the template escapes.
type document struct {
	Title, Subtitle, Policy string
	Style                   template.CSS
	Script                  template.JS
	Verdict                 Verdict
	Facts                   []string
	Cards                   []card
	Charts                  []chart
	Tables                  []table
}

// card is a figure at the top of the page.
type card struct{ Name, Value, Note, Class string }

// HTML writes a page that needs no other file. It is readable without scripts; its script only makes tables sortable.
func HTML(w io.Writer, r *result.Result) error {
	t := sum(r)
	d := &document{
		Title: "Load test", Subtitle: figure.Line(r.Target.URL, 300), Policy: policy(),
		Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Verdict: Judge(r), Cards: t.cards(), Charts: t.charts(), Tables: t.tables(),
	}
	if r.Plan.Name != "" {
		d.Title += ": " + figure.Line(r.Plan.Name, 100)
	}
	for i, reason := range d.Verdict.Reasons {
		d.Verdict.Reasons[i] = figure.Line(reason, 500)
	}
	d.Facts = []string{r.Started.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + figure.Duration(r.Elapsed()),
		figure.Line(r.Target.Proto, 40), "engine: " + figure.Line(r.Tool.Engine, 20), "latency from: " + t.countedFrom()}
	var b bytes.Buffer
	if err := page.Execute(&b, d); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// policy lets the page use its own style and script and nothing else. Even markup in text from the target could not run a
// script or load a file.
func policy() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript)
}

func (t *totals) cards() []card {
	rate := card{Name: "Responses per second", Value: strings.TrimSuffix(figure.ShortRate(t.rate(t.all.Done)), "/s")}
	if t.open {
		rate.Note = "asked for " + strings.TrimSuffix(figure.ShortRate(t.asked()), "/s")
	}
	cards := []card{rate, t.latencyCard("Latency p50", 0.5)}
	if t.all.Response.Resolves(0.99) {
		cards = append(cards, t.latencyCard("Latency p99", 0.99))
	}
	cards = append(cards, t.latencyCard("Latency max", 1))
	return append(cards, t.failedCard("Failed", t.all.Failed, t.calls()), t.failedCard("Unexpected status", t.all.Unexpected, t.all.Done),
		t.generatorCard(), t.serverCard())
}

// latencyCard shows a quantile, in open loops with that of the service time.
func (t *totals) latencyCard(name string, q float64) card {
	c := card{Name: name, Value: figure.Duration(t.all.Response.Quantile(q))}
	if t.open {
		c.Note = "service " + figure.Duration(t.all.Service.Quantile(q))
	}
	return c
}

func (t *totals) failedCard(name string, n, of int64) card {
	c := card{Name: name, Value: figure.Percent(n, of), Note: fmt.Sprintf("%s of %s", figure.Count(n), figure.Count(of))}
	if n > 0 {
		c.Class = "bad"
	}
	return c
}

func (t *totals) generatorCard() card {
	c := card{Name: "Generator CPU per request", Value: figure.Duration(t.Generator.PerCall), Note: "kept up"}
	if t.Generator.Saturated {
		c.Note, c.Class = "saturated", "bad"
	}
	return c
}

func (t *totals) serverCard() card {
	if t.Server == nil {
		return card{Name: "Server CPU per request", Value: "–", Note: "server not watched"}
	}
	return card{Name: "Server CPU per request", Value: figure.Duration(t.Server.PerCall),
		Note: t.share(t.Server.CPU) + " of a core, " + figure.Bytes(float64(t.Server.MaxRSS))}
}
