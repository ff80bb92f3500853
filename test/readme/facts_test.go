package readme_test

import (
	"bytes"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/pagetest"
	"github.com/gallop-http/gallop/memnet"
)

// refusedBytes are requests for each row of the table of what is refused.
var refusedBytes = map[string][]string{
	"Content-Length together with Transfer-Encoding": {
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
	},
	"two Content-Length headers, equal or not, or a list of lengths in one": {
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 1\r\n\r\na",
	},
	"Transfer-Encoding that does not end in exactly one `chunked`": {
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \r\n\r\n0\r\n\r\n",
	},
	"a transfer coding other than chunked": {
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
	},
	"Transfer-Encoding in HTTP/1.0": {
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	},
	"a bare LF or a bare CR as a line end": {
		"GET / HTTP/1.1\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\rB: c\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\n\n",
	},
	"NUL or another control character in a name, a value or the target": {
		"GET / HTTP/1.1\r\nHost: a\r\nX\x00Y: b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\x00\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\x1b\r\n\r\n",
		"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
	},
	"whitespace before the colon, or a line that begins with whitespace (obs-fold)": {
		"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n",
	},
	"no Host header, two of them, or a value that is not a host": {
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
	},
	"a target with a fragment, a bad escape, a backslash, or bytes above 0x7F": {
		"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n",
	},
	"a malformed chunk size, chunk extension, or end of a chunk": {
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;=\r\na\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n",
	},
	"an expectation other than 100-continue": {
		"GET / HTTP/1.1\r\nHost: a\r\nExpect: a-pony\r\n\r\n",
	},
	"a version other than 1.x": {
		"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
		"GET / HTTP/0.9\r\nHost: a\r\n\r\n",
	},
	"TRACE, unless `AllowTrace` is set": {
		"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
	},
}

// Each row gets its status, the handler sees nothing, and no further request is served.
func TestDocsRefusals(t *testing.T) {
	t.Chdir(top)
	called := false
	s := &gallop.Server{
		Handler: func(*gallop.RequestCtx) { called = true },
		Logger:  log.New(io.Discard, "", 0),
	}
	rows := pagetest.Table(t, "docs/refusals.md", "| request | status |")
	for _, row := range rows {
		if len(refusedBytes[row[0]]) == 0 {
			t.Errorf("%s: no bytes show it", row[0])
		}
		for _, request := range refusedBytes[row[0]] {
			client, server := memnet.Pipe()
			io.WriteString(client, request+"GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
			client.CloseWrite()
			s.ServeConn(server)
			answer, err := io.ReadAll(client)
			if err != nil || called || !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+row[1]+" ")) || bytes.Count(answer, []byte("HTTP/1.1 ")) != 1 {
				t.Errorf("%s: %q is answered %q, %v, handler called: %t", row[0], request, answer, err, called)
			}
			called = false
		}
	}
	if len(rows) != len(refusedBytes) {
		t.Errorf("%d rows, %d with bytes", len(rows), len(refusedBytes))
	}
}

// conversions is the head of the table of what replaces the names of net/http.
const conversions = "| net/http | gallop |"

// Whatever the right side of the table names is used by an example, or at least by a test of what fasthttp shows.
func TestDocsConversions(t *testing.T) {
	t.Chdir(top)
	var examples strings.Builder
	names, err := filepath.Glob("example_*test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples.Write(src)
	}
	code := regexp.MustCompile("`([^`]+)`")
	for _, row := range pagetest.Table(t, "docs/from-nethttp.md", conversions) {
		spans := code.FindAllStringSubmatch(row[1], -1)
		if len(spans) == 0 {
			t.Errorf("%s: nothing to look for", row[0])
		}
		for _, span := range spans {
			if !strings.Contains(examples.String(), strings.TrimSuffix(span[1], "()")) {
				t.Errorf("%s: no example has %s", row[0], span[1])
			}
		}
	}
}

