package web

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
)

// everyString returns what each method that returns strings of a Ctx gives.
func everyString(c *Ctx) map[string]any {
	all := map[string]any{}
	v := reflect.ValueOf(c)
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		if m.Type.NumOut() != 1 || m.Name == "App" || strings.HasPrefix(m.Name, "Accepts") {
			continue
		}
		var in []reflect.Value
		name := "name"
		for j := 1; j < m.Type.NumIn(); j++ {
			if m.Type.In(j).Kind() == reflect.String {
				in = append(in, reflect.ValueOf(name))
			}
		}
		switch out := m.Type.Out(0); {
		case m.Type.NumIn()-1 > len(in) && !m.Type.IsVariadic():
			continue
		case out.Kind() == reflect.String, out == reflect.TypeFor[[]string](), out == reflect.TypeFor[map[string]string]():
			all[m.Name] = m.Func.Call(append([]reflect.Value{v}, in...))[0].Interface()
		}
	}
	return all
}

// bytesOf are the views of a Ctx.
func bytesOf(c *Ctx) map[string][]byte {
	return map[string][]byte{
		"ParamsBytes": c.ParamsBytes("name"), "QueryBytes": c.QueryBytes("name"), "CookiesBytes": c.CookiesBytes("name"),
		"ReqHeaderBytes": c.ReqHeaderBytes("name"), "PathBytes": c.PathBytes(), "Body": c.Body(),
	}
}

type keptStrings struct {
	URI    string            `uri:"name"`
	Query  string            `query:"name"`
	List   []string          `query:"list"`
	Table  map[string]string `query:"table"`
	Header string            `header:"name"`
	Cookie string            `cookie:"name"`
	Form   string            `form:"name"`
	Raw    []byte            `form:"name"`
}

// Every string that a Ctx returns stays valid and unchanged after the request. Views do not: PoisonReleased overwrites
// them.
func TestStringsAreKeptAndViewsAreNot(t *testing.T) {
	app := New(Config{Server: &gallop.Server{PoisonReleased: true}})
	kept, copies := map[string]any{}, map[string]string{}
	views := map[string][]byte{}
	var structs []keptStrings
	app.Host(":tenant.example.com").Post("/:name", func(c *Ctx) error {
		if len(structs) == 0 {
			c.SetHeader("name", "answer")
			kept, views = everyString(c), bytesOf(c)
			for name, s := range kept {
				copies[name] = fmt.Sprint(s) // a copy
			}
		}
		v, err := Bind[keptStrings](c)
		structs = append(structs, v)
		return err
	})
	client, server := memnet.Pipe()
	for _, word := range []string{"first", "other"} {
		form := "name=" + word
		fmt.Fprintf(client, "POST /%s?name=%s&list=%s&table[k]=%s HTTP/1.1\r\nHost: %s.example.com\r\nname: %s\r\nX-Request-ID: %s\r\nContent-Type: %s\r\nCookie: name=%s\r\nContent-Length: %d\r\n\r\n%s",
			word, word, word, word, word, word, word, typeForm, word, len(form), form)
	}
	client.CloseWrite()
	if err := app.config.Server.ServeConn(server); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if len(kept) < 20 || len(structs) != 2 {
		t.Fatalf("%d strings of %d requests: %v", len(kept), len(structs), kept)
	}
	for name, s := range kept {
		if s := fmt.Sprint(s); s != copies[name] {
			t.Errorf("%s was %q and became %q", name, copies[name], s)
		}
	}
	want := keptStrings{"first", "first", []string{"first"}, map[string]string{"k": "first"}, "first", "first", "first", []byte("first")}
	if !reflect.DeepEqual(structs[0], want) {
		t.Errorf("a struct that was kept became %+v", structs[0])
	}
	for name, view := range views {
		if strings.Contains(string(view), "first") {
			t.Errorf("%s is no view: %q", name, view)
		}
	}
}
