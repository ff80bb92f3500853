package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

func TestCodecs(t *testing.T) {
	app := New(Config{Server: quiet(), Codecs: []codec.Codec{
		shouting{"application/x-loud; volume=11"}, codec.JSON{KeepHTML: true}, shouting{"text/xml"}, shouting{"application/vnd.api+json"},
	}})
	app.Get("/json", func(c *Ctx) error { return c.JSON("<b>") })
	app.Get("/xml", func(c *Ctx) error { return c.XML("x") })
	app.Get("/loud", func(c *Ctx) error { return c.Encode("application/X-Loud; volume=3", 1) })
	app.Get("/api", func(c *Ctx) error { return c.Encode("application/vnd.api+json", 1) })
	app.Get("/hal", func(c *Ctx) error { return c.Encode("application/hal+json", "<") })
	app.Get("/auto", func(c *Ctx) error { return c.AutoFormat(1) })
	app.Get("/events", func(c *Ctx) error { return c.SSE(func(s *EventStream) error { return s.SendJSON("", "<b>") }) })
	app.Post("/", func(c *Ctx) error {
		var v int
		err := c.Bind().Body(&v)
		return errors.Join(err, c.SendString(fmt.Sprint(v)))
	})
	for target, want := range map[string]string{
		"/json":   `application/json "<b>"`,
		"/xml":    "application/xml; charset=utf-8 <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<string>x</string>",
		"/loud":   `application/X-Loud; volume=3 "LOUD"`,
		"/api":    `application/vnd.api+json "LOUD"`,
		"/hal":    `application/hal+json "<"`,
		"/auto":   `application/x-loud; volume=11 "LOUD"`,
		"/events": "text/event-stream data: \"<b>\"\n\n",
	} {
		if _, body, h := ask(t, app, "GET", target, "Accept: application/x-loud"); h.Get("Content-Type")+" "+body != want {
			t.Errorf("%s: %s %s, want %s", target, h.Get("Content-Type"), body, want)
		}
	}
	if _, _, h := ask(t, app, "POST", "/", "Content-Type: image/png"); h.Get("Accept") !=
		"application/json, application/xml, application/x-www-form-urlencoded, multipart/form-data, application/vnd.api+json, application/x-loud, text/xml" {
		t.Error(h.Get("Accept"))
	}
	for want, list := range map[string][]codec.Codec{
		"codec 1 is nil": {codec.JSON{}, nil},
		`codec 0 (web.shouting) has the content type "json", which is not a media type`: {shouting{"json"}},
		`codec 0 (web.shouting) has the content type ""`:                                {shouting{}},
		"codec.JSON and web.shouting are both for application/json":                     {codec.JSON{}, shouting{"application/JSON; a=b"}},
		"web.shouting and web.shouting are both for text/x":                             {shouting{"text/x"}, shouting{"text/x"}},
	} {
		mustPanic(t, want, func() { New(Config{Codecs: list}) })
	}
}

// halfway writes something before it fails.
type halfway struct{ shouting }

func (halfway) Encode(w io.Writer, _ any) error { io.WriteString(w, "half"); return errors.New("no") }

