// Package migration holds programs for other frameworks, and the same programs on package web. The pages in docs show them.
package migration

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/web"
	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
)

// response is what a client sees of a response.
type response struct {
	status      int
	contentType string // without a charset of utf-8, which some frameworks leave out
	body        string // without a line break at its end, which some frameworks add
}

var requests = []struct {
	name, method, path, token, body string
	want                            response
}{
	{"parameter and query", "GET", "/hello/gopher?end=!", "", "", response{200, "text/plain", "hello, gopher!"}},
	{"escaped parameter", "GET", "/hello/caf%C3%A9", "", "", response{200, "text/plain", "hello, café"}},
	{"no route", "GET", "/nothing", "", "", response{404, "", "Not Found"}},
	{"no token", "PUT", "/api/orders/7", "", `{"item":"hay","count":2}`, response{401, "", "missing token"}},
	{"wrong token", "PUT", "/api/orders/7", "Bearer guess", `{"item":"hay","count":2}`, response{401, "", "missing token"}},
	{"order", "PUT", "/api/orders/7", "Bearer secret", `{"item":"hay","count":2}`, response{201, "application/json", `{"id":7,"item":"hay","count":2}`}},
	{"no JSON", "PUT", "/api/orders/7", "Bearer secret", `{"item":`, response{400, "", "invalid order"}},
	{"wrong type", "PUT", "/api/orders/7", "Bearer secret", `{"count":"two"}`, response{400, "", "invalid order"}},
	{"wrong parameter", "PUT", "/api/orders/seven", "Bearer secret", `{}`, response{400, "", "invalid order"}},
}

// errorBody is the shape of an error in each framework's program.
var errorBody = map[string]struct{ contentType, before, after string }{
	"echo":  {"application/json", `{"message":"`, `"}`},
	"gin":   {"application/json", `{"error":"`, `"}`},
	"chi":   {"text/plain", "", ""},
	"fiber": {"text/plain", "", ""},
}

// The program for another framework and the one for web respond alike, and both exit with status 0 after SIGTERM.
func TestSameResponses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no SIGTERM")
	}
	for name, shape := range errorBody {
		t.Run(name, func(t *testing.T) {
			for _, program := range []string{"before", "after"} {
				t.Run(program, func(t *testing.T) {
					url := start(t, filepath.Join(name, program))
					for _, r := range requests {
						want := r.want
						if want.status >= 400 {
							want.contentType, want.body = shape.contentType, shape.before+want.body+shape.after
						}
						if got := send(t, r.method, url+r.path, r.token, r.body); got != want {
							t.Errorf("%s: got %+v, want %+v", r.name, got, want)
						}
					}
				})
			}
		})
	}
}

// start builds and runs the program in a directory, and returns its URL. When t ends, the program has to end after SIGTERM.
func start(t *testing.T, dir string) (url string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./"+filepath.ToSlash(dir)).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for range 5 { // another program may take the port
		if url, ok := run(t, program); ok {
			return url
		}
	}
	t.Fatal("the program never gets its port")
	return ""
}

// run runs a program with a free port. ok is false if another program has taken the port meanwhile.
func run(t *testing.T, program string) (url string, ok bool) {
	t.Helper()
	addr := wiretest.FreeAddress(t)
	_, port, _ := net.SplitHostPort(addr)

	var log strings.Builder
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "PORT="+port, "GIN_MODE=release")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range 500 {
		select {
		case err := <-ended:
			if strings.Contains(log.String(), "address already in use") {
				return "", false
			}
			t.Fatalf("the program has ended: %v\n%s", err, log.String())
		default:
		}
		if conn, err := net.Dial("tcp4", addr); err == nil {
			conn.Close()
			t.Cleanup(func() {
				cmd.Process.Signal(syscall.SIGTERM)
				killer := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
				defer killer.Stop()
				if err := <-ended; err != nil {
					t.Errorf("after SIGTERM: %v\n%s", err, log.String())
				}
			})
			return "http://" + addr, true
		}
		time.Sleep(20 * time.Millisecond)
	}
	cmd.Process.Kill()
	<-ended
	t.Fatalf("the program does not listen:\n%s", log.String())
	return "", false
}

func send(t *testing.T, method, url, token, body string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	contentType, parameter, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if parameter = strings.ToLower(strings.TrimSpace(parameter)); parameter != "" && parameter != "charset=utf-8" {
		contentType += "; " + parameter
	}
	return response{resp.StatusCode, contentType, strings.TrimSuffix(string(got), "\n")}
}

// The pages show the programs as they are.
func TestPagesShowThePrograms(t *testing.T) {
	for name := range errorBody {
		page, err := os.ReadFile("../from-" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{"before", "after"} {
			source, err := os.ReadFile(filepath.Join(name, program, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ := strings.Cut(string(source), "\npackage main\n")
			if !strings.Contains(string(page), "```go\npackage main\n"+text+"```\n") {
				t.Errorf("from-%s.md does not show %s/%s/main.go", name, name, program)
			}
		}
	}
}

// An application of another framework serves a prefix, or all paths that have no route.
func TestOldInsideNew(t *testing.T) {
	hello := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "old "+r.URL.Path) }
	e := echo.New()
	e.GET("/*", func(c echo.Context) error { return c.String(200, "old "+c.Request().URL.Path) })
	g := gin.New()
	g.NoRoute(func(c *gin.Context) { c.Status(200); hello(c.Writer, c.Request) })
	r := chi.NewRouter()
	r.Get("/*", hello)
	for name, old := range map[string]http.Handler{"echo": e, "gin": g, "chi": r} {
		app := web.New(web.Config{})
		app.Get("/hello", func(c *web.Ctx) error { return c.SendString("new") })
		app.MountHTTP("/old", old)
		app.All("/{path...}", web.FromHTTP(old))
		app.Group("", web.Handler(func(c *web.Ctx) error { return c.Next() })).
			Get("/digits/{id<regex([0-9]+)>}", func(c *web.Ctx) error { return c.SendString("digits") })
		for path, want := range map[string]string{
			"/hello": "new", "/old/a/b": "old /a/b", "/a/b": "old /a/b", "/digits/7": "digits", "/digits/seven": "old /digits/seven",
		} {
			resp, err := app.Test(httptest.NewRequest("GET", path, nil))
			if err != nil {
				t.Fatal(err)
			}
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || string(body) != want {
				t.Errorf("%s, %s: got %d %q, want %q", name, path, resp.StatusCode, body, want)
			}
		}
	}
}
