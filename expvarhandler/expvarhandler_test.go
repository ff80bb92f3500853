package expvarhandler_test

import (
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/expvarhandler"
	"github.com/gallop-http/gallop/memnet"
)

func TestHandler(t *testing.T) {
	expvar.NewInt("answers").Set(42)
	expvar.NewString("quoted \"name\"").Set("value")
	for _, tt := range []struct {
		name, query  string
		want, absent string
	}{
		{"all", "", "memstats", "none"},
		{"some", "?r=^answ", "answers", "memstats"},
		{"quotes", "?r=quoted", `quoted "name"`, "answers"},
		{"none", "?r=no-such-name", "", "answers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp := ask(tt.query)
			var got map[string]any
			if err := json.Unmarshal(resp.Body(), &got); err != nil || resp.StatusCode() != 200 {
				t.Fatalf("%d, %v, %.200q", resp.StatusCode(), err, resp.Body())
			}
			if tt.want != "" && got[tt.want] == nil || got[tt.absent] != nil {
				t.Errorf("got %v", got)
			}
			if kind := string(resp.Header.ContentType()); kind != "application/json; charset=utf-8" {
				t.Errorf("Content-Type %q", kind)
			}
		})
	}
	if resp := ask("?r=("); resp.StatusCode() != 400 {
		t.Errorf("a bad expression: %d", resp.StatusCode())
	}
}

func ask(query string) *gallop.Response {
	var ctx gallop.RequestCtx
	ctx.Request.SetRequestURI("http://localhost/debug/vars" + query)
	expvarhandler.Handler(&ctx)
	return &ctx.Response
}

// oddVar is a variable that says what it likes, or panics.
type oddVar string

func (v oddVar) String() string {
	if v == "" {
		panic("on purpose")
	}
	return string(v)
}

// Whatever is published or requested, the response is valid JSON, or says what is wrong with the request.
func TestHostile(t *testing.T) {
	for name, v := range map[string]expvar.Var{
		"odd/bell \a": oddVar("1"), "odd/nul \x00": oddVar("2"), "odd/bad \xff\xfe": oddVar("3"), "odd/lines \n\u2028": oddVar("4"), "odd/\U0001f600": oddVar("5"),
		"odd/no JSON": oddVar("{broken"), "odd/two": oddVar("1, \"x\": 2"), "odd/bad text": oddVar("\xff"), "odd/blank": oddVar(" "),
		"odd/panics": oddVar(""), "odd/nil": nil, "odd/func": expvar.Func(func() any { return make(chan int) }),
	} {
		expvar.Publish(name, v)
	}
	resp := ask("?r=^odd")
	var got map[string]any
	if err := json.Unmarshal(resp.Body(), &got); err != nil || len(got) != 12 {
		t.Fatalf("%v: %d members in %s", err, len(got), resp.Body())
	}
	for name, want := range map[string]any{"odd/bell \a": 1.0, "odd/nul \x00": 2.0, "odd/no JSON": "{broken", "odd/two": "1, \"x\": 2", "odd/panics": nil, "odd/nil": nil} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%q is %v", name, value)
		}
	}
	for query, status := range map[string]int{
		"": 200, "?r": 200, "?r=": 200, "?r=%00": 200, "?r=%ff": 400, "?r=x&r=(": 200, "?r=(&r=x": 400, "?r=(a{1000}){1000}": 400, "?r=%5C": 400, "?r=(?P<": 400,
		"?r=" + strings.Repeat("a", 1000): 200, "?r=" + strings.Repeat("a", 1<<10+1): 400, "?r=" + url.QueryEscape(strings.Repeat("(a*)*", 100)): 200,
		"?r=" + url.QueryEscape(strings.Repeat("(.?){1000}", 100)): 400, "?r=(.?){1000}": 400, "?r=((a{10}){10}){10}": 400, "?r=(ab){3}|c{100,}": 200,
		"?r=" + strings.Repeat("[a-z]", 200): 200, "?r=(a{0,999})": 200, "?r=(a{0,999}){1,2}": 400,
		"?r=" + strings.Repeat("(", 1000): 400, "?r=%0d%0aX:%20y(": 400,
	} {
		resp := ask(query)
		if resp.StatusCode() != status || status == 200 && !json.Valid(resp.Body()) || len(resp.Body()) > 4<<10 && status != 200 {
			t.Errorf("%.30s: %d, %.100q", query, resp.StatusCode(), resp.Body())
		}
	}
}

// The cost of an expression is bounded. A kilobyte of repetitions allocated 468 MB.
func TestExpressionsAreBounded(t *testing.T) {
	for _, expression := range []string{strings.Repeat("(.?){1000}", 100), strings.Repeat("(.?){10}", 80), strings.Repeat("(.?)", 250), "(.{30}){30}"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ask("?r=" + url.QueryEscape(expression))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
			t.Errorf("%.20s: %d KB", expression, n>>10)
		}
	}
}

// Variables may be published and changed while they are shown.
func TestPublishMeanwhile(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			m := expvar.NewMap("meanwhile " + string(rune('a'+i)))
			for j := range 50 {
				m.Add(strings.Repeat("x", j), 1)
				if !json.Valid(ask("?r=meanwhile").Body()) {
					t.Error("no JSON")
				}
			}
		})
	}
	all.Wait()
}

// To serve the counters of a server, publish them as a variable.
func ExampleHandler_stats() {
	server := &gallop.Server{Handler: expvarhandler.Handler}
	expvar.Publish("example_server", expvar.Func(func() any { return server.Stats() }))
	ln := memnet.NewListener()
	go server.Serve(ln)
	defer server.Close()
	client := &gallop.HostClient{Addr: "memory", Dial: func(string) (net.Conn, error) { return ln.Dial() }}
	_, body, err := client.Get(nil, "http://memory/?r=^example_server$")
	var vars struct {
		Server gallop.ServerStats `json:"example_server"`
	}
	err = errors.Join(err, json.Unmarshal(body, &vars))
	fmt.Println(vars.Server.Running, err)
	// Output: 1 <nil>
}
