package expvarhandler_test

import (
	"encoding/json"
	"expvar"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/expvarhandler"
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
