package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

// listen opens a stream of events. It returns when the server has sent the first line, so the listener counts from then on.
func listen(t *testing.T, p *program.Process) (lines *bufio.Reader, leave func() error) {
	t.Helper()
	response, err := http.Get(p.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %s", response.Status, response.Header.Get("Content-Type"))
	}
	lines = bufio.NewReader(response.Body)
	want(t, lines, "retry: 1000")
	return lines, response.Body.Close
}

// want reads the next line that is neither empty nor a comment.
func want(t *testing.T, lines *bufio.Reader, line string) {
	t.Helper()
	for {
		got, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v, want %q", err, line)
		}
		if got = strings.TrimSpace(got); got == "" || got[0] == ':' {
			continue
		}
		if got != line {
			t.Fatalf("%q, want %q", got, line)
		}
		return
	}
}

func publish(t *testing.T, p *program.Process, data string) (listeners string) {
	t.Helper()
	response, text := p.Do("POST", "/publish", data)
	if response.StatusCode != 200 {
		t.Fatalf("%s %s", response.Status, text)
	}
	return strings.TrimSpace(text)
}

func TestFanOut(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0")
	ada, leave := listen(t, p)
	bob, _ := listen(t, p)
	if n := publish(t, p, "one\ntwo"); n != `{"listeners":2}` {
		t.Error(n)
	}
	for _, lines := range []*bufio.Reader{ada, bob} {
		want(t, lines, "data: one")
		want(t, lines, "data: two")
	}

	leave()
	program.Eventually(t, "the server notices that a listener has left", func() bool {
		return publish(t, p, "are you there?") == `{"listeners":1}`
	})
	want(t, bob, "data: are you there?")

	response, text := p.Do("POST", "/publish", strings.Repeat("x", 65<<10))
	if response.StatusCode != 413 {
		t.Errorf("event beyond the limit: %s %s", response.Status, text)
	}
}

// A listener that does not read is dropped. A listener that does misses nothing.
func TestSlowListener(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0")
	slow, _ := listen(t, p)
	fast, _ := listen(t, p)
	data := strings.Repeat("x", 64<<10)
	program.Eventually(t, "the slow listener is dropped", func() bool {
		n := publish(t, p, data)
		want(t, fast, "data: "+data)
		return n == `{"listeners":1}`
	})
	program.Eventually(t, "the log says so", func() bool { return strings.Contains(p.Log(), "dropped a slow listener") })
	if _, err := io.Copy(io.Discard, slow); err != nil { // once it reads again, its stream ends properly
		t.Errorf("stream of the slow listener: %v", err)
	}
}

func TestShutdownEndsStreams(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0")
	lines, _ := listen(t, p)
	p.Signal(syscall.SIGTERM)
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("stream: %q, %v", rest, err)
	}
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}
