package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
)

// fake answers as GitHub would.
func fake(ctx *gallop.RequestCtx) {
	if string(ctx.Request.Header.Peek("Authorization")) != "Bearer secret" {
		ctx.SetStatusCode(401)
		return
	}
	switch string(ctx.Path()) {
	case "/repos/gopher/holes":
		ctx.WriteString(`{"full_name":"gopher/holes","description":"deep","stargazers_count":7,"pushed_at":"2026-01-02T03:04:05Z"}`)
	case "/repos/gopher/holes/issues":
		page := ctx.QueryArgs().GetUintOrZero("page")
		if page < 1 {
			ctx.Response.Header.Set("Link", `<http://github.test/repos/gopher/holes/issues?page=1>; rel="next"`)
		}
		fmt.Fprintf(ctx, `[{"number":%d,"title":"wet","user":{"login":"mole"}}]`, page+1)
	case "/repos/gopher/holes/contents/docs/a b.md":
		ctx.WriteString("# A b\n")
	case "/repos/gopher/holes/issues/7/comments":
		ctx.SetStatusCode(201)
		fmt.Fprintf(ctx, `{"body":"","html_url":"%d"}`, len(ctx.PostBody()))
	default:
		ctx.SetStatusCode(404)
		ctx.WriteString(`{"message":"Not Found"}`)
	}
}

func TestRun(t *testing.T) {
	ln := memnet.NewListener()
	server := &gallop.Server{Handler: fake}
	done := make(chan error)
	go func() { done <- server.Serve(ln) }()
	defer func() { server.Shutdown(); <-done }()
	client := &gallop.Client{DialContext: ln.DialContext}
	defer client.CloseIdleConnections()
	g, err := NewGitHub("http://github.test/", "secret", rest.WithClient(client))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ args, want string }{
		{"repo gopher/holes", "gopher/holes: deep\n7 stars, last pushed to 2026-01-02\n"},
		{"issues gopher/holes 9", "#1 wet (mole)\n#2 wet (mole)\n"},
		{"file gopher/holes docs/a+b.md", "# A b\n"},
		{"comment gopher/holes 7 text", "15\n"},
		{"issues gopher/holes 1", "#1 wet (mole)\n"},
		{"issues gopher/holes all", errUsage.Error()},
		{"issues gopher/holes -1", errUsage.Error()},
		{"comment gopher/holes #7 text", errUsage.Error()},
		{"comment gopher/holes 8 text", "there is no such thing, or it is not for everybody to see"},
		{"repo gopher/none", "there is no such thing, or it is not for everybody to see"},
		{"repo gopher", `"gopher" is not owner/name`},
		{"repo gopher/..", `rest: GET repos/{owner}/{repo}: a path must not contain the segment ".."`},
		{"", errUsage.Error()},
	} {
		args := strings.Fields(tc.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "+", " ")
		}
		var out strings.Builder
		if err := run(t.Context(), g, args, &out); err != nil {
			out.WriteString(explain(err))
		}
		if out.String() != tc.want {
			t.Errorf("%s: %q, want %q", tc.args, out.String(), tc.want)
		}
	}
}
