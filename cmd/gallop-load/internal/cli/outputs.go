package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gallop-http/gallop/cmd/internal/commandline"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/client"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/plan"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/report"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/raw"
	"github.com/gallop-http/gallop/internal/load/result"
)

// engines are the engines by name.
var engines = map[string]engine.Run{"client": client.Run, "raw": raw.Run}

// writers are the formats of --output.
var writers = []writer{
	{"json", ".json", func(w io.Writer, all []*result.Result) error { return report.WriteJSON(w, all...) }},
	{"html", ".html", each(report.HTML)},
	{"csv", ".csv", each(report.CSVSeconds)},
	{"csv-requests", "", each(report.CSVRequests)},
	{"bench", ".bench", func(w io.Writer, all []*result.Result) error { return report.Bench(w, all...) }},
	{"text", ".txt", each(func(w io.Writer, r *result.Result) error { return report.Text(w, r, false) })},
}

// each returns a function that writes one result after the other.
func each(write func(io.Writer, *result.Result) error) func(io.Writer, []*result.Result) error {
	return func(w io.Writer, all []*result.Result) error {
		for _, r := range all {
			if err := write(w, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// writer is a format of --output.
type writer struct {
	name   string
	ending string // of files, or ""
	write  func(w io.Writer, all []*result.Result) error
}

func outputNames() (names []string) {
	for _, w := range writers {
		names = append(names, w.name)
	}
	return names
}

// chooseEngine returns the engine of a plan: the raw one if it can run the plan.
func chooseEngine(p *plan.Plan) (name string, run engine.Run, err error) {
	name = p.Engine
	switch {
	case name == "raw" && p.NeedClient != "":
		return "", nil, fmt.Errorf("the engine raw cannot run this, because %s; use --engine client", p.NeedClient)
	case name == "auto" && p.NeedClient == "" && engines["raw"] != nil:
		name = "raw"
	case name == "auto":
		name = "client"
	}
	if engines[name] == nil {
		return "", nil, fmt.Errorf("this build has no engine %s; use --engine client", name)
	}
	if o := p.Options; name == "client" && (o.Pipeline > 1 || o.PerConn > 0 || o.Streams > 0 || o.Threads > 1) {
		return "", nil, errors.New("pipeline, per-conn, streams and threads need the engine raw")
	}
	return name, engines[name], nil
}

// output is a format with its destination: a file, or standard output if file is empty.
type output struct {
	writer writer
	file   string
}

// outputsFlag is the flag --output.
type outputsFlag []output

func (o *outputsFlag) String() string { return "" }

// Set adds FORMAT, FORMAT=FILE, or a file whose ending names the format.
func (o *outputsFlag) Set(s string) error {
	name, file, _ := strings.Cut(s, "=")
	i := slices.IndexFunc(writers, func(w writer) bool { return w.name == name })
	if i < 0 && file == "" {
		file = s
		i = slices.IndexFunc(writers, func(w writer) bool { return w.ending != "" && w.ending == filepath.Ext(s) })
	}
	if i < 0 {
		return fmt.Errorf("must be %s, perhaps with =FILE, or a file with such an ending, not %q", strings.Join(outputNames(), ", "), s)
	}
	*o = append(*o, output{writers[i], file})
	return nil
}

// check reports files that cannot be written, before a long run.
func (o outputsFlag) check() error {
	toStdout := 0
	for _, out := range o {
		if out.file == "" {
			if toStdout++; toStdout > 1 {
				return errors.New("--output: only one format can go to standard output; write the others to files, such as --output json=result.json")
			}
			continue
		}
		if info, err := os.Stat(filepath.Dir(out.file)); err != nil || !info.IsDir() {
			return fmt.Errorf("--output: there is no directory %q", filepath.Dir(out.file))
		}
	}
	return nil
}

// toStdout reports whether a format goes to standard output.
func (o outputsFlag) toStdout() bool {
	return slices.ContainsFunc(o, func(out output) bool { return out.file == "" })
}

// write writes the results, one after the other into the same file.
func (o outputsFlag) write(env commandline.Env, results []*result.Result) error {
	for _, out := range o {
		if err := out.write(env, results); err != nil {
			return fmt.Errorf("--output %s: %w", out.writer.name, err)
		}
	}
	return nil
}

func (o output) write(env commandline.Env, results []*result.Result) (err error) {
	w := env.Stdout
	if o.file != "" {
		file, err := os.Create(o.file)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		w = file
	}
	return o.writer.write(w, results)
}

// summarise writes the summary. It goes to standard error if a format goes to standard output.
func (s *settings) summarise(env commandline.Env, r *result.Result) error {
	if s.summary.Word == "off" {
		return nil
	}
	w := env.Stdout
	if s.outputs.toStdout() {
		w = env.Stderr
	}
	if s.summary.Word == "compact" {
		return plainText(w, r)
	}
	return report.Text(w, r, styleFor(w))
}

// styleFor returns whether colors suit a writer.
func styleFor(w io.Writer) figure.Style {
	f, ok := w.(*os.File)
	return figure.Style(ok && bool(figure.StyleFor(f)))
}
