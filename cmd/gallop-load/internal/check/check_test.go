package check

import (
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/load/script"
)

// reply returns a response for tests.
func reply() *Reply {
	body := `{"id": 7, "name": "Ann", "tags": ["a", "b"], "a key": {"deep": true}, "none": null}`
	return &Reply{
		Response: &script.Response{Status: 201, Size: int64(len(body)), Body: []byte(body), Header: []script.Field{
			{Name: "Content-Type", Value: "application/json; charset=utf-8"}, {Name: "ETag", Value: `"x"`},
			{Name: "Set-Cookie", Value: "other=1"}, {Name: "Set-Cookie", Value: "session=s3cret; Path=/; HttpOnly"},
		}},
		Vars: func() map[string]string { return map[string]string{"wanted": "Ann"} },
	}
}

func TestChecks(t *testing.T) {
	for source, want := range map[string]bool{
		"status=201": true, "status=2xx": true, "status = 200-204": true, "status=4xx,201": true, "status=200": false, "status=4xx": false,

		"body contains Ann": true, `body contains "Ann"`: true, "body contains Bob": false, `body matches "id": \d,`: true, "body matches ^x": false, "body = x": false,
		`body contains "Ann" && status == 201`: true, `body contains "Ann" && status == 200`: false,

		"header:content-type=application/json": true, "header:Content-Type=text/html": false, "header:content-type=application/json; charset=utf-8": true,
		"header:content-type contains json": true, "header:content-type matches ^text": false, "header:etag": true, "header:age": false,
		"header:content-type==application/json": false, "header:age!=5": true, `header:etag="\"x\""`: true,

		"json .id == 7": true, "json .id == 8": false, "json .id != 8": true, "json .id < 8": true, "json .id <= 6": false, "json .id > 6": true, "json .id >= 8": false,
		"json .name == Ann": true, `json .name == "Ann"`: true, "json .name > 3": false, "json .name contains nn": true, "json .name matches ^B": false,
		"json .tags[1] == b": true, "json .tags[-1] == b": true, "json .tags[2]": false, `json .tags == ["a","b"]`: true, `json .["a key"].deep == true`: true,
		`json ["a_key"]`: false, `json ["a key"].deep`: true, "json .id==7": true, "json .none": true, "json .none == null": true, "json .missing == null": false, "json $.id == 7": true, "json .id.deeper": false, "json . contains Ann": true,

		"size > 10": true, "size == 3": false, "size<1000": true,

		"status == 201 && json.id > 6": true, "expr json.name == vars.wanted": true, `headers["etag"] == "\"x\""`: true, "len(json.tags) == 2": true,
		`size == len(body)`: true, "json.missing.deeper == 1": false, "json.name > 3": false, "all(json.tags, len(#) == 1)": true,
	} {
		c, err := Parse(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := c.Pass(reply()); got != want || c.Name != source {
			t.Errorf("%s: %v", source, got)
		}
	}
}

func TestMistakesInChecks(t *testing.T) {
	for source, want := range map[string]string{
		"status=9xx": "no set of statuses", "status=20": "no set of statuses", "status=300-200": "no set of statuses", "status=x": "no set of statuses",
		"body matches (": "missing closing )", "json .a[x == 1": "a JSON path looks like", "json ..a": "a JSON path looks like",
		"json .id < many": "many is no number", "json .id ==": "needs a value", "status": "expected bool", "colour == 1": "unknown name colour",
		`header:x="a`: "quote without an end", "": "unexpected token EOF", "1 +": "unexpected token", "json.id": "expected bool",
	} {
		if c, err := Parse(source); err == nil || !strings.Contains(err.Error(), want) {
			if source == "json.id" && err == nil && !c.Pass(reply()) {
				continue // it has any type until it is evaluated
			}
			t.Errorf("%q: %v, want %q", source, err, want)
		}
	}
}

func TestNeeds(t *testing.T) {
	for source, want := range map[string][2]bool{
		"status=2xx": {false, false}, "size > 1": {false, false}, "body contains x": {false, true}, "header:etag": {true, false}, "json .a": {false, true},
		"status == 200": {false, false}, `headers.etag == "x"`: {true, false}, "json.a == 1": {false, true}, `body == ""`: {false, true},
	} {
		c, err := Parse(source)
		if err != nil || c.NeedHead != want[0] || c.NeedBody != want[1] {
			t.Errorf("%s: %+v, %v", source, c, err)
		}
	}
}

// TestExpressionsAreLimited gives expressions that would take all memory or all time.
func TestExpressionsAreLimited(t *testing.T) {
	if _, err := Parse(strings.Repeat("status == 1 || ", 1000) + "true"); err == nil {
		t.Error("an expression with thousands of nodes is accepted")
	}
	c, err := Parse("len(map(1..1000, map(1..1000, #))) > 0")
	if err != nil {
		t.Fatal(err)
	}
	if c.Pass(reply()) {
		t.Error("an expression may create a million elements")
	}
}

func TestCaptures(t *testing.T) {
	for source, want := range map[string]string{
		"json .id": "7", "json .name": "Ann", "json .tags": `["a","b"]`, "json $.tags[0]": "a", `json .["a key"].deep`: "true",
		"header:etag": `"x"`, "header ETag": `"x"`, "cookie:session": "s3cret", `regexp "id": (\d+)`: "7", `regexp "id": \d`: `"id": 7`, "status": "201",
	} {
		c, err := ParseCapture(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, ok := c.Take(reply()); !ok || got != want {
			t.Errorf("%s: %q, %v", source, got, ok)
		}
	}
	for _, source := range []string{"json .missing", "header:age", "cookie:none", "regexp z+"} {
		if c, err := ParseCapture(source); err != nil {
			t.Errorf("%s: %v", source, err)
		} else if got, ok := c.Take(reply()); ok {
			t.Errorf("%s takes %q", source, got)
		}
	}
	for _, source := range []string{"", "xml .a", "header", "regexp (", "json a", "json .a[", `json .["a`} {
		if _, err := ParseCapture(source); err == nil {
			t.Errorf("%q is accepted", source)
		}
	}
}

func TestExample(t *testing.T) {
	r := reply()
	r.Body = append(r.Body, strings.Repeat("x", 300)...)
	if e := r.Example(); !strings.HasPrefix(e, "201\nContent-Type: application/json") || !strings.Contains(e, "\n\n{\"id\": 7") || len(e) > 500 {
		t.Errorf("%s", e)
	}
}
