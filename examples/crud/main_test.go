package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/gallop-http/gallop/examples/internal/program"
)

func TestMain(m *testing.M) { program.Main(m, main) }

func TestCRUD(t *testing.T) {
	p := program.Start(t, 1, "-addr", "127.0.0.1:0")
	const gopl = `{"isbn":"9780134190440","title":"The Go Programming Language","year":2015}`
	for _, tc := range []struct {
		rule               string
		method, path, body string
		status             int
		part               string // of the body; of the detail if the status is an error
	}{
		{"nothing there yet", "GET", "/books/9780134190440", "", 404, ""},
		{"create", "POST", "/books", gopl, 201, gopl},
		{"create it again", "POST", "/books", gopl, 409, "already"},
		{"read", "GET", "/books/9780134190440", "", 200, gopl},
		{"replace", "PUT", "/books/9780134190440", `{"title":"Go","year":2016}`, 200, `"title":"Go"`},
		{"the path goes before the body", "PUT", "/books/9780134190440", `{"isbn":"x","title":"Go"}`, 200, `"isbn":"9780134190440"`},
		{"replace what is missing", "PUT", "/books/9780000000000", `{"title":"Go"}`, 404, ""},
		{"invalid value", "POST", "/books", `{"isbn":"123","title":"Go"}`, 422, "isbn must have 13 digits"},
		{"invalid update", "PUT", "/books/9780134190440", `{"title":""}`, 422, "title must have"},
		{"wrong type", "POST", "/books", `{"isbn":"9780134190440","title":"Go","year":"soon"}`, 400, "year"},
		{"not JSON", "POST", "/books", `{"isbn":`, 400, ""},
		{"too large", "POST", "/books", `{"title":"` + strings.Repeat("x", 16<<10) + `"}`, 413, ""},
		{"unknown method", "PATCH", "/books/9780134190440", "", 405, ""},
		{"delete", "DELETE", "/books/9780134190440", "", 204, ""},
		{"delete it again", "DELETE", "/books/9780134190440", "", 404, ""},
	} {
		response, body := p.Do(tc.method, tc.path, tc.body, "Content-Type", "application/json")
		if response.StatusCode != tc.status || !strings.Contains(body, tc.part) {
			t.Errorf("%s: %s %s: %d %s, want %d with %s", tc.rule, tc.method, tc.path, response.StatusCode, body, tc.status, tc.part)
		}
		if tc.status >= 400 {
			wantProblem(t, tc.rule, response.Header.Get("Content-Type"), body, tc.status)
		}
		if at := response.Header.Get("Location"); tc.status == 201 && at != "/books/9780134190440" {
			t.Errorf("%s: Location: %s", tc.rule, at)
		}
	}
	response, body := p.Do("POST", "/books", "<book/>", "Content-Type", "text/plain")
	if response.StatusCode != 415 {
		t.Errorf("text: %d %s", response.StatusCode, body)
	}
	wantProblem(t, "text", response.Header.Get("Content-Type"), body, 415)

	p.Signal(syscall.SIGTERM)
	if err := p.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// wantProblem fails unless a body is problem details with this status.
func wantProblem(t *testing.T, rule, contentType, body string, status int) {
	t.Helper()
	var problem struct {
		Title     string
		Status    int
		RequestID string `json:"request_id"`
	}
	err := json.Unmarshal([]byte(body), &problem)
	if err != nil || contentType != "application/problem+json" || problem.Status != status || problem.Title == "" || problem.RequestID == "" {
		t.Errorf("%s: %s %s, %v", rule, contentType, body, err)
	}
}
