package wiretest

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a testing.TB that records its failures.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// run runs f like a test, and then the cleanup functions that f registered.
func (r *recorder) run(f func()) string {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
	for _, f := range r.cleanups {
		f()
	}
	return strings.Join(r.failures, "; ")
}

// TestConversationFinds shows that a conversation fails when the server behaves differently.
func TestConversationFinds(t *testing.T) {
	hi := script(answer("200 OK", "hi", "A: b"), true)
	for _, tt := range []struct {
		name  string
		serve func(net.Conn) error
		talk  func(*Conversation)
		want  string
	}{
		{"nothing", hi, func(c *Conversation) {
			c.Send("x").Want(200)
			c.WantBody("hi").WantField("a", "b").WantEOF()
		}, ""},
		{"another status", hi, func(c *Conversation) { c.Send("x").Want(204) }, "status 200, want 204"},
		{"another body", hi, func(c *Conversation) { c.Send("x").Want(200); c.WantBody("ho") }, `body "hi"`},
		{"another field", hi, func(c *Conversation) { c.Send("x").Want(200); c.WantField("A", "b", "c") }, "A:"},
		{"a response instead of the end", hi, func(c *Conversation) { c.Send("x").WantEOF() }, "want the connection closed"},
		{"a reset instead of the end", script("", true), func(c *Conversation) {
			c.Send("x").Pause(time.Second).Send("y").WantEOF()
		}, "was reset"},
		{"a reset is an end as well", script("", true), func(c *Conversation) {
			c.Send("x").Pause(time.Second).Send("y").WantEnd()
		}, ""},
		{"an open connection instead of its end", serveEcho, func(c *Conversation) { c.WantEOF() }, "still open"},
		{"an open connection instead of any end", serveEcho, func(c *Conversation) { c.WantEnd() }, "open after 5s"},
		{"no response", serveEcho, func(c *Conversation) { c.Send("G").Want(200) }, "no response"},
		{"the end instead of a response", script("", true), func(c *Conversation) { c.Send("x").Want(200) }, "connection closed"},
		{"noise", hi, func(c *Conversation) { c.Send("x").WantSilence(time.Second) }, "want silence"},
		{"too early", serveEcho, func(c *Conversation) { c.Pause(time.Second).WantAfter(2*time.Second, time.Second) }, "after 1s"},
		{"a server that does not read", func(c net.Conn) error { time.Sleep(time.Minute); return c.Close() }, func(c *Conversation) {
			c.Patience = time.Second
			c.Send("abc").Await()
		}, "3 bytes are unread"},
		{"a server that does not end", func(c net.Conn) error { time.Sleep(time.Minute); return nil }, func(*Conversation) {}, "still runs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				got := r.run(func() { tt.talk(Start(r, tt.serve)) })
				if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
					t.Errorf("failures %q, want %q", got, tt.want)
				}
				time.Sleep(time.Minute) // let slow servers finish
			})
		})
	}
}

func TestCheckLeaksFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // CheckLeaks waits for 16 s
		quiet := &recorder{}
		if got := quiet.run(func() {
			CheckLeaks(quiet)
			go time.Sleep(20 * time.Millisecond)
		}); got != "" {
			t.Errorf("failures %q, though the goroutine ends", got)
		}
		leaky, stop := &recorder{}, make(chan struct{})
		if got := leaky.run(func() {
			CheckLeaks(leaky)
			go func() { <-stop }()
		}); !strings.Contains(got, "1 goroutines leaked") || !strings.Contains(got, "TestCheckLeaksFinds") {
			t.Errorf("failures %q", got)
		}
		close(stop)
	})
}
