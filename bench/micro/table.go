package micro

import (
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
)

// Goal is a verdict about one benchmark.
type Goal struct {
	Text string
	Met  bool
}

// goals compares gallop with the first peer, in the benchmarks that the peer has. The time of a benchmark Library/X is the standard
// library's share of Middleware/X, and does not count.
func (r Row) goals(all []Benchmark) (goals []Goal) {
	if r.Goal == 0 {
		return nil
	}
	for _, name := range names(all) {
		peer := median(all, name, r.Peers[0])
		if peer == 0 {
			continue
		}
		share := 0.0
		if of, ok := strings.CutPrefix(name, "Middleware/"); ok {
			share = median(all, "Library/"+of, "gallop")
		}
		ratio := (median(all, name, "gallop") - share) / peer
		met, word := ratio > 0 && ratio <= r.Goal, "met"
		if !met {
			word = "MISSED"
		}
		text := fmt.Sprintf("goal: %s at most %v × %s: %.3f, %s", name, r.Goal, r.Peers[0], ratio, word)
		if share > 0 {
			text += fmt.Sprintf(" (without %.0f ns of the standard library)", share)
		}
		goals = append(goals, Goal{text, met})
	}
	return goals
}

// table prints a line for each benchmark: medians, and gallop's ratios to its peers.
func (r Row) table(out io.Writer, all []Benchmark, goals []Goal) {
	fmt.Fprintf(out, "%-50s %10s", "median ns/op", "gallop")
	for _, peer := range r.Peers {
		fmt.Fprintf(out, " %10s", peer)
	}
	for _, peer := range r.Peers {
		fmt.Fprintf(out, " %12s", "÷ "+peer)
	}
	fmt.Fprintln(out)
	logs := make([][]float64, len(r.Peers))
	for _, name := range names(all) {
		gallop := median(all, name, "gallop")
		fmt.Fprintf(out, "%-50s %10.1f", name, gallop)
		for _, peer := range r.Peers {
			fmt.Fprintf(out, " %10.1f", median(all, name, peer))
		}
		for i, peer := range r.Peers {
			ratio := 0.0
			if p := median(all, name, peer); p > 0 && gallop > 0 {
				ratio = gallop / p
				logs[i] = append(logs[i], math.Log(ratio))
			}
			fmt.Fprintf(out, " %12.3f", ratio)
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%-50s %10s%s", "geometric mean", "", strings.Repeat(" ", 11*len(r.Peers)))
	for _, ratios := range logs {
		fmt.Fprintf(out, " %12.3f", geometricMean(ratios))
	}
	fmt.Fprintln(out)
	for i, g := range goals {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, g.Text)
	}
}

// geometricMean returns the geometric mean of ratios from their logarithms. Without logarithms, it returns 0.
func geometricMean(logs []float64) float64 {
	if len(logs) == 0 {
		return 0
	}
	sum := 0.0
	for _, l := range logs {
		sum += l
	}
	return math.Exp(sum / float64(len(logs)))
}

// splits returns the row's tables of benchstat. The default has a column for each server, the first peer first.
func (r Row) splits() []Split {
	if len(r.Splits) > 0 {
		return r.Splits
	}
	return []Split{{"server", append([]string{r.Peers[0], "gallop"}, r.Peers[1:]...)}}
}

// benchstat returns benchstat's table of a file.
func (s Split) benchstat(file string) (string, error) {
	cmd := exec.Command("go", "tool", "benchstat", "-filter", "/"+s.Key+":/./",
		"-col", "/"+s.Key+"@("+strings.Join(s.Values, " ")+")", "-row", ".fullname", file)
	var wrong strings.Builder
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("benchstat: %w\n%s", err, wrong.String())
	}
	return string(out), nil
}
