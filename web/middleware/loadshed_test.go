package middleware_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

func TestLoadShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newApp(middleware.Recover{OnPanic: func(*web.Ctx, *middleware.PanicError) {}}, middleware.LoadShed{
			Limit: 10,
			Priority: func(c *web.Ctx) middleware.Priority {
				n, _ := strconv.Atoi(c.Query("priority"))
				return middleware.Priority(n)
			},
		})
		app.Get("/", func(c *web.Ctx) error {
			switch c.Query("end") {
			case "slow":
				time.Sleep(time.Minute)
			case "stream":
				return c.SendStreamWriter(func(w *bufio.Writer) error {
					time.Sleep(time.Minute)
					_, err := w.WriteString("late")
					return err
				})
			case "error":
				return errors.New("failed")
			case "panic":
				panic("failed")
			}
			return c.SendString("ok")
		})
		for range 30 { // none of them stays counted
			ask(t, app, "GET", "/?end=error")
			ask(t, app, "GET", "/?end=panic")
		}
		var group sync.WaitGroup
		busy := func(n int, target string) {
			synctest.Wait() // for requests that are over
			for range n {
				group.Go(func() { ask(t, app, "GET", target) })
			}
			synctest.Wait()
		}
		status := func(target string, want int) {
			t.Helper()
			synctest.Wait()
			a := ask(t, app, "GET", target)
			if a.status != want {
				t.Errorf("%s: %d, want %d", target, a.status, want)
			}
			if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); (a.status == 503) != (wait >= 1 && wait <= 4) {
				t.Errorf("%d, Retry-After: %q", a.status, a.header.Get("Retry-After"))
			}
		}
		busy(4, "/?end=slow")
		busy(3, "/?end=stream")
		status("/?priority=2", 200)
		busy(1, "/?end=slow")
		status("/?priority=2", 503) // 8 of 10
		status("/", 200)
		busy(2, "/?end=stream")
		status("/", 503)
		status("/?priority=1", 200)
		group.Wait()
		synctest.Wait()
		busy(10, "/?end=slow")
		status("/", 503)
		group.Wait()
	})
}

// With an adapted limit, a server of limited capacity keeps its response times short under any load.
func TestLoadShedAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const capacity = 20
		room := make(chan struct{}, capacity)
		app := newApp(middleware.LoadShed{})
		app.Get("/", func(c *web.Ctx) error {
			room <- struct{}{}
			time.Sleep(10 * time.Millisecond)
			<-room
			return c.SendString("ok")
		})
		var mu sync.Mutex
		var group sync.WaitGroup
		served, slow := 0, 0
		for i := range 100 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for range 40 {
					begun := time.Now()
					a := ask(t, app, "GET", "/")
					mu.Lock()
					if a.status == 200 {
						if served++; time.Since(begun) > 60*time.Millisecond {
							slow++
						}
					}
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		group.Wait()
		if served < 800 || slow > served/20 {
			t.Errorf("%d requests were served, %d of them slowly; without LoadShed, all are slow", served, slow)
		}
	})
}

func TestLoadShedSettings(t *testing.T) {
	for want, shed := range map[string]middleware.LoadShed{
		"limits of at least 0": {Limit: -1},
		"no effect":            {Limit: 1, Max: 2},
		"Min of 5 over":        {Min: 5, Max: 4},
	} {
		t.Run(want, func(t *testing.T) { mustPanic(t, want, func() { shed.Handler() }) })
	}
}

func BenchmarkLoadShed(b *testing.B) { each(b, "GET", middleware.LoadShed{}, hello) }

// While two reports are being made, further requests for reports get 503.
func ExampleLoadShed() {
	app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, _ error) { c.SendStatus(503) }})
	begun, end := make(chan bool), make(chan bool)
	reports := app.Group("/reports", middleware.LoadShed{Limit: 2})
	reports.Get("/{name}", func(c *web.Ctx) error {
		begun <- true
		<-end
		return c.SendString("report")
	})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { app.Test(httptest.NewRequest("GET", "/reports/sales", nil)) })
		<-begun
	}
	response, err := app.Test(httptest.NewRequest("GET", "/reports/costs", nil))
	if err == nil {
		fmt.Println(response.Status)
	}
	close(end)
	group.Wait()
	// Output:
	// 503 Service Unavailable
}