// The pages for programs that come from fasthttp and net/http have a row for each reason for which tests of other projects fail, in the
// words of the lists, which names the tests. They have no other rows.
func TestDocsHaveTheReasons(t *testing.T) {
	t.Chdir(top)
	for page, from := range map[string]struct {
		begins string         // where the tables begin
		lists  map[string]int // how many reasons there are at least
	}{
		"docs/migrate-from-fasthttp.md": {"These tests contradict an RFC:", map[string]int{"fasthttp": 10, "fiber": 10, "router": 1}},
		"docs/from-nethttp.md":          {"### Tests of net/http", map[string]int{"nethttp": 20, "suites": 3, "connect": 2, "go-github": 1}},
	} {
		_, text, found := strings.Cut(pagetest.Text(t, page), from.begins)
		if !found {
			t.Fatalf("%s has no %q", page, from.begins)
		}
		text = regexp.MustCompile(`\[\d+\]\((design/[^)]+)\)`).ReplaceAllString(text, "docs/$1")
		rows := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`).FindAllStringSubmatch(text, -1) {
			rows[strings.ReplaceAll(m[1], "`", "")] += m[2] // two lists may have the same reason
		}
		seen := map[string]bool{}
		for list, least := range from.lists {
			reasons := reasonsOf(pagetest.Text(t, "compat/"+list+"-failures.txt"))
			if len(reasons) < least {
				t.Errorf("%d reasons in the list of %s", len(reasons), list)
			}
			for reason, tests := range reasons {
				seen[reason] = true
				for _, test := range tests {
					if !strings.Contains(rows[reason], "`"+test+"`") {
						t.Errorf("%s has no row %q that names %s", page, reason, test)
					}
				}
			}
		}
		for row := range rows {
			if !seen[row] && !strings.HasPrefix(row, "what ") {
				t.Errorf("%s: no list has the reason %q", page, row)
			}
		}
	}
}

// Each list of tests that fail has a page with its reasons, see TestDocsHaveTheReasons.
func TestListsHaveAPage(t *testing.T) {
	t.Chdir(top)
	lists, err := filepath.Glob("compat/*-failures.txt")
	if err != nil || len(lists) != 7 {
		t.Errorf("%d lists, %v; a new one needs a line in TestDocsHaveTheReasons", len(lists), err)
	}
}

// reasonsOf returns the comments of a list that have tests below them, and those tests without their subtests.
func reasonsOf(list string) map[string][]string {
	reasons := map[string][]string{}
	for group := range strings.SplitSeq(list, "\n\n") {
		var comment, tests []string
		for line := range strings.Lines(group) {
			if text, ok := strings.CutPrefix(line, "#"); ok {
				comment = append(comment, strings.TrimSpace(text))
			} else if words := strings.Fields(line); len(words) > 1 {
				name := words[1]
				if strings.HasPrefix(name, "Test") {
					name, _, _ = strings.Cut(name, "/")
				}
				tests = append(tests, name)
			}
		}
		if len(tests) > 0 {
			reasons[strings.ReplaceAll(strings.Join(comment, " "), "`", "")] = tests
		}
	}
	return reasons
}

// docs/migrate-from-fasthttp.md names the tests of fasthttp that fail, and no others.
func TestDocsNameTheTestsThatFail(t *testing.T) {
	t.Chdir(top)
	page, list := pagetest.Text(t, "docs/migrate-from-fasthttp.md"), pagetest.Text(t, "compat/fasthttp-failures.txt")
	page, _, _ = strings.Cut(page, "## Tests of fiber that fail")
	listed := map[string]bool{}
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			name, _, _ := strings.Cut(words[1], "/")
			listed[name] = true
		}
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1) {
		named[m[1]] = true
	}
	for name := range listed {
		if !named[name] {
			t.Errorf("%s fails, and the page does not say so", name)
		}
	}
	for name := range named {
		if !listed[name] {
			t.Errorf("%s does not fail, or is not in the list", name)
		}
	}
	if len(listed) < 10 {
		t.Errorf("%d tests in the list", len(listed))
	}
}
