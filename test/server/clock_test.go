package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

// These tests check what a server does when time passes, in virtual time. Two goals: a timeout of the default
// settings fires when it should, and a wall clock that jumps by an hour, forwards or back, fires none, because none
// is reckoned by it.

func clockServer() *gallop.Server {
	return &gallop.Server{Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gallop.RequestCtx) {
		switch string(ctx.Path()) {
		case "/big":
			ctx.SetBody(make([]byte, 64<<10))
		case "/slow":
			time.Sleep(2 * time.Minute)
		default:
			ctx.SetBody(ctx.PostBody())
		}
	}}
}

func TestClockTimeouts(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4800\r\n\r\n"
		tests := []struct {
			name  string
			after time.Duration
			talk  func(c *wiretest.Conversation)
		}{
			{"nothing is sent", 10 * time.Second, func(c *wiretest.Conversation) {}},
			{"a head is not finished", 10 * time.Second, func(c *wiretest.Conversation) {
				c.Send("GET / HTTP/1.1\r\nHost: ").Want(408)
			}},
			{"a head comes octet by octet", 10 * time.Second, func(c *wiretest.Conversation) {
				c.Send("GET / HTTP/1.1\r\n").SendSlowly("Host", 2*time.Second).Want(408)
			}},
			{"the first octet of a head comes late", 10 * time.Second, func(c *wiretest.Conversation) {
				c.SendSlowly("G", 9*time.Second).Want(408)
			}},
			{"no further request", 75 * time.Second, func(c *wiretest.Conversation) {
				c.Send(wiretest.Get("/")).Want(200)
			}},
			{"no further request after one that took long", 195 * time.Second, func(c *wiretest.Conversation) {
				c.Patience = 4 * time.Minute
				c.Send(wiretest.Get("/slow")).Want(200)
			}},
			{"a body does not begin", 5 * time.Second, func(c *wiretest.Conversation) {
				c.Send(post).Want(408)
			}},
			{"a body stops after twice the grace", 10 * time.Second, func(c *wiretest.Conversation) {
				c.Send(post, strings.Repeat("b", 1200)).Want(408)
			}},
			{"a body dribbles", 5 * time.Second, func(c *wiretest.Conversation) {
				c.Send(post).SendSlowly("bbbb", time.Second).Want(408)
			}},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := wiretest.Start(t, on.Serve(clockServer()))
					c.Patience = 2 * time.Minute
					test.talk(c)
					c.WantEnd().WantAfter(test.after, time.Second)
				})
			})
		}
	})
}

// A client that takes nothing of its response is let go after 30 s; one that takes a little each time is served for as
// long as it takes.
func TestClockWriting(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		serve := func(t *testing.T) (client *wiretest.Conn, took func() time.Duration) {
			client, server := wiretest.Pipe()
			client.SetWindow(1 << 10)
			start, ended := time.Now(), make(chan time.Duration, 1)
			go func() {
				on.Serve(clockServer())(server)
				ended <- time.Since(start)
			}()
			io.WriteString(client, wiretest.Get("/big"))
			return client, func() time.Duration { return <-ended }
		}
		t.Run("no progress", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, took := serve(t)
				defer client.Close()
				if d := took(); d < 30*time.Second || d > 31*time.Second {
					t.Errorf("ended after %v, want 30 s", d)
				}
			})
		})
		t.Run("slow progress", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, took := serve(t)
				n, p := 0, make([]byte, 1<<10)
				for n < 64<<10 {
					time.Sleep(20 * time.Second)
					m, err := client.Read(p)
					if n += m; err != nil {
						t.Fatalf("after %d octets: %v", n, err)
					}
				}
				client.Close()
				if d := took(); d < 20*time.Minute {
					t.Errorf("ended after %v", d)
				}
			})
		})
	})
}

// A body that comes at a little more than the lowest rate is read to its end.
func TestClockSteadyBody(t *testing.T) {
	t.Parallel()
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			const seconds, rate = 1800, 250
			c := wiretest.Start(t, on.Serve(clockServer()))
			c.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 450000\r\n\r\n")
			for range seconds {
				c.Pause(time.Second).Send(strings.Repeat("b", rate))
			}
			c.Want(200)
		})
	})
}

func TestClockDate(t *testing.T) {
	servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
		synctest.Test(t, func(t *testing.T) {
			s := clockServer()
			for _, pause := range []time.Duration{0, 999 * time.Millisecond, time.Second, time.Hour, 24 * 365 * time.Hour} {
				time.Sleep(pause)
				c := wiretest.Start(t, on.Serve(s))
				c.Send(wiretest.Get("/")).Want(200)
				c.WantField("Date", time.Now().UTC().Format(http.TimeFormat))
				c.Pause(3 * time.Second).Send(wiretest.Get("/")).Want(200)
				c.WantField("Date", time.Now().UTC().Format(http.TimeFormat))
			}
		})
	})
}

func TestClockDateOfASlowAnswer(t *testing.T) {
	servertest.OnTransports(t, func(t *testing.T, on servertest.Transport) {
		s := clockServer()
		s.Handler = func(*gallop.RequestCtx) { time.Sleep(time.Minute) }
		synctest.Test(t, func(t *testing.T) {
			c := wiretest.Start(t, on.Serve(s))
			c.Patience = time.Hour
			c.Send(wiretest.Get("/")).Want(200)
			c.WantField("Date", time.Now().UTC().Format(http.TimeFormat)) // RFC 9110 §6.6.1
		})
	})
}

// No timer of the server may know the wall clock. A time from time.Now carries the monotonic clock, and Add, Sub,
// Before, Until and deadlines of connections use it, unless one of these methods has taken it away. Where the server
// needs the wall clock, for the Date field, it hands the time on and does not reckon.
func TestClockMonotonic(t *testing.T) {
	wall := []string{"Unix", "UnixNano", "UnixMilli", "UnixMicro", "Round", "Truncate", "UTC", "Local", "In", "AddDate"}
	var files []string
	for _, pattern := range []string{"server*.go", "h1_*.go", "exchange*.go", "internal/conn/*.go"} {
		found, err := filepath.Glob("../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(found), err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(wall, f.Sel.Name) {
				return true
			}
			if p, ok := f.X.(*ast.Ident); ok && p.Name == "time" && isLongAgo(call) {
				return true
			}
			t.Errorf("%v: %s takes the monotonic clock away", set.Position(f.Sel.Pos()), f.Sel.Name)
			return true
		})
	}
}

// isLongAgo recognizes time.Unix(1, 0) with small constants, the deadline that interrupts every wait: it has passed
// by any clock.
func isLongAgo(call *ast.CallExpr) bool {
	return !slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		lit, ok := e.(*ast.BasicLit)
		return !ok || len(lit.Value) > 1
	})
}
