package web_test

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing/fstest"

	"github.com/gallop-http/gallop/web"
)

// show prints what an application answers.
func show(app *web.App, request *http.Request) {
	response, err := app.Test(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(body))
}

func ExampleBind() {
	type search struct {
		Shop string   `uri:"shop"`
		Page int      `query:"page" default:"1"`
		Tags []string `query:"tag"`
	}
	app := web.New(web.Config{})
	app.Get("/shops/:shop/items", func(c *web.Ctx) error {
		s, err := web.Bind[search](c)
		if err != nil {
			return err
		}
		return c.JSON(s)
	})
	show(app, httptest.NewRequest("GET", "/shops/corner/items?tag=new&tag=red", nil))
	show(app, httptest.NewRequest("GET", "/shops/corner/items?page=two", nil))
	// Output:
	// 200 {"Shop":"corner","Page":1,"Tags":["new","red"]}
	// 400 query "page" is not a whole number
}

func ExampleBindError() {
	app := web.New(web.Config{ErrorHandler: func(c *web.Ctx, err error) {
		var wrong *web.BindError
		if errors.As(err, &wrong) {
			c.Status(http.StatusBadRequest).JSON(map[string]string{"in": string(wrong.Source), "field": wrong.Field})
			return
		}
		web.DefaultErrorHandler(c, err)
	}})
	app.Post("/items", func(c *web.Ctx) error {
		var item struct {
			Price int `json:"price"`
		}
		return c.Bind().JSON(&item)
	})
	show(app, httptest.NewRequest("POST", "/items", strings.NewReader(`{"price":"much"}`)))
	// Output:
	// 400 {"field":"price","in":"json"}
}

func ExampleRouter_MountHTTP() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "user ", r.PathValue("id")) })
	app := web.New(web.Config{})
	app.MountHTTP("/old", mux)
	show(app, httptest.NewRequest("GET", "/old/users/7", nil))
	// Output:
	// 200 user 7
}

func ExampleCtx_SSE() {
	app := web.New(web.Config{})
	app.Get("/events", func(c *web.Ctx) error {
		return c.SSE(func(s *web.EventStream) error {
			for i := range 2 {
				if err := s.SendJSON("tick", i); err != nil {
					return err
				}
			}
			return nil
		})
	})
	show(app, httptest.NewRequest("GET", "/events", nil))
	// Output:
	// 200 event: tick
	// data: 0
	//
	// event: tick
	// data: 1
}

func ExampleTemplates() {
	files := fstest.MapFS{
		"layout.html": {Data: []byte(`<title>{{block "title" .}}Shop{{end}}</title>{{template "content" .}}`)},
		"item.html":   {Data: []byte(`{{define "title"}}{{.Name}}{{end}}<h1>{{.Name}}</h1>`)},
	}
	views, err := web.NewTemplates(web.TemplatesConfig{FS: files, Layout: "layout", Funcs: template.FuncMap{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	app := web.New(web.Config{Views: views})
	app.Get("/", func(c *web.Ctx) error { return c.Render("item", map[string]string{"Name": "<cup>"}) })
	show(app, httptest.NewRequest("GET", "/", nil))
	// Output:
	// 200 <title>&lt;cup&gt;</title><h1>&lt;cup&gt;</h1>
}

func ExampleFormats() {
	app := web.New(web.Config{})
	app.Get("/", web.Formats(
		web.Offer{MediaType: "html", Handler: func(c *web.Ctx) error { return c.HTML("<p>hello") }},
		web.Offer{MediaType: "json", Handler: func(c *web.Ctx) error { return c.JSON("hello") }},
	))
	request := httptest.NewRequest("GET", "/", nil)
	request.Header.Set("Accept", "text/html;q=0.5, application/*")
	show(app, request)
	// Output:
	// 200 "hello"
}

func ExampleProblemErrorHandler() {
	app := web.New(web.Config{ErrorHandler: web.ProblemErrorHandler})
	app.Get("/notes", func(c *web.Ctx) error {
		var page struct {
			Number int `query:"page"`
		}
		if err := c.Bind().Query(&page); err != nil {
			return err
		}
		return web.NewError(409, "the notes are locked")
	})

	for _, target := range []string{"/notes", "/notes?page=x", "/none"} {
		request, _ := http.NewRequest("GET", target, nil)
		show(app, request)
	}
	// Output:
	// 409 {"title":"Conflict","status":409,"detail":"the notes are locked"}
	// 400 {"title":"Bad Request","status":400,"detail":"query \"page\" is not a whole number","errors":[{"in":"query","name":"page","detail":"is not a whole number"}]}
	// 404 {"title":"Not Found","status":404}
}

// Old addresses stand behind the routes: they are looked for if no route matches.
func ExampleApp_NotFound() {
	app := web.New(web.Config{})
	app.Get("/notes", func(c *web.Ctx) error { return c.SendString("notes") })
	app.NotFound(func(c *web.Ctx) error {
		if name, ok := strings.CutSuffix(c.Path(), ".php"); ok {
			return web.NewError(410, "this page is now "+name)
		}
		return c.Next()
	})

	for _, target := range []string{"/notes", "/notes.php", "/none"} {
		request, _ := http.NewRequest("GET", target, nil)
		show(app, request)
	}
	// Output:
	// 200 notes
	// 410 this page is now /notes
	// 404 Not Found
}
