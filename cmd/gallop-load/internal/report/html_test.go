package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/result"
)

func htmlOf(t *testing.T, r *result.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHTML(t *testing.T) {
	golden(t, "closed.html", htmlOf(t, resulttest.Closed()))
	golden(t, "open.html", htmlOf(t, resulttest.Open()))
	if dir := os.Getenv("GALLOP_LOAD_PAGES"); dir != "" {
		for name, r := range map[string]*result.Result{"closed": resulttest.Closed(), "open": resulttest.Open(), "hostile": hostile()} {
			if err := os.WriteFile(dir+"/"+name+".html", htmlOf(t, r), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// element is a start tag of a page, or its text.
type element struct {
	name  string
	attrs []xml.Attr
}

// parse reads a page as XML, which it is on purpose.
func parse(t *testing.T, page []byte) (elements []element, text string) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(page))
	decoder.Entity = xml.HTMLEntity
	var all strings.Builder
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return elements, all.String()
		}
		if err != nil {
			t.Fatalf("page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			elements = append(elements, element{token.Name.Local, slices.Clone(token.Attr)})
		case xml.CharData:
			all.Write(token)
		}
	}
}

var allowed = strings.Fields(`html head meta title style body header h1 h2 p ul li main section dl dt dd div small figure figcaption
	svg desc line text path rect table thead tbody tr th td script`)

// A page with attacks in all strings has the same elements as a page without them, and attributes that neither run scripts
// nor load anything.
func TestHTMLFromAHostileTarget(t *testing.T) {
	for name, r := range map[string]*result.Result{"usual": resulttest.Open(), "hostile": hostile()} {
		elements, text := parse(t, htmlOf(t, r))
		scripts := 0
		for _, e := range elements {
			if !slices.Contains(allowed, e.name) {
				t.Errorf("%s: element %s", name, e.name)
			}
			if e.name == "script" {
				scripts++
			}
			for _, a := range e.attrs {
				key := strings.ToLower(a.Name.Local)
				if strings.HasPrefix(key, "on") || key == "href" || key == "src" || key == "style" {
					t.Errorf("%s: attribute %s=%q of %s", name, key, a.Value, e.name)
				}
			}
		}
		if scripts != 1 {
			t.Errorf("%s: %d scripts", name, scripts)
		}
		if name == "hostile" && !strings.Contains(text, `<script>alert(1)</script>\x1b]0;owned\a"'><img src=x onerror=alert(2)>\u202e`) {
			t.Error("the attack is not shown as text")
		}
	}
}

func TestHTMLIsSelfContained(t *testing.T) {
	page := string(htmlOf(t, resulttest.Open()))
	for _, bad := range []string{"http-equiv=\"refresh\"", "@import", "url(", "<link", "<img", "<iframe", "src=", "href="} {
		if strings.Contains(page, bad) {
			t.Errorf("page has %s", bad)
		}
	}
	// The only addresses are those of the target.
	for _, part := range strings.Split(page, "http://")[1:] {
		if !strings.HasPrefix(part, "127.0.0.1:8080") {
			t.Errorf("page has the address http://%.40s", part)
		}
	}
	if !strings.Contains(page, "prefers-color-scheme: dark") || !strings.Contains(page, "@media print") {
		t.Error("no dark colors, or nothing for printing")
	}
}

// Charts have titles and descriptions for screen readers, and IDs are unique.
func TestHTMLIsAccessible(t *testing.T) {
	elements, _ := parse(t, htmlOf(t, resulttest.Open()))
	ids := map[string]bool{}
	var charts, labels int
	for _, e := range elements {
		for _, a := range e.attrs {
			if a.Name.Local == "id" {
				if ids[a.Value] {
					t.Errorf("two elements have the ID %s", a.Value)
				}
				ids[a.Value] = true
			}
		}
	}
	for _, e := range elements {
		for _, a := range e.attrs {
			if a.Name.Local == "role" && a.Value == "img" {
				charts++
			}
			if a.Name.Local == "aria-labelledby" {
				labels++
				for _, id := range strings.Fields(a.Value) {
					if !ids[id] {
						t.Errorf("label %s does not exist", id)
					}
				}
			}
		}
	}
	if charts != 6 || labels < charts {
		t.Errorf("%d charts, %d labels", charts, labels)
	}
}

// Extreme results have charts without numbers that are not finite.
func TestHTMLOfExtremeResults(t *testing.T) {
	empty := &result.Result{Schema: result.Schema}
	one := resulttest.Closed()
	one.Series[0] = result.NewSeries("default", "one")
	one.Series[0].Response.Add(0)
	one.Seconds = one.Seconds[:1]
	silent := resulttest.Open()
	for i := range silent.Seconds {
		silent.Seconds[i] = result.Second{T: time.Duration(i) * time.Second, Length: time.Second}
	}
	instant := resulttest.Open()
	for i := range instant.Seconds {
		instant.Seconds[i].Length, instant.Seconds[i].T = 0, 0
	}
	long := resulttest.Open()
	for len(long.Seconds) < 5000 {
		s := long.Seconds[len(long.Seconds)-20]
		s.T += 20 * time.Second
		long.Seconds = append(long.Seconds, s)
	}
	for name, r := range map[string]*result.Result{"empty": empty, "one": one, "silent": silent, "instant": instant, "long": long} {
		page := htmlOf(t, r)
		parse(t, page)
		for _, bad := range []string{"NaN", "Inf", "+Inf"} {
			if bytes.Contains(page, []byte(bad)) {
				t.Errorf("%s: page has %s", name, bad)
			}
		}
		if len(page) > 400_000 {
			t.Errorf("%s: page of %d bytes", name, len(page))
		}
	}
}

// The charts do not show the rate of a rest of a few milliseconds at the end of a run.
func TestShortRest(t *testing.T) {
	second := func(length time.Duration, done int64) result.Second {
		return result.Second{Length: length, Done: done, CPU: length / 10, Max: time.Duration(done)}
	}
	r := &result.Result{Seconds: []result.Second{second(time.Second, 100), second(time.Second, 110), second(40*time.Millisecond, 20)}}
	rows, per := sum(r).condense(240)
	if len(rows) != 2 || per != 1 || rows[1].Length != 1040*time.Millisecond || rows[1].Done != 130 || rows[1].CPU != 104*time.Millisecond || rows[1].Max != 110 {
		t.Errorf("%d rows, %d seconds each: %+v", len(rows), per, rows)
	}
	if len(r.Seconds) != 3 || r.Seconds[1].Done != 110 {
		t.Errorf("the result has changed: %+v", r.Seconds)
	}
	r.Seconds[2].Length = 700 * time.Millisecond
	if rows, _ := sum(r).condense(240); len(rows) != 3 {
		t.Errorf("%d rows", len(rows))
	}
	if rows, per := sum(r).condense(2); len(rows) != 2 || per != 2 || rows[0].Done != 210 {
		t.Errorf("%d rows, %d seconds each: %+v", len(rows), per, rows)
	}
}
