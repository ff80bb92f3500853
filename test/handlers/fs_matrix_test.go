package handlers_test

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

// The matrix puts every combination of conditions and ranges to ServeContent and to
// net/http's, which have to agree. Where net/http is not right, the request it is asked
// is the one it should have taken it for, see forOracle.

const (
	matrixDate    = "Sat, 07 Mar 2020 10:00:00 GMT"
	matrixEarlier = "Sat, 07 Mar 2020 09:59:59 GMT"
	matrixLater   = "Sat, 07 Mar 2020 10:00:01 GMT"
)

var matrixTime = time.Date(2020, 3, 7, 10, 0, 0, 0, time.UTC)

type matrixRow struct{ method, ifMatch, ifUnmodified, ifNone, ifModified, ifRange, ranges string }

func (r matrixRow) fields() map[string]string {
	return map[string]string{
		"If-Match": r.ifMatch, "If-Unmodified-Since": r.ifUnmodified, "If-None-Match": r.ifNone,
		"If-Modified-Since": r.ifModified, "If-Range": r.ifRange, "Range": r.ranges,
	}
}

// matrixRanges are values of Range. ignored is why one is to be ignored, whatever
// net/http does.
var matrixRanges = []struct{ value, ignored string }{
	{value: ""},
	{value: "bytes=0-0"},
	{value: "bytes=3-6"},
	{value: "bytes=5-"},
	{value: "bytes=-4"},
	{value: "bytes=-100000000"},
	{value: "bytes=99999-"},
	{value: "bytes=0-99999999999999"},
	{value: "bytes=0-1,4-5"},
	{value: "bytes=0-0, ,99-100 , -1"},
	{value: "bytes=-0"},
	{value: "bytes=0-9223372036854775807"},
	{"bytes=0-99999999999999999999", "§14.1.2: a last position beyond the end is the end, however large"},
	{"Lines=1-2", "§14.2: an unknown unit is ignored"},
	{"bytes", "§14.2: what is no range is ignored"},
	{"bytes=", "§14.2: what is no range is ignored"},
	{value: "bytes=5-3"},
	{"bytes=a-b", "§14.2: what is no range is ignored"},
	{"bytes=0-1,x", "§14.2: one invalid range makes all of it invalid"},
	{"bytes=0-0,0-4", "§14.2: ranges that overlap may be ignored"},
	{"bytes=" + strings.Repeat("0-0,", 40), "§14.2: many small ranges may be ignored"},
}

// forOracle returns the request for net/http that has the right answer.
func forOracle(row matrixRow, ignored string, size int) matrixRow {
	if row.method != "GET" {
		row.ranges = "" // §14.2: Range is defined for GET alone; net/http applies it to all
	}
	if size == 0 {
		row.ranges = "" // §14.4: of no bytes there is no range; net/http sends "bytes 0--1/0"
	}
	switch {
	case strings.Contains(row.ranges, "99999999999999999999"):
		row.ranges = "bytes=0-" // net/http takes a number that does not fit 63 bits for no number
	case row.ranges == "bytes=-0":
		row.ranges = "bytes=99999-" // §14.1.2: not satisfiable; net/http sends "bytes 10-9/10"
	case row.ranges == "bytes=5-3":
		row.ranges = "bytes=99999-" // §15.5.17: rejected; net/http does not say how long the content is
	case ignored != "":
		row.ranges = ""
	}
	return row
}

func TestServeContentAgreesWithNetHTTP(t *testing.T) {
	t.Parallel()
	tags := []string{"", "*", `"a"`, `W/"a"`, `"b"`, `"b", "a"`, `junk`}
	dates := []string{"", matrixDate, matrixEarlier, matrixLater, "yesterday"}
	ifRanges := []string{"", `"a"`, `W/"a"`, `"b"`, matrixDate, matrixLater}
	rows := 0
	for _, tag := range []string{"", `"a"`, `W/"a"`} {
		sizes := []int{10}
		if tag == `"a"` && !testing.Short() {
			sizes = []int{0, 1, 10, 5000}
		}
		for _, size := range sizes {
			content := []byte(strings.Repeat("0123456789", size/10+1))[:size]
			for _, method := range []string{"GET", "HEAD", "POST"} {
				for _, r := range matrixRanges {
					check := func(row matrixRow) {
						rows++
						row.method, row.ranges = method, r.value
						compareWithNetHTTP(t, tag, content, row, forOracle(row, r.ignored, size))
					}
					for _, a := range tags {
						for _, b := range dates {
							check(matrixRow{ifMatch: a, ifUnmodified: b})
							check(matrixRow{ifNone: a, ifModified: b})
							check(matrixRow{ifUnmodified: b, ifNone: a})
						}
						for _, b := range tags {
							check(matrixRow{ifMatch: a, ifNone: b})
						}
						for _, b := range ifRanges {
							check(matrixRow{ifMatch: a, ifRange: b})
							check(matrixRow{ifNone: a, ifRange: b})
						}
					}
				}
			}
		}
	}
	t.Logf("%d requests", rows)
}

func compareWithNetHTTP(t *testing.T, tag string, content []byte, row, oracle matrixRow) {
	t.Helper()
	got := askServeContent(tag, content, row)
	want := askNetHTTP(tag, content, oracle)
	if got != want {
		t.Fatalf("ETag %s, %d bytes, %+v:\n got %.600s\nwant %.600s", tag, len(content), row, got, want)
	}
}

func askServeContent(tag string, content []byte, row matrixRow) string {
	var req gallop.Request
	req.Header.SetMethod(row.method)
	req.SetRequestURI("http://x/a.txt")
	for name, value := range row.fields() {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	var ctx gallop.RequestCtx
	ctx.Init(&req, nil, nil)
	if tag != "" {
		ctx.Response.Header.Set("ETag", tag)
	}
	gallop.ServeContent(&ctx, "a.txt", matrixTime, bytes.NewReader(content))
	resp := &ctx.Response
	header := func(name string) string { return string(resp.Header.Peek(name)) }
	return compared(resp.StatusCode(), row.method, header, resp.Body())
}

func askNetHTTP(tag string, content []byte, row matrixRow) string {
	req := &http.Request{Method: row.method, Header: http.Header{}}
	for name, value := range row.fields() {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	w := httptest.NewRecorder()
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	http.ServeContent(w, req, "a.txt", matrixTime, bytes.NewReader(content))
	return compared(w.Code, row.method, w.Header().Get, w.Body.Bytes())
}

// compared holds the parts of a response that are compared.
func compared(status int, method string, header func(string) string, body []byte) string {
	names := []string{"ETag", "Last-Modified", "Content-Range", "Content-Type", "Accept-Ranges"}
	switch status {
	case 304:
		names = []string{"ETag", "Last-Modified"}
	case 412, 416: // where the fields that may be left out differ, and the words
		names, body = []string{"Content-Range"}, nil
	}
	if method == "HEAD" {
		body = nil
	}
	text := fmt.Sprintln(status)
	for _, name := range names {
		value := header(name)
		if name == "Content-Type" && strings.HasPrefix(value, "multipart/") {
			mediaType, params, _ := mime.ParseMediaType(value)
			body = bytes.ReplaceAll(body, []byte(params["boundary"]), []byte("boundary"))
			value = mediaType
		}
		text += name + ": " + value + "\n"
	}
	return text + string(body)
}
