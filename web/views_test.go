package web

import (
	"context"
	"errors"
	"html/template"
	"io"
	"strings"
	"testing"
	"testing/fstest"
)

func templateFiles() fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range map[string]string{
		"layouts/main.html":  `<title>{{block "title" .}}none{{end}}</title>{{template "partials/nav" .}}<main>{{template "content" .}}</main>`,
		"layouts/other.html": `[{{template "content" .}}]`,
		"partials/nav.html":  `<nav>{{upper "n"}}</nav>{{define "button"}}<b>{{.}}</b>{{end}}`,
		"layouts/plain.html": `plain`,
		"a.html":             `{{define "title"}}A{{end}}{{template "button" .Name}}`,
		"dir/b.html":         `{{.Name}}`,
		"readme.txt":         `{{`,
	} {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

func newTemplates(t *testing.T, config TemplatesConfig) *Templates {
	t.Helper()
	config.Funcs = template.FuncMap{"upper": strings.ToUpper}
	templates, err := NewTemplates(config)
	if err != nil {
		t.Fatal(err)
	}
	return templates
}

func TestTemplates(t *testing.T) {
	app := New(Config{Server: quiet(), Views: newTemplates(t, TemplatesConfig{FS: templateFiles(), Layout: "layouts/main"})})
	data := map[string]string{"Name": "<n>"}
	app.Get("/a", func(c *Ctx) error { return c.Status(201).Render("a", data) })
	app.Get("/b", func(c *Ctx) error { return c.Render("dir/b", data) })
	app.Get("/other", func(c *Ctx) error { return c.RenderPage(Page{Name: "dir/b", Data: data, Layout: "layouts/other"}) })
	app.Get("/bare", func(c *Ctx) error { return c.RenderPage(Page{Name: "dir/b", Data: data, NoLayout: true}) })
	app.Get("/itself", func(c *Ctx) error {
		return c.RenderPage(Page{Name: "layouts/plain", Data: data, Layout: "layouts/plain"})
	})
	app.Get("/missing", func(c *Ctx) error { return c.Render("c", data) })
	app.Get("/outside", func(c *Ctx) error { return c.Render("../a", data) })
	app.Get("/fails", func(c *Ctx) error {
		if err := c.Render("a", 7); err == nil {
			t.Error("no error")
		}
		return nil
	})
	for target, want := range map[string]string{
		"/a": "<title>A</title><nav>N</nav><main><b>&lt;n&gt;</b></main>", "/b": "<title>none</title><nav>N</nav><main>&lt;n&gt;</main>",
		"/other": "[&lt;n&gt;]", "/bare": "&lt;n&gt;", "/itself": "plain", "/missing": "Internal Server Error", "/outside": "Internal Server Error", "/fails": "",
	} {
		for range 2 {
			status, body, h := ask(t, app, "GET", target)
			if body != want || target == "/a" && (status != 201 || h.Get("Content-Type") != typeHTML) {
				t.Errorf("%s: %d %q, want %q", target, status, body, want)
			}
		}
	}
}

// Templates are cached once each, even if callers spell their names differently.
func TestTemplatesAreKeptOnce(t *testing.T) {
	templates := newTemplates(t, TemplatesConfig{FS: templateFiles(), Layout: "layouts/main"})
	kept := len(templates.ready)
	for _, name := range []string{"./dir/b", "dir//b", "dir/./b", "x/../dir/b", "dir/b/", "././dir/b"} {
		var b strings.Builder
		if err := templates.Render(t.Context(), &b, Page{Name: name, Data: map[string]string{"Name": "n"}}); err != nil || !strings.Contains(b.String(), "<main>n</main>") {
			t.Errorf("%s: %q %v", name, b.String(), err)
		}
		if err := templates.Render(t.Context(), &b, Page{Name: name, Layout: "./layouts//main", Data: map[string]string{"Name": "n"}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(templates.ready); n != kept {
		t.Errorf("%d templates, and %d before", n, kept)
	}
}

func TestTemplatesReload(t *testing.T) {
	for _, reload := range []bool{true, false} {
		files := templateFiles()
		templates := newTemplates(t, TemplatesConfig{FS: files, Reload: reload})
		files["dir/b.html"] = &fstest.MapFile{Data: []byte("new")}
		var b strings.Builder
		if err := templates.Render(t.Context(), &b, Page{Name: "dir/b", Data: map[string]string{"Name": "old"}}); err != nil || (b.String() == "new") != reload {
			t.Errorf("%v: %q %v", reload, b.String(), err)
		}
	}
}

func TestTemplatesThatAreMalformed(t *testing.T) {
	files := templateFiles()
	files["bad.html"] = &fstest.MapFile{Data: []byte("{{")}
	if _, err := NewTemplates(TemplatesConfig{FS: files, Funcs: template.FuncMap{"upper": strings.ToUpper}}); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Error(err)
	}
}

type plainViews struct{}

func (plainViews) Render(ctx context.Context, w io.Writer, page Page) error {
	if page.Layout != "" {
		return errors.New("there are no layouts")
	}
	_, err := io.WriteString(w, page.Name+ctx.(*Ctx).Path())
	return err
}

func TestOtherViews(t *testing.T) {
	app := New(Config{Views: plainViews{}})
	app.Get("/", func(c *Ctx) error {
		if err := c.RenderPage(Page{Name: "x", Layout: "layout"}); err == nil {
			t.Error("a layout without layouts")
		}
		return c.Render("x", nil)
	})
	if _, body, _ := ask(t, app, "GET", "/"); body != "x/" {
		t.Error(body)
	}
	none := New(Config{})
	none.Get("/", func(c *Ctx) error {
		if err := c.Render("x", nil); !errors.Is(err, errNoViews) {
			t.Error(err)
		}
		return nil
	})
	ask(t, none, "GET", "/")
}
