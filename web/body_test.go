package web

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
)

func TestTypesOfBodies(t *testing.T) {
	for field, want := range map[string]string{
		"application/json":                      "application/json||json",
		"Application/Problem+JSON; charset=X-Y": "application/problem+json|x-y|json",
		"text/html;charset=\"UTF-8\"":           "text/html|utf-8|html text/*",
		"image/svg+xml":                         "image/svg+xml||xml",
		"application/xml":                       "application/xml||xml",
		"":                                      "||",
		"/;;":                                   "/||",
	} {
		bound(t, Config{}, "", "x", []string{"Content-Type: " + field}, func(c *Ctx) error {
			var is []string
			for _, name := range []string{"json", "html", "xml", "text/*"} {
				if c.Is(name) {
					is = append(is, name)
				}
			}
			if got := c.MediaType() + "|" + c.Charset() + "|" + strings.Join(is, " "); got != want {
				t.Errorf("%s: %s, want %s", field, got, want)
			}
			return nil
		})
	}
}

func TestQueries(t *testing.T) {
	bound(t, Config{}, "a=1&b=2&a=3&c", "", nil, func(c *Ctx) error {
		if got := fmt.Sprint(c.Queries()); got != "map[a:1 b:2 c:]" {
			t.Error(got)
		}
		return nil
	})
}

func TestTypedParams(t *testing.T) {
	bound(t, Config{}, "n=3&bad=x&wait=2s&empty=", "", nil, func(c *Ctx) error {
		id, err := Params[int](c, "id")
		n, err2 := Query[uint8](c, "n")
		wait, err3 := Query[time.Duration](c, "wait")
		page, err4 := Query(c, "empty", 7)
		if id != 42 || n != 3 || wait != 2*time.Second || page != 7 || errors.Join(err, err2, err3, err4) != nil {
			t.Error(id, n, wait, page, err, err2, err3, err4)
		}
		bad, err := Query[int](c, "bad", 5)
		var e *Error
		var b *BindError
		if bad != 0 || !errors.As(err, &e) || e.Status != 400 || !errors.As(err, &b) || b.Source != "query" || b.Field != "bad" || b.Value != "x" || !errors.Is(err, strconv.ErrSyntax) {
			t.Error(bad, err)
		}
		if _, err := Params[int](c, "none"); !errors.Is(err, errMissing) || !strings.Contains(err.Error(), `path "none" is missing`) {
			t.Error(err)
		}
		if _, err := Query[[]int](c, "n"); err == nil || errors.As(err, &b) {
			t.Error(err)
		}
		return nil
	})
}

func TestBodyUncompressed(t *testing.T) {
	zipped := string(gallop.AppendGzipBytes(nil, []byte("plain")))
	for coding, want := range map[string]string{"gzip": "plain <nil>", "identity": zipped + " <nil>", "lzma": " web: 415"} {
		bound(t, Config{}, "", zipped, []string{"Content-Encoding: " + coding}, func(c *Ctx) error {
			body, err := c.BodyUncompressed()
			if got := fmt.Sprint(string(body), " ", err); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q", coding, got)
			}
			return nil
		})
	}
}

// A form in a content coding is one for all that read forms.
func TestFormsInAContentCoding(t *testing.T) {
	zipped := string(gallop.AppendGzipBytes(nil, []byte("name=value")))
	for name, test := range map[string]struct{ body, coding, want string }{
		"plain":    {"name=value", "identity", "value"},
		"gzip":     {zipped, "gzip", "value"},
		"unknown":  {zipped, "lzma", "none"},
		"not gzip": {"name=value", "gzip", "none"},
	} {
		bound(t, Config{}, "", test.body, []string{formField, "Content-Encoding: " + test.coding}, func(c *Ctx) error {
			if got := c.FormValue("name", "none"); got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
			return nil
		})
	}
}