func TestCodecsThatFailSendNothing(t *testing.T) {
	app := New(Config{Server: quiet(), Codecs: []codec.Codec{halfway{shouting{"application/json"}}}})
	app.Get("/", func(c *Ctx) error {
		c.SendString("before")
		if err := c.JSON(1); err == nil {
			t.Error("no error")
		}
		return c.SendStatus(204)
	})
	app.Get("/error", func(c *Ctx) error { return c.JSON(1) })
	app.Get("/ignored", func(c *Ctx) error { _ = c.JSON(1); return nil })
	for target, want := range map[string]string{"/": "204 ", "/error": "500 Internal Server Error", "/ignored": "200 "} {
		if status, body, _ := ask(t, app, "GET", target); fmt.Sprint(status, " ", body) != want {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}

// The JSON of an App is that of encoding/json, also for what is decoded into a struct that has values already.
func TestJSONIsThatOfTheStandardLibrary(t *testing.T) {
	type inner struct {
		A int    `json:"a"`
		B string `json:"b,omitempty"`
	}
	type outer struct {
		Name   string           `json:"name"`
		List   []inner          `json:"list"`
		Array  [2]inner         `json:"array"`
		Table  map[string]inner `json:"table"`
		Point  *inner           `json:"point"`
		Any    any              `json:"any"`
		Time   time.Time        `json:"time"`
		Bytes  []byte           `json:"bytes"`
		Quoted int              `json:"quoted,string"`
		Float  float64          `json:"float"`
		Raw    json.RawMessage  `json:"raw"`
		inner
	}
	filled := func() *outer {
		return &outer{
			Name: "n", List: []inner{{1, "x"}, {2, "y"}}, Array: [2]inner{{3, "z"}, {4, "w"}}, Table: map[string]inner{"k": {5, "v"}}, Point: &inner{6, "p"},
			Any: &inner{7, "q"}, Bytes: []byte("bytes"), Quoted: 8, Float: 9.5, Raw: json.RawMessage("1"),
		}
	}
	app := New(Config{})
	for _, text := range []string{
		`{}`, `null`, `{"name":null,"list":null,"array":null,"table":null,"point":null,"any":null,"time":null,"bytes":null,"float":null}`,
		`{"list":[{"a":10}]}`, `{"list":[{},{},{"b":"c"}]}`, `{"list":[]}`, `{"list":[null]}`, `{"array":[{"a":1}]}`, `{"array":[{},{},{}]}`, `{"table":{"k":{"a":1},"l":{}}}`,
		`{"table":{"k":null}}`, `{"point":{"a":1}}`, `{"any":{"a":1}}`, `{"any":[1,"x",{}]}`, `{"NAME":"upper","Name":"mixed","name":"exact"}`, `{"a":1,"b":"é\u00e9\ud83d\ude00\ud800"}`,
		"{\"name\":\"\xff\"}", `{"time":"2006-01-02T15:04:05.123Z"}`, `{"time":"x"}`, `{"bytes":"eHl6"}`, `{"bytes":"?"}`, `{"quoted":"12"}`, `{"quoted":12}`, `{"float":1e400}`, `{"float":-0}`,
		`{"raw": [1, 2]}`, `{"unknown":{"deep":[{}]}}`, `{"name":"a","list":[{"a":"x"}],"float":3}`, `{"list":[{"a":1},{"a":1.5}],"name":"late"}`, `{"name":"a"`, `{"name":"a"} x`, ``, `[1]`, `"x"`, `{"name":1,"float":2}`,
	} {
		got, want := filled(), filled()
		gotErr, wantErr := app.codecs.json.Decode([]byte(text), got), json.Unmarshal([]byte(text), want)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("%s:\n%+v %v, want\n%+v %v", text, got, gotErr, want, wantErr)
		}
		var b strings.Builder
		encoded, err := json.Marshal(want)
		if gotErr := app.codecs.json.Encode(&b, want); b.String() != string(encoded) || fmt.Sprint(gotErr) != fmt.Sprint(err) {
			t.Errorf("%s %v, want %s %v", b.String(), gotErr, encoded, err)
		}
	}
}

// The body is written where it is sent from: a copy, as json.Marshal returns, is not made for it.
func TestJSONAllocates(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	v := &struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}{7, "gopher"}
	app := New(Config{})
	app.Get("/", func(c *Ctx) error { return c.JSON(v) })
	request := &gallop.RequestCtx{}
	marshal := testing.AllocsPerRun(200, func() { json.Marshal(v) })
	if n := testing.AllocsPerRun(200, func() {
		request.Response.Reset()
		app.Handler()(request)
	}); n > marshal || n > 1 || string(request.Response.Body()) != `{"id":7,"name":"gopher"}` {
		t.Errorf("%v allocations, %s", n, request.Response.Body())
	}
}
