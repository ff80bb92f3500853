package micro

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gallop-http/gallop/bench/child"
)

// Options say how to run a row.
type Options struct {
	Rounds  int
	Time    time.Duration // of each benchmark
	Core    int           // the processor on which the benchmarks run
	Pattern string        // runs other benchmarks of the row's module; empty means the row's
	Head    string        // lines at the top of the output, such as the date and the commit
}

// Result is what a row has measured.
type Result struct {
	Raw        string // the output of go test
	Tables     string // medians, ratios, goals and benchstat's tables
	Benchmarks []Benchmark
	Goals      []Goal
}

// Run builds the benchmarks, runs them round by round and compares gallop with its peers. It copies the output of go test to out. The
// current directory must be bench. Each round runs all servers once, so a machine that becomes slower affects all of them.
func (r Row) Run(ctx context.Context, o Options, out io.Writer) (Result, error) {
	dir, err := os.MkdirTemp("", "micro")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "bench.test")
	if err := child.Run("go", "test", "-C", r.dir(), "-c", "-o", program, "."); err != nil {
		return Result{}, err
	}
	var raw bytes.Buffer
	both := io.MultiWriter(out, &raw)
	fmt.Fprint(both, o.Head, r.versions())
	for range o.Rounds {
		if err := r.round(ctx, o, program, both); err != nil {
			return Result{Raw: raw.String()}, err
		}
	}
	return r.compare(raw.String(), filepath.Join(dir, r.Name+".txt"))
}

func (r Row) dir() string {
	if r.Dir == "" {
		return "."
	}
	return r.Dir
}

// round runs every benchmark once.
func (r Row) round(ctx context.Context, o Options, program string, out io.Writer) error {
	pattern := r.Pattern
	if o.Pattern != "" {
		pattern = o.Pattern
	}
	cmd := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(o.Core), program,
		"-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+o.Time.String(), "-test.cpu=1")
	cmd.Dir = r.dir()
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdout, cmd.Stderr = out, out
	child.DieWithParent(cmd)
	return cmd.Run()
}

// versions lists the modules that take part, in lines that benchstat understands.
func (r Row) versions() string {
	const peer = `{{if not (or .Main .Indirect .Replace)}}peer: {{.Path}} {{.Version}}{{end}}`
	out, _ := exec.Command("go", "list", "-C", r.dir(), "-m", "-f", peer, "all").Output()
	var lines strings.Builder
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) != "" {
			lines.WriteString(line)
		}
	}
	return lines.String()
}

// compare returns the tables of what go test has printed. It writes the text to a file for benchstat.
func (r Row) compare(raw, file string) (Result, error) {
	if err := os.WriteFile(file, []byte(raw), 0o644); err != nil {
		return Result{}, err
	}
	result := Result{Raw: raw, Benchmarks: Parse(raw)}
	if len(result.Benchmarks) == 0 {
		return result, fmt.Errorf("no benchmark of %s ran", r.Name)
	}
	var tables strings.Builder
	if len(r.Peers) > 0 {
		result.Goals = r.goals(result.Benchmarks)
		r.table(&tables, result.Benchmarks, result.Goals)
		tables.WriteString("\n")
	}
	for _, split := range r.splits() {
		text, err := split.benchstat(file)
		if err != nil {
			return result, err
		}
		tables.WriteString(text)
	}
	result.Tables = tables.String()
	return result, nil
}
