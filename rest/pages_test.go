package rest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/rest"
)

// collected returns what an iterator yields, with the errors.
func collected(all iter.Seq2[int, error]) (list []int, errs error) {
	for n, err := range all {
		if errs = errors.Join(errs, err); err == nil {
			list = append(list, n)
		}
	}
	return list, errs
}

func TestPages(t *testing.T) {
	h := func(ctx *gallop.RequestCtx) {
		page := ctx.QueryArgs().GetUintOrZero("page")
		next := func(to string) string { return `Link: </v1/x>; rel="prev", <` + to + `>; rel="next"` }
		switch path := string(ctx.Path()); path {
		case "/v1/linked":
			if page < 2 {
				answer(ctx, 200, fmt.Sprintf("[%d,%d]", 2*page, 2*page+1), next(fmt.Sprintf("?a=b&page=%d", page+1)))
				return
			}
			answer(ctx, 200, "[]")
		case "/v1/loop":
			answer(ctx, 200, "[7]", next("/v1/loop?page=1"))
		case "/v1/foreign":
			answer(ctx, 200, "[7]", next("http://elsewhere.test/"))
		case "/v1/numbered":
			if page < 4 {
				answer(ctx, 200, fmt.Sprintf("[%d]", page))
				return
			}
			answer(ctx, 200, "[]")
		case "/v1/ignorant":
			answer(ctx, 200, "[7]")
		case "/v1/broken":
			if page == 2 {
				ctx.SetStatusCode(404)
				return
			}
			answer(ctx, 200, fmt.Sprintf("[%d]", page))
		case "/v1/cursor":
			switch string(ctx.QueryArgs().Peek("after")) {
			case "":
				answer(ctx, 200, `{"items":[1,2],"next":"a b"}`)
			case "a b":
				answer(ctx, 200, `{"items":[3]}`)
			}
		case "/v1/cursor-loop":
			answer(ctx, 200, `{"items":[1],"next":"x"}`)
		}
	}
	type envelope struct {
		Items []int
		Next  string
	}
	split := func(p envelope) ([]int, string) { return p.Items, p.Next }
	eachTransport(t, h, func(t *testing.T, a *api, over rest.Option) {
		c := a.client(over)
		linked := func(path string) iter.Seq2[int, error] { return rest.PagesByLink[int](t.Context(), c, path) }
		numbered := func(path string, first int) iter.Seq2[int, error] {
			return rest.PagesByNumber[int](t.Context(), c, path, "page", first)
		}
		cursors := func(path string) iter.Seq2[int, error] {
			return rest.PagesByCursor(t.Context(), c, path, "after", split)
		}
		for _, tc := range []struct {
			name string
			all  iter.Seq2[int, error]
			want []int
			err  error
		}{
			{"linked", linked("linked?a=b"), []int{0, 1, 2, 3}, nil},
			{"linked, a loop", linked("loop"), []int{7, 7}, rest.ErrPagesRepeat},
			{"numbered", numbered("numbered", 1), []int{1, 2, 3}, nil},
			{"numbered, with one in the path", numbered("numbered?page=1", 1), []int{1, 2, 3}, nil},
			{"numbered, with more in the path", numbered("numbered?a=b&p%61ge=2&page=1&c#d", 2), []int{2, 3}, nil},
			{"numbered, not understood", numbered("ignorant", 1), []int{7}, rest.ErrPagesRepeat},
			{"with a cursor", cursors("cursor"), []int{1, 2, 3}, nil},
			{"with a cursor, and one in the path", cursors("cursor?after="), []int{1, 2, 3}, nil},
			{"with a cursor, a loop", cursors("cursor-loop"), []int{1, 1}, rest.ErrPagesRepeat},
		} {
			for range 2 { // also once more
				got, err := collected(tc.all)
				if !slices.Equal(got, tc.want) || !errors.Is(err, tc.err) {
					t.Errorf("%s: %v, %v", tc.name, got, err)
				}
			}
		}
		if got, err := collected(linked("foreign")); len(got) != 1 || err == nil {
			t.Error(got, err)
		}
		got, err := collected(numbered("broken", 0))
		if as[*rest.APIError](t, err); !slices.Equal(got, []int{0, 1}) {
			t.Error(got, err)
		}
		before := a.calls.Load()
		for range linked("linked") {
			break
		}
		if a.calls.Load() != before+1 {
			t.Error("more pages were fetched than wanted")
		}
	})
}

