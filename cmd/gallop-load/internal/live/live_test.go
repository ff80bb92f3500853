package live

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/figure"
	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/engine"
	"github.com/gallop-http/gallop/internal/load/result"
)

var update = flag.Bool("update", false, "write golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got+"\n" != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

// open is a moment of the open loop of resulttest.
func open() *Snapshot {
	r := resulttest.Open()
	total := r.Total()
	r.Seconds[9].Opened, r.Seconds[9].Closed = 2, 1
	return &Snapshot{
		Target: r.Target.URL, Elapsed: 10_040 * time.Millisecond, Length: 20 * time.Second,
		Scenarios: []Scenario{
			{Name: "steady", State: Running, Open: true, Progress: 0.5, Now: 500, Left: 10 * time.Second, Users: 340, MaxUsers: 510},
			{Name: "spike", State: Running, Open: true, Progress: 0.25, Stage: 2, Stages: 4, Now: 150, Next: 1200, Left: 1500 * time.Millisecond, Users: 12},
			{Name: "afterwards", State: Waiting},
			{Name: "before", State: Ended, Progress: 1},
		},
		Last: r.Seconds[9], Recent: r.Seconds[:10],
		Failed: total.Failed, Dropped: 20, Status: map[int]int64{200: 4900, 404: 3, 503: 7}, Unexpected: 10,
		Errors: []result.Error{
			{Kind: "reset", Count: 15, Example: "read tcp 127.0.0.1:51034->127.0.0.1:8080: connection reset by peer"},
			{Kind: "timeout", Count: 5, Example: "no response within 60s\x1b[2J"},
		},
		Thresholds: []Threshold{
			{result.Threshold{Metric: "http_req_duration", Expr: "p(95)<200", Value: 748.2}, -2.74},
			{result.Threshold{Metric: "http_req_failed", Expr: "rate<0.01", OK: true, Value: 0.002}, 0.8},
		},
		Behind: true, Server: true, ServerRSS: 24 << 20,
	}
}

func closed() *Snapshot {
	r := resulttest.Closed()
	return &Snapshot{Target: r.Target.URL, Elapsed: 5 * time.Second, Length: 30 * time.Second, WarmUp: true,
		Scenarios: []Scenario{{Name: "default", State: Running, Progress: 1. / 6, Now: 25, Left: 25 * time.Second, Users: 25}},
		Last:      r.Seconds[4], Recent: r.Seconds[:5], Status: map[int]int64{200: 3000, 406: 2000}}
}

func TestView(t *testing.T) {
	golden(t, "open.txt", view(open(), screen{width: 100, height: 40, factor: 1}))
	golden(t, "open-80x24.txt", view(open(), screen{width: 80, height: 24, factor: 1.21, paused: true}))
	golden(t, "open-color.txt", view(open(), screen{width: 80, height: 24, factor: 1, style: true}))
	golden(t, "open-40x12.txt", view(open(), screen{width: 40, height: 12, factor: 1}))
	golden(t, "closed.txt", view(closed(), screen{width: 80, height: 24, factor: 1}))
	golden(t, "begin.txt", view(&Snapshot{}, screen{width: 80, height: 24, factor: 1}))
}

// The view fits into terminals of all sizes, and shows the most important lines in small ones.
func TestViewFits(t *testing.T) {
	s := open()
	for _, style := range []bool{false, true} {
		for width := 1; width < 130; width += 7 {
			for height := 0; height < 40; height += 3 {
				out := view(s, screen{width: width, height: height, factor: 1, style: figure.Style(style)})
				lines := strings.Split(out, "\n")
				if out != "" && len(lines) > height {
					t.Fatalf("%d lines in %d×%d", len(lines), width, height)
				}
				for _, line := range lines {
					if n := ansi.StringWidth(line); n > width {
						t.Fatalf("line of %d columns in %d×%d, color %v:\n%s", n, width, height, style, line)
					}
				}
				if height >= 4 && width >= 50 && (!strings.Contains(ansi.Strip(out), "gallop load") || !strings.Contains(out, "p99") || !strings.Contains(out, "rate")) {
					t.Fatalf("%d×%d:\n%s", width, height, out)
				}
			}
		}
	}
}

// Text from the target cannot control the terminal.
func TestViewIsSafe(t *testing.T) {
	s := open()
	const attack = "\x1b]0;owned\a\x1b[2J\r\n\u202e"
	s.Target += attack
	s.Scenarios[0].Name, s.Errors[0].Kind, s.Errors[0].Example = attack, attack, attack
	s.Thresholds[0].Metric, s.Thresholds[0].Expr = attack, attack
	for _, c := range view(s, screen{width: 400, height: 50, factor: 1}) {
		if c != '\n' && (c < ' ' || c == '\u202e' || c == 0x7f) {
			t.Fatalf("control character %q", c)
		}
	}
	if strings.ContainsAny(plain(s), "\x1b\n") {
		t.Error("control character in a plain line")
	}
}

type fixed struct{ s *Snapshot }

func (f fixed) Snapshot() Snapshot { return *f.s }

func press(m tea.Model, key rune, mod tea.KeyMod) (model, tea.Cmd) {
	msg := tea.KeyPressMsg{Code: key, Mod: mod}
	if mod == 0 {
		msg.Text = string(key)
	}
	next, cmd := m.Update(msg)
	return next.(model), cmd
}

func isQuit(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	_, quit := cmd().(tea.QuitMsg)
	return quit
}

func TestKeys(t *testing.T) {
	control := &engine.Control{}
	m := newModel(fixed{open()}, control, false)
	m, _ = press(m, 'p', 0)
	if !control.Paused() || !strings.Contains(m.View().Content, "paused") {
		t.Error("p does not pause")
	}
	m, _ = press(m, 'p', 0)
	m, _ = press(m, '+', 0)
	m, _ = press(m, '+', 0)
	if control.Paused() || fmt.Sprintf("%.2f", control.Factor()) != "1.21" || !strings.Contains(m.View().Content, "rate × 1.21 by hand") {
		t.Errorf("paused %v, factor %v", control.Paused(), control.Factor())
	}
	m, _ = press(m, '-', 0)
	m, cmd := press(m, '-', 0)
	if f := control.Factor(); f < 0.999 || f > 1.001 || isQuit(cmd) || m.end != Finished || !control.Used() {
		t.Errorf("factor %v, end %v", f, m.end)
	}
	if m, cmd := press(m, 'q', 0); !isQuit(cmd) || m.end != Quit {
		t.Error("q does not end the view")
	}
	if m, cmd := press(m, 'c', tea.ModCtrl); !isQuit(cmd) || m.end != Interrupted {
		t.Error("Ctrl+C does not end the view")
	}
	// Without a control, keys change nothing.
	m = newModel(fixed{open()}, nil, false)
	if m, _ = press(m, '+', 0); m.on.factor != 1 || m.on.paused {
		t.Error("keys without a control")
	}
}

func TestModelFollowsSizeAndSource(t *testing.T) {
	s := open()
	m := newModel(fixed{s}, nil, false)
	next, _ := m.Update(tea.WindowSizeMsg{Width: 40, Height: 5})
	if content := next.View().Content; strings.Count(content, "\n") != 4 || ansi.StringWidth(content) > 40*5 {
		t.Error(content)
	}
	s.Elapsed = 11 * time.Second
	next, cmd := next.Update(tick{})
	if !strings.Contains(next.View().Content, "0m11.0s") || cmd == nil || !next.View().AltScreen {
		t.Error(next.View().Content)
	}
}

func TestPlain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		var b bytes.Buffer
		if err := Plain(ctx, fixed{open()}, &b); err != nil {
			t.Fatal(err)
		}
		const line = "0m10.0s/0m20.0s  489.0/s of 500.0/s, lag 90µs  p50 500.43ms p99 990.9ms max 1s  340 users, 340 in flight, " +
			"10 unexpected, 20 failed, 20 dropped, the generator is behind\n"
		if b.String() != line+line {
			t.Errorf("%q", b.String())
		}
	})
	if got := plain(closed()); got != "0m05.0s/0m30.0s warm-up  1,000/s  p50 615.42µs p99 1.69ms max 2.42ms  25 users, 25 in flight" {
		t.Error(got)
	}
}

// The view ends with the run, and leaves the alternate screen.
func TestRunEndsWithTheRun(t *testing.T) {
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keys.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	written := make(chan string)
	go func() {
		var all []byte
		for {
			p := make([]byte, 4<<10)
			n, err := output.Read(p)
			if all = append(all, p[:n]...); bytes.Contains(all, []byte("\x1b[?1049h")) {
				cancel() // the end of the run
			}
			if err != nil {
				written <- string(all)
				return
			}
		}
	}()
	end, err := Run(ctx, fixed{closed()}, nil, in, out)
	out.Close()
	all := <-written
	if err != nil || end != Finished {
		t.Error(end, err)
	}
	enter, leave := strings.Index(all, "\x1b[?1049h"), strings.LastIndex(all, "\x1b[?1049l")
	if enter < 0 || leave < enter {
		t.Errorf("alternate screen: entered at %d, left at %d of %q", enter, leave, all)
	}
}
