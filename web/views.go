package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// Views renders pages for Ctx.Render and Ctx.RenderPage. [Templates] implements it. Render may be called by any number of
// goroutines at once, and should escape the data that it puts into HTML. ctx is the [*Ctx] of the request, through which
// Render can reach the user, the language or a nonce. w is a buffer: nothing is sent if Render fails.
type Views interface {
	Render(ctx context.Context, w io.Writer, page Page) error
}

// Page says what Views renders.
type Page struct {
	// Name is the name of the template.
	Name string

	// Data is what the template shows.
	Data any

	// Layout is the name of the template around the page. If it is empty, Views uses its default layout, if it has one.
	Layout string

	// NoLayout renders the page without a layout. Layout is ignored then.
	NoLayout bool
}

// Render sends the HTML that Config.Views makes of a template and data, in the default layout. See RenderPage.
func (c *Ctx) Render(name string, data any) error { return c.RenderPage(Page{Name: name, Data: data}) }

// RenderPage sends the HTML that Config.Views makes of a page. The Content-Type is text/html in UTF-8 unless one was set. If
// rendering fails, nothing is sent.
func (c *Ctx) RenderPage(page Page) error {
	views := c.app.config.Views
	if views == nil {
		return errNoViews
	}
	c.request.ResetBody()
	if err := views.Render(c, c.request.Response.BodyWriter(), page); err != nil {
		c.request.ResetBody()
		return err
	}
	c.chooseType(typeHTML)
	return nil
}

// TemplatesConfig is where Templates come from. The zero value of each field but FS is its default.
type TemplatesConfig struct {
	// FS has the files, as an embed.FS or os.DirFS has.
	FS fs.FS

	// Extension is what files of templates end in; ".html" by default. It is not part of their names.
	Extension string

	// Layout is the name of the template that pages are in, which has {{template "content" .}} where they
	// belong; "" for none.
	Layout string

	// Partials is the directory of templates, and of others defined in their files, that all pages and layouts may use;
	// "partials" by default.
	Partials string

	// Funcs are functions for templates.
	Funcs template.FuncMap

	// Reload reads the files each time, for development.
	Reload bool
}

// Templates are templates of html/template, one in each file. The name of a page is the path of its file without the
// extension, as "users/list". What a page defines, for example for {{block "title" .}} of its layout, is defined for that
// page alone.
type Templates struct {
	config TemplatesConfig

	mu    sync.Mutex
	ready map[[2]string]*template.Template // by page and layout
}

// NewTemplates returns the templates in the files. It fails if one of them is malformed.
func NewTemplates(config TemplatesConfig) (*Templates, error) {
	if config.Extension == "" {
		config.Extension = ".html"
	}
	if config.Partials == "" {
		config.Partials = "partials"
	}
	t := &Templates{config: config, ready: map[[2]string]*template.Template{}}
	names, err := t.names(".")
	if err != nil {
		return nil, fmt.Errorf("web: templates: %w", err)
	}
	for _, name := range names {
		layout := config.Layout
		if name == layout {
			layout = "" // see Render
		}
		if _, err := t.find(name, layout); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// names returns the names of the templates in a directory and below.
func (t *Templates) names(dir string) (names []string, err error) {
	err = fs.WalkDir(t.config.FS, dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, ok := strings.CutSuffix(file, t.config.Extension); ok && !entry.IsDir() {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// Render writes a page to w. It implements [Views] and ignores ctx. A template is never put into itself: a layout that is
// rendered as a page has no layout.
func (t *Templates) Render(_ context.Context, w io.Writer, page Page) error {
	name, layout := path.Clean(page.Name), page.Layout // or each of its spellings would be kept
	if layout == "" {
		layout = t.config.Layout
	}
	if layout != "" {
		layout = path.Clean(layout)
	}
	if page.NoLayout || name == layout {
		layout = ""
	}
	set, err := t.find(name, layout)
	if err != nil {
		return err
	}
	return set.Execute(w, page.Data)
}

// find returns what renders a page in a layout.
func (t *Templates) find(name, layout string) (set *template.Template, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := [2]string{name, layout}
	if set = t.ready[key]; set != nil && !t.config.Reload {
		return set, nil
	}
	if set, err = t.parse(name, layout); err != nil {
		return nil, fmt.Errorf("web: template %q: %w", name, err)
	}
	t.ready[key] = set
	return set, nil
}

// parse reads the files of a page in a layout. What is read later replaces what has the same name.
func (t *Templates) parse(name, layout string) (*template.Template, error) {
	set := template.New("").Funcs(t.config.Funcs)
	partials, err := t.names(t.config.Partials)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	first := name
	if layout != "" {
		first = layout
		partials = append(partials, layout)
	}
	for _, file := range append(partials, name) {
		text, err := fs.ReadFile(t.config.FS, path.Clean(file)+t.config.Extension)
		if err != nil {
			return nil, err
		}
		as := file
		if file == name && layout != "" {
			as = "content"
		}
		if _, err := set.New(as).Parse(string(text)); err != nil {
			return nil, err
		}
	}
	return set.Lookup(first), nil
}
