package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gallop-http/gallop/cmd/gallop-load/internal/resulttest"
	"github.com/gallop-http/gallop/internal/load/result"
)

func encode(t testing.TB, results ...*result.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, results...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestJSONRoundTrip reads what was written. The reports of both results are equal, and so are their files.
func TestJSONRoundTrip(t *testing.T) {
	written := []*result.Result{resulttest.Closed(), resulttest.Open()}
	data := encode(t, written...)
	read, err := ReadJSON(bytes.NewReader(data))
	if err != nil || len(read) != 2 {
		t.Fatal(len(read), err)
	}
	for i := range read {
		if text(t, read[i], false) != text(t, written[i], false) {
			t.Errorf("the report of result %d differs after reading", i)
		}
	}
	if !bytes.Equal(encode(t, read...), data) {
		t.Error("the file differs after reading and writing")
	}
	// An array has the same results.
	var array []json.RawMessage
	for _, r := range written {
		array = append(array, encode(t, r))
	}
	whole, _ := json.Marshal(array)
	if read, err := ReadJSON(bytes.NewReader(append([]byte("\n "), whole...))); err != nil || len(read) != 2 {
		t.Error(len(read), err)
	}
}

// Values of the file, so that a change of a name or a unit is noticed.
func TestJSONFields(t *testing.T) {
	var m map[string]any
	if err := json.Unmarshal(openFile(), &m); err != nil {
		t.Fatal(err)
	}
	series := m["series"].([]any)[0].(map[string]any)
	response := series["response"].(map[string]any)
	if m["schema"] != 1.0 || series["failed"] != 20.0 || response["count"] != 4980.0 || response["hdr"] == "" || response["p99"] == nil {
		t.Errorf("schema %v, failed %v, response %v", m["schema"], series["failed"], response)
	}
	if _, has := response["p9999"]; has {
		t.Error("p99.99 of 4980 responses")
	}
}

func TestReadFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(name, encode(t, resulttest.Repeats(2, 1, 1)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, err := ReadFiles(name, name); err != nil || len(all) != 4 {
		t.Error(len(all), err)
	}
	if _, err := ReadFiles(name, name+"x"); err == nil || !strings.Contains(err.Error(), "a.jsonx") {
		t.Error(err)
	}
}

// openFile is the file of a result with one request and few seconds.
var openFile = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	r := resulttest.Open()
	r.Series, r.Seconds = r.Series[1:], r.Seconds[:2]
	if err := WriteJSON(&b, r); err != nil {
		panic(err)
	}
	return b.Bytes()
})

// change returns a file with a result after f has changed its JSON.
func change(t *testing.T, f func(m map[string]any)) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(openFile(), &m); err != nil {
		t.Fatal(err)
	}
	f(m)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestHostileFilesAreRefused(t *testing.T) {
	series := func(m map[string]any) map[string]any { return m["series"].([]any)[0].(map[string]any) }
	second := func(m map[string]any) map[string]any { return m["seconds"].([]any)[0].(map[string]any) }
	response := func(m map[string]any) map[string]any { return series(m)["response"].(map[string]any) }
	for name, row := range map[string]struct{ file, err string }{
		"empty":                {" \n", "empty"},
		"no result":            {"[]", "no result"},
		"not JSON":             {"hello", "invalid"},
		"cut off":              {`{"schema":1`, "EOF"},
		"array cut off":        {"[" + string(encode(t, resulttest.Repeats(1, 1, 1)...)), "EOF"},
		"array and more":       {"[" + string(encode(t, resulttest.Repeats(1, 1, 1)...)) + "] {}", "unexpected {"},
		"another program":      {`{"metrics":{}}`, "schema is missing"},
		"a later schema":       {change(t, func(m map[string]any) { m["schema"] = 2 }), "schema 2 is not supported"},
		"too many series":      {change(t, func(m map[string]any) { m["series"] = make([]any, maxSeries+1) }), "2001 series"},
		"too many seconds":     {change(t, func(m map[string]any) { m["seconds"] = make([]any, maxSeconds+1) }), "seconds, the limit"},
		"null series":          {change(t, func(m map[string]any) { m["series"] = []any{nil} }), "null"},
		"negative count":       {change(t, func(m map[string]any) { series(m)["sent"] = -1 }), "negative"},
		"huge count":           {change(t, func(m map[string]any) { series(m)["done"] = int64(1) << 62 }), "too large"},
		"unexpected > done":    {change(t, func(m map[string]any) { series(m)["unexpected"] = 6000 }), "more unexpected"},
		"status":               {change(t, func(m map[string]any) { series(m)["status"] = map[string]any{"7": 1} }), "status 7"},
		"count of a histogram": {change(t, func(m map[string]any) { response(m)["count"] = 7 }), "contradicts"},
		"precision":            {change(t, func(m map[string]any) { response(m)["digits"] = 5 }), "precision"},
		"hdr":                  {change(t, func(m map[string]any) { response(m)["hdr"] = "AAAA" }), "histogram"},
		"heat":                 {change(t, func(m map[string]any) { second(m)["heat"] = make([]int, result.HeatRows+1) }), "25 heat rows"},
		"negative heat":        {change(t, func(m map[string]any) { second(m)["heat"] = []int{-1} }), "negative"},
		"negative latency":     {change(t, func(m map[string]any) { second(m)["p99"] = -5 }), "negative"},
		"ends before start":    {change(t, func(m map[string]any) { m["ended"] = "2020-01-01T00:00:00Z" }), "ends before"},
		"negative users":       {change(t, func(m map[string]any) { m["scenarios"] = []any{map[string]any{"vus": -1}} }), "scenario"},
		"negative CPU":         {change(t, func(m map[string]any) { m["server"] = map[string]any{"cpu": -1} }), "server"},
	} {
		_, err := ReadJSON(strings.NewReader(row.file))
		if err == nil || !strings.Contains(err.Error(), row.err) {
			t.Errorf("%s: %v, not an error with %q", name, err, row.err)
		}
	}
}

// FuzzReadJSON checks that every file is refused or can be shown in all forms.
func FuzzReadJSON(f *testing.F) {
	small := resulttest.Open()
	small.Series, small.Seconds = small.Series[:1], small.Seconds[:3]
	f.Add(encode(f, small))
	f.Add(encode(f, &result.Result{Schema: 1}))
	// Times and values at the limits of their types.
	extreme := resulttest.Open()
	extreme.Series, extreme.Seconds = extreme.Series[1:], extreme.Seconds[:2]
	extreme.Series[0].Errors[0].First = time.Time{}
	extreme.Series[0].Errors[1].First = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	extreme.Thresholds[0].Value, extreme.Thresholds[1].Value = 1e308, -1e308
	extreme.Seconds[0].Length, extreme.Seconds[0].P50, extreme.Seconds[1].Length = 1, 1<<53, 1<<53
	f.Add(encode(f, extreme))
	f.Add([]byte(`[{"schema":1,"series":[{"name":"x","response":{"count":1}}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ReadJSON(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, r := range all {
			if out := text(t, r, false); strings.Contains(out, "NaN") {
				t.Error(out)
			}
			var b bytes.Buffer
			for _, err := range []error{CSVSeconds(&b, r), CSVRequests(&b, r), Bench(&b, r), HTML(&b, r)} {
				if err != nil {
					t.Error(err)
				}
			}
		}
		if _, err := ReadJSON(bytes.NewReader(encode(t, all...))); err != nil {
			t.Errorf("what was read cannot be written and read again: %v", err)
		}
	})
}
