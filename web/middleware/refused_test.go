package middleware_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/web"
	"github.com/gallop-http/gallop/web/middleware"
)

// records is a log that goroutines may share.
type records struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// requests returns the records of Logger.
func (r *records) requests(t *testing.T) (list []map[string]any) {
	t.Helper()
	for line := range strings.Lines(r.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record["msg"] == "request" {
			list = append(list, record)
		}
	}
	return list
}

// refused is a request that the server refuses.
type refused struct {
	server  func(s *gallop.Server)
	request string
	status  int
	reads   bool // the handler reads the body, and is why the request is refused
}

func refusedRequests() map[string]refused {
	const post = "POST / HTTP/1.1\r\nHost: a.test\r\nOrigin: https://b.test\r\n"
	return map[string]refused{
		"no HTTP":         {request: "\x16\x03\x01\r\n\r\n", status: 400},
		"bad header":      {request: "GET / HTTP/1.1\r\nHost: a.test\r\nBad Header: x\r\n\r\n", status: 400},
		"no host":         {request: "GET / HTTP/1.1\r\n\r\n", status: 400},
		"bad host":        {request: "GET / HTTP/1.1\r\nHost: a b/c\r\n\r\n", status: 400},
		"bad preflight":   {request: "OPTIONS / HTTP/1.1\r\nHost: a b/c\r\nOrigin: https://b.test\r\nAccess-Control-Request-Method: GET\r\n\r\n", status: 400},
		"version":         {request: "GET / HTTP/2.0\r\nHost: a.test\r\n\r\n", status: 505},
		"coding":          {request: "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: x\r\n\r\n", status: 501},
		"long target":     {request: "GET /" + strings.Repeat("a", 20000) + " HTTP/1.1\r\nHost: a.test\r\n\r\n", status: 414},
		"large head":      {server: func(s *gallop.Server) { s.MaxHeaderBytes = 1000 }, request: "GET / HTTP/1.1\r\nHost: a.test\r\nX: " + strings.Repeat("a", 2000) + "\r\n\r\n", status: 431},
		"large body":      {server: func(s *gallop.Server) { s.MaxRequestBodySize = 100 }, request: post + "Content-Length: 101\r\n\r\n", status: 413},
		"large chunks":    {server: func(s *gallop.Server) { s.MaxRequestBodySize = 100 }, request: post + "Transfer-Encoding: chunked\r\n\r\n65\r\n" + strings.Repeat("a", 101), status: 413, reads: true},
		"slow head":       {server: func(s *gallop.Server) { s.ReadHeaderTimeout = 50 * time.Millisecond }, request: "GET / HTTP/1.1\r\nHost: a", status: 408},
		"slow body":       {server: func(s *gallop.Server) { s.ReadTimeout = 100 * time.Millisecond }, request: post + "Content-Length: 10\r\n\r\nabc", status: 408, reads: true},
		"only GET":        {server: func(s *gallop.Server) { s.GetOnly = true }, request: post + "\r\n", status: 405},
		"unknown Expect":  {request: post + "Expect: tea\r\n\r\n", status: 417},
		"HTTP/1.0":        {request: "GET / HTTP/1.0\r\nBad Header: x\r\n\r\n", status: 400},
		"HEAD":            {request: "HEAD / HTTP/1.1\r\nHost: a b/c\r\n\r\n", status: 400},
		"broken encoding": {request: post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", status: 400, reads: true},
	}
}

// nosy is middleware that asks for all it can, and responds by itself.
func nosy(c *web.Ctx) error {
	_, _, _ = c.Method(), c.Path(), c.PathBytes()
	_, _, _ = c.Query("q"), c.Queries(), c.Cookies("c")
	_, _, _ = c.Params("p"), c.ReqHeader("X"), c.Host()
	_, _, _ = c.Hostname(), c.IP(), c.IPs()
	_, _, _ = c.BaseURL(), c.FullURL(), c.OriginalURL()
	_, _, _ = c.Scheme(), c.Protocol(), c.Subdomains(1)
	_, _, _ = c.MediaType(), c.Charset(), c.FormValue("a")
	_, _ = c.MultipartForm()
	_, _ = c.BodyUncompressed()
	_ = c.Body()
	_, _ = c.Accepts("json"), c.Is("json")
	_, _ = c.Range(10)
	_, _ = c.Fresh(), c.Precondition()
	_, _ = c.Err(), c.Done()
	_ = c.RequestCtx().URI().FullURI()
	for range c.Headers() {
	}
	var v struct {
		A string `query:"a" path:"a" header:"a" cookie:"a" form:"a"`
	}
	_ = c.Bind().All(&v)
	c.SetHeader("X-Nosy", "yes").SetHeader("Cache-Control", "public").Status(200)
	return c.SendString("this must not be sent")
}

// Requests that the server refuses run through the App's middleware to its error handler, so they get an ID, CORS headers and a log
// line. Responses that middleware writes to such a request are ignored.
func TestRefusedRequests(t *testing.T) {
	for name, test := range refusedRequests() {
		for _, engine := range []gallop.EngineType{gallop.EngineAuto, gallop.EngineGoroutine} {
			t.Run(name+" "+map[gallop.EngineType]string{gallop.EngineAuto: "auto", gallop.EngineGoroutine: "goroutines"}[engine], func(t *testing.T) {
				t.Parallel()
				log := &records{}
				server := &gallop.Server{Engine: engine, ErrorLog: slog.New(slog.NewJSONHandler(log, nil))}
				if test.server != nil {
					test.server(server)
				}
				var told []error
				app := web.New(web.Config{Server: server, NoListenLog: true, ErrorHandler: func(c *web.Ctx, err error) {
					if told = append(told, err); c.Refused() != nil {
						c.SetHeader("X-Handled", "yes")
					}
					web.ProblemErrorHandler(c, err)
				}})
				app.Use(
					middleware.RequestID{New: func() string { return "the-id" }},
					middleware.Logger{Log: slog.New(slog.NewJSONHandler(log, nil))},
					middleware.Recover{},
					middleware.CORS{},
					middleware.BodyLimit{Size: 50},
					middleware.Static{Root: "."},
					middleware.Timeout{},
					middleware.Compress{},
					middleware.ETag{},
				)
				if !test.reads {
					app.UseFunc(
						nosy,
						func(c *web.Ctx) error { panic("a panic in middleware") },
						func(c *web.Ctx) error { return web.NewError(401) },
						func(c *web.Ctx) error { return errors.Join(c.Next(), c.Next()) },
						func(c *web.Ctx) error { c.Next(); return c.SendString("this must not be sent") },
					)
				}
				app.All("/", func(c *web.Ctx) error {
					if !test.reads {
						t.Error("the request has reached the handler")
					}
					_ = c.Body()
					return c.SendString("this must not be sent")
				})
				head, body := askRaw(t, app, test.request)
				for _, want := range []string{"X-Request-ID: the-id", "Access-Control-Allow-Origin: *", "X-Handled: yes", "Connection: close"} {
					if !strings.Contains(head, want+"\r\n") {
						t.Errorf("no %s in\n%s", want, head)
					}
				}
				var sent struct {
					Status    int
					Title     string
					RequestID string `json:"request_id"`
				}
				err := json.Unmarshal([]byte(body), &sent)
				if name == "HEAD" {
					sent.Status, sent.RequestID, sent.Title, err = 400, "the-id", "Bad Request", nil
				}
				if err != nil || sent.Status != test.status || sent.RequestID != "the-id" || sent.Title != gallop.StatusMessage(test.status) ||
					!strings.HasPrefix(head, "HTTP/1.") || head[9:12] != strconv.Itoa(test.status) {
					t.Errorf("%v %+v\n%s\n%s", err, sent, head, body)
				}
				for _, bad := range []string{"X-Nosy", "Cache-Control"} {
					if strings.Contains(head, bad) {
						t.Errorf("%s in\n%s", bad, head)
					}
				}
				app.Close() // waits for the log
				var e *web.Error
				if len(told) == 0 || !errors.As(told[len(told)-1], &e) || e.Status != test.status || e.Message != gallop.StatusMessage(test.status) || e.Err == nil {
					t.Fatalf("told %v", told)
				}
				list := log.requests(t)
				if len(list) == 0 || list[len(list)-1]["status"] != float64(test.status) || list[len(list)-1]["id"] != "the-id" {
					t.Errorf("logged %v", list)
				}
				if n := strings.Count(log.String(), quotedInJSON(e.Err.Error())); n != 1 {
					t.Errorf("the reason is in the log %d times:\n%s", n, log)
				}
			})
		}
	}
}

func quotedInJSON(s string) string {
	b, _ := json.Marshal(s)
	return strings.Trim(string(b), `"`)
}

// askRaw sends bytes over TCP and returns the head and the body of the response.
func askRaw(t *testing.T, app *web.App, request string) (head, body string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go app.Serve(ln)
	t.Cleanup(func() { app.Close() })
	for try := 0; ; try++ {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = io.WriteString(c, request)
		all, readErr := io.ReadAll(c)
		if err = errors.Join(err, readErr); len(all) > 0 || err == nil {
			head, body, _ = strings.Cut(string(all), "\r\n\r\n")
			if head != "" || try == 10 {
				return head + "\r\n", body
			}
		}
		if try == 10 { // if the machine stops the client, its time may be over before it has sent anything
			t.Fatal(err)
		}
	}
}

// A request beyond MaxConcurrentRequests reaches the error handler, too, and its connection goes on.
func TestRequestsBeyondTheLimit(t *testing.T) {
	for _, engine := range []gallop.EngineType{gallop.EngineAuto, gallop.EngineGoroutine} {
		app := web.New(web.Config{Server: &gallop.Server{Engine: engine, MaxConcurrentRequests: 1, Logger: newQuiet()}, NoListenLog: true})
		app.Use(middleware.RequestID{New: func() string { return "the-id" }}, middleware.CORS{})
		entered, leave := make(chan bool, 1), make(chan bool)
		app.Get("/waits", func(*web.Ctx) error { entered <- true; <-leave; return nil })
		app.Get("/", says("fine"))
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go app.Serve(ln)
		waits := make(chan error, 1)
		go func() {
			response, err := http.Get("http://" + ln.Addr().String() + "/waits")
			if err == nil {
				response.Body.Close()
			}
			waits <- err
		}()
		<-entered
		client := &http.Client{Transport: &http.Transport{}}
		for _, want := range []string{"503 Service Unavailable", "200 fine"} {
			response, err := client.Get("http://" + ln.Addr().String() + "/")
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			got := strconv.Itoa(response.StatusCode) + " " + string(body)
			if got != want || response.Header.Get("X-Request-Id") != "the-id" || response.Header.Get("Access-Control-Allow-Origin") != "*" || response.Close {
				t.Errorf("%s %v", got, response.Header)
			}
			if want[0] == '5' {
				close(leave)
				if err := <-waits; err != nil {
					t.Error(err)
				}
			}
		}
		app.Close()
	}
}
