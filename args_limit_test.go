package gallop

import (
	"runtime"
	"strings"
	"testing"
)

func TestArgsParseAtMost(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		most       int
		want       string
		err        error
	}{
		{"at the limit", "a=1&b=2&c=3", 3, "a=1&b=2&c=3", nil},
		{"beyond the limit", "a=1&b=2&c=3&d=4", 3, "a=1&b=2&c=3", ErrTooManyArgs},
		{"empty ones do not count", "&&a=1&&=&b=2&=&c=3&&=&&", 3, "a=1&b=2&c=3", nil},
		{"empty ones before one too many", "a&b&c&&=&d", 3, "a&b&c", ErrTooManyArgs},
		{"as short as they can be", "a&b&c", 3, "a&b&c", nil},
		{"as short as they can be, and one more", "a&b&c&d", 3, "a&b&c", ErrTooManyArgs},
		{"escapes", "%=1&+&c", 2, "%25=1&+", ErrTooManyArgs},
		{"unlimited", "a&b&c&d", 0, "a&b&c&d", nil},
		{"negative", "a&b&c&d", -1, "a&b&c&d", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var a Args
			if err := a.ParseAtMost([]byte(tt.text), tt.most); err != tt.err || a.Err() != tt.err || a.String() != tt.want {
				t.Errorf("%s, %v", a.String(), err)
			}
			var c Args
			if a.CopyTo(&c); c.Err() != tt.err {
				t.Errorf("the copy: %v", c.Err())
			}
			if a.Parse("x"); a.Err() != nil {
				t.Errorf("parsed again: %v", a.Err())
			}
		})
	}
}

// argsRequest is a request with n arguments in its query, its form and its multipart form.
func argsRequest(n, most int) (query, form, multi *Request) {
	text := strings.TrimSuffix(strings.Repeat("a&", n), "&")
	query, form, multi = new(Request), new(Request), new(Request)
	query.maxArgs, form.maxArgs, multi.maxArgs = most, most, most
	query.SetRequestURI("/?" + text)
	form.Header.SetContentType(mediaTypeForm)
	form.SetBodyString(text)
	multi.Header.SetContentType("multipart/form-data; boundary=b")
	multi.SetBodyString(strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n", n) + "--b--\r\n")
	return query, form, multi
}

func TestRequestsBoundArguments(t *testing.T) {
	for n, want := range map[int]error{20: nil, 21: ErrTooManyArgs} {
		query, form, multi := argsRequest(n, 20)
		if args := query.URI().QueryArgs(); args.Err() != want || args.Len() != 20 {
			t.Errorf("%d in the query: %d, %v", n, args.Len(), args.Err())
		}
		if args := form.PostArgs(); args.Err() != want || args.Len() != 20 {
			t.Errorf("%d in a form: %d, %v", n, args.Len(), args.Err())
		}
		if _, err := multi.MultipartForm(); err != want {
			t.Errorf("%d in a multipart form: %v", n, err)
		}
		var c Request
		query.CopyTo(&c)
		if args := c.URI().QueryArgs(); args.Err() != want || args.Len() != 20 {
			t.Errorf("%d in a copy: %d, %v", n, args.Len(), args.Err())
		}
	}
}

func TestManyArgumentsAllocateLittle(t *testing.T) {
	_, form, _ := argsRequest(2<<20, defaultMaxFormArgs)
	form.Body()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	args := form.PostArgs()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 || args.Len() != defaultMaxFormArgs || args.Err() != ErrTooManyArgs {
		t.Errorf("%d bytes for %d arguments, %v", n, args.Len(), args.Err())
	}
}