// Changes that a hook makes to the requests for pages are gone when the pages are iterated over again.
func TestPagesAndHooks(t *testing.T) {
	var got []string
	eachTransport(t, func(ctx *gallop.RequestCtx) {
		got = append(got, fmt.Sprint(len(ctx.Request.Header.Peek("X-B")), string(ctx.Request.Header.Peek("X-C"))))
		answer(ctx, 200, "[]")
	}, func(t *testing.T, a *api, over rest.Option) {
		got = nil
		c := a.client(over, rest.WithRequestHook(func(_ context.Context, r *rest.Request) error {
			r.DelHeader("X-B").SetHeader("X-C", r.Header("X-C")+"c")
			return nil
		}))
		pages := rest.PagesByLink[int](t.Context(), c, "a", rest.SetHeader("X-A", "a"), rest.SetHeader("X-B", "b"), rest.SetHeader("X-C", "c"))
		for range 2 {
			if _, err := collected(pages); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(got, []string{"0cc", "0cc"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestLinks(t *testing.T) {
	for _, tc := range []struct{ field, want string }{
		{`<?page=2>; rel="next"`, "http://api.test/v1/a?page=2"},
		{`<?page=1>; rel="prev", <?since=7>; rel="next"`, "http://api.test/v1/a?since=7"},
		{`<https://other.test/?a,b;c>;rel=next`, "https://other.test/?a,b;c"},
		{`<b>; title="a, b; rel=\"x\""; rel="last next"`, "http://api.test/v1/b"},
		{`<b>; REL=NEXT`, "http://api.test/v1/b"},
		{`<b>; rel=last; rel=next`, ""},
		{`<b>; rel=next; anchor="/v1/other", <c>; rel=next`, "http://api.test/v1/c"}, // what is next to something else (RFC 8288 §3.2)
		{`<b>; anchor="#part"; rel=next`, ""},
		{`<b>; anchor="http://api.test/v1/a"; rel=next`, "http://api.test/v1/b"},
		{`<b>; anchor=""; rel=next`, "http://api.test/v1/b"},
		{`<b>`, ""},
		{`b; rel=next`, ""},
		{`<b; rel=next`, ""},
		{`<%>; rel=next`, ""},
		{`junk, <b>; rel=next`, "http://api.test/v1/b"},
		{`<b>; rel="next`, "http://api.test/v1/b"},
		{``, ""},
	} {
		a := serve(t, text(200, "", "Link: <x>; rel=first", "Link: "+tc.field))
		resp, err := a.client().Request().Get("a", nil)
		if err != nil || resp.Link("next") != tc.want {
			t.Errorf("%s: got %q, want %q (%v)", tc.field, resp.Link("next"), tc.want, err)
		}
	}
}

func TestIterators(t *testing.T) {
	c, err := rest.New("http://api.test/")
	if err != nil {
		t.Fatal(err)
	}
	r := c.Request().SetHeader("Foo", "1").SetHeader("Bar", "x").AddHeader("foo", "2").SetQuery("b", "1").AddQuery("B", "3").AddQuery("b", "2").
		SetForm("f", "1").SetCookie("c", "1").SetPathValue("p", "q").SetHeader("Gone", "x").DelHeader("gone")
	var got strings.Builder
	show := func(all iter.Seq2[string, []string]) {
		for name, values := range all {
			fmt.Fprint(&got, name, values, " ")
		}
	}
	show(r.Headers())
	show(r.Query())
	show(r.Form())
	for name, value := range r.Cookies() {
		fmt.Fprint(&got, name, value, " ")
	}
	for name, value := range r.PathValues() {
		fmt.Fprint(&got, name, value)
	}
	if want := "Foo[1 2] Bar[x] b[1 2] B[3] f[1] c1 pq"; got.String() != want {
		t.Errorf("got %q, want %q", got.String(), want)
	}
	for _, values := range r.Headers() { // a caller that appends does no harm
		_ = append(values, "overwritten")
	}
	got.Reset()
	if show(r.Headers()); got.String() != "Foo[1 2] Bar[x] " {
		t.Error(got.String())
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, values := range r.Headers() {
			_ = values
		}
		for _, values := range r.Query() {
			_ = values
		}
		for _, values := range r.Form() {
			_ = values
		}
		for _, value := range r.Cookies() {
			_ = value
		}
	}); n != 0 && !rest.RaceEnabled {
		t.Errorf("%v allocations", n)
	}
}

// A loop over a request may change it. It sees the request as it was when the loop began.
func TestIteratorsWhileTheRequestChanges(t *testing.T) {
	c, err := rest.New("http://api.test/")
	if err != nil {
		t.Fatal(err)
	}
	pairs := func(all iter.Seq2[string, string]) iter.Seq2[string, []string] {
		return func(yield func(string, []string) bool) {
			all(func(name, value string) bool { return yield(name, []string{value}) })
		}
	}
	type setter = func(r *rest.Request, name, value string) *rest.Request
	for _, of := range []struct {
		name     string
		all      func(*rest.Request) iter.Seq2[string, []string]
		set, add setter
	}{
		{"headers", (*rest.Request).Headers, (*rest.Request).SetHeader, (*rest.Request).AddHeader},
		{"query", (*rest.Request).Query, (*rest.Request).SetQuery, (*rest.Request).AddQuery},
		{"form", (*rest.Request).Form, (*rest.Request).SetForm, (*rest.Request).AddForm},
		{"cookies", func(r *rest.Request) iter.Seq2[string, []string] { return pairs(r.Cookies()) }, (*rest.Request).SetCookie, (*rest.Request).SetCookie},
		{"path values", func(r *rest.Request) iter.Seq2[string, []string] { return pairs(r.PathValues()) }, (*rest.Request).SetPathValue, (*rest.Request).SetPathValue},
	} {
		for change, do := range map[string]func(r *rest.Request, name string, n int){
			"add a name":               func(r *rest.Request, name string, n int) { of.add(r, fmt.Sprint("x", n), "1") },
			"add a value":              func(r *rest.Request, name string, n int) { of.add(r, name, "more") },
			"add a value to the first": func(r *rest.Request, name string, n int) { of.add(r, "a", "more") },
			"set the value":            func(r *rest.Request, name string, n int) { of.set(r, name, "new") },
			"set the next":             func(r *rest.Request, name string, n int) { of.set(r, "b", "new") },
			"delete": func(r *rest.Request, name string, n int) {
				if of.name == "headers" {
					r.DelHeader("a").DelHeader("c")
				}
			},
		} {
			t.Run(of.name+"/"+change, func(t *testing.T) {
				r := c.Request()
				of.set(of.set(of.set(r, "a", "1"), "b", "2"), "c", "3")
				var got []string
				for name, values := range of.all(r) {
					if len(got) > 10 {
						t.Fatal("the loop does not end")
					}
					do(r, name, len(got))
					for range of.all(r) { // a loop within it sees the change and ends, too
						do(r, name, len(got))
					}
					got = append(got, fmt.Sprint(name, values))
				}
				if want := "[a[1] b[2] c[3]]"; fmt.Sprint(got) != want {
					t.Errorf("got %v, want %s", got, want)
				}
			})
		}
	}
	r := c.Request().SetHeader("a", "1")
	for name := range r.Headers() {
		r.AddHeader(name, "2").SetHeader("b", "3")
	}
	if got := fmt.Sprint(maps.Collect(r.Headers())); got != "map[a:[1 2] b:[3]]" {
		t.Errorf("the next loop sees %s", got)
	}
}
