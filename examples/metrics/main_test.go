package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func TestMetrics(t *testing.T) {
	p := program.Start(t, 2, "-addr", "127.0.0.1:0", "-private", "127.0.0.1:0")
	public, private := p.URL, "http://"+p.Also[0]
	get := func(url, host string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	if status, _ := get(public+"/metrics", ""); status != 404 { // the program logs its addresses in no fixed order
		public, private = private, public
	}
	for range 3 {
		if status, body := get(public+"/hello/ada", ""); status != 200 || body != "hello ada\n" {
			t.Fatalf("%d %s", status, body)
		}
	}
	status, page := get(private+"/metrics", "")
	for _, line := range []string{
		`http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="/hello/{name}"} 3`,
		"go_goroutines ",
	} {
		if !strings.Contains(page, line) {
			t.Errorf("%d: the metrics do not have %s", status, line)
		}
	}
	if strings.Contains(page, "/hello/ada") {
		t.Error("paths of clients are labels")
	}
	for path, part := range map[string]string{"/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile", "/debug/vars": `"memstats"`} {
		if status, body := get(private+path, ""); status != 200 || !strings.Contains(body, part) {
			t.Errorf("%s: %d %.200s", path, status, body)
		}
		if status, _ := get(public+path, ""); status != 404 {
			t.Errorf("clients get %s: %d", path, status)
		}
		if status, _ := get(private+path, "evil.example"); status != 421 {
			t.Errorf("%s of another host: %d", path, status)
		}
	}
}
