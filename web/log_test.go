package web

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// logText is a log that goroutines may share.
type logText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take returns what was logged, without the time of a record.
func (l *logText) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.b.String()
	l.b.Reset()
	if rest, ok := strings.CutPrefix(text, "time="); ok {
		_, text, _ = strings.Cut(rest, " ")
	}
	return text
}

// The error of a request is logged once, in the form of slog, with what it takes to find the request: to the log of the server, or to
// slog's own.
func TestErrorsAreLoggedOnce(t *testing.T) {
	const want = `level=ERROR msg="request failed" method=GET path=/fails id=r-1 error="the disk is full"` + "\n"
	for name, set := range map[string]func(log *logText, s *gallop.Server){
		"ErrorLog":     func(log *logText, s *gallop.Server) { s.ErrorLog = slog.New(slog.NewTextHandler(log, nil)) },
		"Logger":       func(log *logText, s *gallop.Server) { s.Logger = printed{log} },
		"slog.Default": func(log *logText, _ *gallop.Server) { setDefault(t, slog.New(slog.NewTextHandler(log, nil))) },
	} {
		t.Run(name, func(t *testing.T) {
			log, server := &logText{}, &gallop.Server{}
			set(log, server)
			app := New(Config{Server: server})
			app.UseFunc(func(c *Ctx) error { return c.SetRequestID("r-1").Next() })
			app.Get("/fails", func(*Ctx) error { return errors.New("the disk is full") })
			app.Get("/logged", func(c *Ctx) error {
				if !c.MarkErrorLogged() || c.MarkErrorLogged() {
					t.Error("MarkErrorLogged")
				}
				return errors.New("the disk is full")
			})
			app.Get("/refuses", func(*Ctx) error { return NewError(404) })
			for _, target := range []string{"/refuses", "/logged", "/fails?secret=1", "/none"} {
				ask(t, app, "GET", target)
			}
			if got := log.take(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// printed is a Logger that has nothing but the text.
type printed struct{ to *logText }

func (p printed) Printf(format string, args ...any) { fmt.Fprintf(p.to, format+"\n", args...) }

// setDefault makes log that of slog during the test.
func setDefault(t *testing.T, log *slog.Logger) {
	before := slog.Default()
	slog.SetDefault(log)
	t.Cleanup(func() { slog.SetDefault(before) })
}

// The server logs where the App does, as it is then.
func TestServerLogsToSlog(t *testing.T) {
	server := &gallop.Server{}
	app := New(Config{Server: server})
	log := &logText{}
	setDefault(t, slog.New(slog.NewTextHandler(log, nil)))
	server.ErrorLog.With("a", 1).WithGroup("g").Warn("text", "b", 2)
	if got := log.take(); got != "level=WARN msg=text a=1 g.b=2\n" {
		t.Errorf("%q", got)
	}
	app.Get("/", func(*Ctx) error { panic("no") })
	ask(t, app, "GET", "/")
	if got := log.take(); !strings.Contains(got, `msg="panic in the handler"`) {
		t.Errorf("%q", got)
	}
}

// Each listener is named in the log, unless the program turns that off.
func TestListenIsLogged(t *testing.T) {
	for _, off := range []bool{false, true} {
		log := &logText{}
		app := New(Config{Server: &gallop.Server{ErrorLog: slog.New(slog.NewTextHandler(log, nil))}, NoListenLog: off})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listening := make(chan struct{})
		app.config.Server.OnListen = both(app.config.Server.OnListen, func(net.Listener) { close(listening) })
		go app.Serve(ln)
		<-listening
		want := "level=INFO msg=listening network=tcp addr=" + ln.Addr().String() + "\n"
		if off {
			want = ""
		}
		if got := log.take(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		app.Close()
	}
}

// A form whose temporary file cannot be written is a failure of the server: it gets 500 and is logged.
func TestFormWithoutTemporaryFiles(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	form := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\n" + strings.Repeat("x", 3<<20) + "\r\n--b--\r\n"
	for name, parse := range map[string]Handler{
		"FormFile": func(c *Ctx) error { _, err := c.FormFile("file"); return err },
		"Bind": func(c *Ctx) error {
			_, err := Bind[struct {
				File *multipart.FileHeader `form:"file"`
			}](c)
			return err
		},
	} {
		for _, streamed := range []bool{false, true} {
			log := &logText{}
			app := New(Config{Server: &gallop.Server{StreamRequestBody: streamed, ErrorLog: slog.New(slog.NewTextHandler(log, nil))}})
			app.Post("/", parse)
			req := httptest.NewRequest("POST", "/", strings.NewReader(form))
			req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			resp, err := app.Test(req)
			if err != nil {
				t.Fatal(err)
			}
			if text := log.take(); resp.StatusCode != 500 || !strings.Contains(text, "request failed") || !strings.Contains(text, "missing") {
				t.Errorf("%s, streamed %t: status %d, log %q", name, streamed, resp.StatusCode, text)
			}
		}
	}
}

// Errors of requests whose clients have disconnected are routine, so they are not logged at level Error.
func TestErrorsAfterDisconnectAreRoutine(t *testing.T) {
	requests := map[string]string{
		"upload":  "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nbegun",
		"stream":  "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n",
		"context": "GET /context HTTP/1.1\r\nHost: a\r\n\r\n",
	}
	for _, engine := range []gallop.EngineType{gallop.EngineLoop, gallop.EngineGoroutine} {
		for name, request := range requests {
			t.Run(fmt.Sprint(name, engine), func(t *testing.T) {
				log, begun, ended := &logText{}, make(chan bool, 1), make(chan bool, 1)
				server := &gallop.Server{Engine: engine, StreamRequestBody: true, ErrorLog: slog.New(slog.NewTextHandler(log, nil))}
				app := New(Config{Server: server, NoListenLog: true})
				app.Post("/upload", func(c *Ctx) error {
					begun <- true
					_, err := io.Copy(io.Discard, c.RequestCtx().RequestBodyStream())
					return err
				})
				app.Get("/stream", func(c *Ctx) error {
					begun <- true
					return c.SendStreamWriter(func(w *bufio.Writer) error {
						for {
							w.WriteString("more")
							if err := w.Flush(); err != nil {
								return err
							}
							time.Sleep(time.Millisecond)
						}
					})
				})
				app.Get("/context", func(c *Ctx) error {
					begun <- true
					<-c.Done()
					return fmt.Errorf("query: %w", c.Err())
				})
				ln, err := net.Listen("tcp4", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					defer close(ended)
					if err := app.Serve(ln); err != nil {
						t.Error(err)
					}
				}()
				nc, err := net.Dial("tcp4", ln.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				io.WriteString(nc, request)
				<-begun
				nc.Close()
				text := ""
				for begun := time.Now(); text == "" && time.Since(begun) < 10*time.Second; text = log.take() {
					time.Sleep(time.Millisecond)
				}
				if !strings.HasPrefix(text, "level=INFO ") || !strings.Contains(text, "error=") {
					t.Errorf("%q", text)
				}
				app.Close()
				<-ended
			})
		}
	}
}
