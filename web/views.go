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

// Views renders pages for Ctx.Render and Ctx.RenderPage. [Templates] implements Views.
type Views interface {
	// Render writes the HTML of a page to w, and escapes the data of the page. The argument ctx is the [*Ctx] of the request. Render
	// can take values such as the user, the language or a nonce from ctx. The argument w is a buffer, so nothing is sent if Render
	// fails. Render may be called concurrently.
	Render(ctx context.Context, w io.Writer, page Page) error
}

// Page describes a page that [Views] renders.
type Page struct {
	// Name is the name of the template that renders the page, such as "users/list".
	Name string

	// Data is the value of the dot in the template (see html/template). Data may be nil.
	Data any

	// Layout is the name of the template around the page. If Layout is empty, the page gets the default layout of the Views, or no
	// layout if the Views has no default.
	Layout string

	// NoLayout renders the page without a layout and ignores Layout. The default is false.
	NoLayout bool
}

// Render renders a template with the given data, in the default layout of Config.Views, and sends the HTML. See [Ctx.RenderPage].
func (c *Ctx) Render(name string, data any) error { return c.RenderPage(Page{Name: name, Data: data}) }

// RenderPage renders a page with [Config.Views] and sends the HTML. The Content-Type is text/html in UTF-8 unless another
// Content-Type was set. If rendering fails or Config.Views is nil, RenderPage returns an error and sends nothing.
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

// TemplatesConfig holds the settings of Templates. FS is required.
type TemplatesConfig struct {
	// FS holds the template files, for example an embed.FS or the result of os.DirFS. FS must not be nil.
	FS fs.FS

	// Extension is the file name extension of templates. Templates ignores files with other extensions. The names of templates do
	// not include the extension. Empty means ".html".
	Extension string

	// Layout is the name of the default layout. A layout is a template that contains {{template "content" .}} where the page goes.
	// Empty means that pages have no layout, unless Page.Layout names one.
	Layout string

	// Partials is the directory of templates that all pages and layouts can include. If a file in this directory defines further
	// templates, pages and layouts can include these templates, too. Empty means "partials". The directory need not exist.
	Partials string

	// Funcs are functions that templates can call by the name in the map, in addition to the functions of html/template. Funcs may
	// be nil.
	Funcs template.FuncMap

	// Reload makes Templates parse the files again whenever a page is rendered. Use Reload in development. The default is false:
	// each page is parsed once for each layout.
	Reload bool
}

// Templates implements [Views] with html/template. Each file holds one template. The name of a page is the path of its file without
// the extension, such as "users/list". A page can define templates, for example for a {{block "title" .}} in its layout. Other
// pages do not see the templates that a page defines. Templates may be used concurrently. Create Templates with NewTemplates.
type Templates struct {
	config TemplatesConfig

	mu    sync.Mutex
	ready map[[2]string]*template.Template // by page and layout
}

// NewTemplates parses the files in config.FS that have the extension config.Extension, and returns the templates. NewTemplates
// returns an error if a file cannot be read or is malformed.
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

// names returns the names of the templates in a directory and its subdirectories.
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

// Render writes a page to w. Render implements [Views] and ignores ctx. If the page is its own layout, it is rendered
// without a layout, because a template must not include itself.
func (t *Templates) Render(_ context.Context, w io.Writer, page Page) error {
	name, layout := path.Clean(page.Name), page.Layout // clean, or t.ready would keep a set for each spelling
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

// find returns the template that renders a page in a layout. It parses the files unless it has done so before.
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

// parse reads the files of a page in a layout. A later file replaces templates of earlier files that have the same name.
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
