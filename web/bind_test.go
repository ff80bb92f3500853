package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/codec"
)

// bound lets fill bind from a request with this query, these fields and this body, at /items/:id.
func bound(t *testing.T, config Config, query, body string, fields []string, fill func(c *Ctx) error) (err error) {
	t.Helper()
	if config.Server != nil {
		config.Server.Handler = nil // of the application before this one
	}
	app := New(config)
	ran := false
	app.Post("/items/:id", func(c *Ctx) error {
		ran = true
		err = fill(c)
		return nil
	})
	request := &gallop.RequestCtx{}
	request.Request.SetRequestURI("/items/42?" + query)
	request.Request.Header.SetHost("example.com")
	request.Request.Header.SetMethod("POST")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		request.Request.Header.Add(name, value)
	}
	if body != "" {
		request.Request.SetBodyString(body)
	}
	app.serve(request)
	if !ran {
		t.Fatal("the handler did not run")
	}
	return err
}

const formField = "Content-Type: application/x-www-form-urlencoded"

type kind string

type base struct {
	ID int `uri:"id"`
}

type Paged struct {
	Page int `query:"page" default:"1"`
	Size int `query:"size" default:"20"`
}

type address struct {
	City string `query:"city" form:"city"`
	Zip  int    `query:"zip" form:"zip"`
}

type everything struct {
	base
	*Paged
	Text     string            `query:"text"`
	Kind     kind              `query:"kind"`
	Raw      []byte            `query:"raw"`
	Bool     bool              `query:"bool"`
	Int8     int8              `query:"int8"`
	Uint     uint              `query:"uint"`
	Float    float32           `query:"float"`
	Pointer  *int              `query:"pointer"`
	Time     time.Time         `query:"time"`
	Day      time.Time         `query:"day" layout:"2006-01-02"`
	Wait     time.Duration     `query:"wait"`
	Addr     netip.Addr        `query:"addr"`
	AddrTo   *netip.Addr       `query:"addrTo"`
	Numbers  []int             `query:"numbers"`
	Names    []*string         `query:"names"`
	Address  address           `query:"address"`
	Other    *address          `query:"other"`
	List     []address         `query:"list"`
	Table    map[string]int    `query:"table"`
	Grid     [][]int           `query:"grid"`
	By       map[kind]*address `query:"by"`
	Trace    string            `header:"X-Trace" cookie:"trace"`
	Accepted []string          `header:"X-List"`
	Session  string            `cookie:"session"`
	Either   string            `query:"either" header:"X-Either"`
	Untold   string
	Left     []string `query:"left" default:"a,b"`
}

func TestBindFillsEveryKind(t *testing.T) {
	one, a, b := 1, "a", "b"
	addr := netip.MustParseAddr("::1")
	for _, test := range []struct {
		query string
		want  func(e *everything)
	}{
		{"text=a+b&text=second", func(e *everything) { e.Text = "a b" }},
		{"kind=x&raw=y", func(e *everything) { e.Kind, e.Raw = "x", []byte("y") }},
		{"bool=on", func(e *everything) { e.Bool = true }},
		{"int8=-128&uint=7&float=1.5", func(e *everything) { e.Int8, e.Uint, e.Float = -128, 7, 1.5 }},
		{"pointer=1", func(e *everything) { e.Pointer = &one }},
		{"pointer=&int8=&bool=&time=&addr=&numbers=", func(*everything) {}},
		{"pointer=&pointer=1", func(e *everything) { e.Pointer = &one }},
		{"time=2026-01-02T03:04:05Z", func(e *everything) { e.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }},
		{"day=2026-01-02&wait=1m", func(e *everything) { e.Day, e.Wait = time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Minute }},
		{"addr=::1&addrTo=::1", func(e *everything) { e.Addr, e.AddrTo = addr, &addr }},
		{"numbers=3&numbers=1", func(e *everything) { e.Numbers = []int{3, 1} }},
		{"numbers[]=3&numbers[]=1", func(e *everything) { e.Numbers = []int{3, 1} }},
		{"numbers[7]=3&numbers[1]=1&numbers.10=4", func(e *everything) { e.Numbers = []int{1, 3, 4} }},
		{"numbers[x]=3&numbers[-1]=3&numbers[99999999999999999999]=1&numbersx=1", func(*everything) {}},
		{"names=a&names=b", func(e *everything) { e.Names = []*string{&a, &b} }},
		{"address.city=x&address[zip]=7", func(e *everything) { e.Address = address{"x", 7} }},
		{"other[city]=x", func(e *everything) { e.Other = &address{City: "x"} }},
		{"list[1].city=b&list[0][city]=a&list.0.zip=5", func(e *everything) { e.List = []address{{"a", 5}, {"b", 0}} }},
		{"table[a]=1&table.b=2&table[]=3", func(e *everything) { e.Table = map[string]int{"a": 1, "b": 2} }},
		{"grid[0][1]=2&grid[0][0]=1&grid[1]=3", func(e *everything) { e.Grid = [][]int{{1, 2}, {3}} }},
		{"by[x].city=c", func(e *everything) { e.By = map[kind]*address{"x": {City: "c"}} }},
		{"page=3&Untold=x&untold=x&id=9&base.ID=9", func(e *everything) { e.Page = 3 }},
		{"either=q", func(e *everything) { e.Either = "q" }},
		{"[text]=1&text]=2&text[=3&text[a][=1&address[city=4&]=[&=", func(*everything) {}},
		{"left=c", func(e *everything) { e.Left = []string{"c"} }},
		{"", func(*everything) {}},
	} {
		want := everything{base: base{42}, Paged: &Paged{1, 20}, Left: []string{"a", "b"}}
		test.want(&want)
		var got everything
		if err := bound(t, Config{}, test.query, "", nil, func(c *Ctx) error { return c.Bind().All(&got) }); err != nil {
			t.Errorf("%s: %v", test.query, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v", test.query, got, want)
		}
	}
}

func TestBindSources(t *testing.T) {
	fields := []string{"X-Trace: h", "Cookie: trace=c; session=s", "X-Either: h", `X-List: a, "b,c" ,,`, "X-List: d"}
	var all everything
	fill := func(c *Ctx) (err error) { all, err = Bind[everything](c); return err }
	if err := bound(t, Config{}, "text=q", "", fields, fill); err != nil {
		t.Fatal(err)
	}
	if all.ID != 42 || all.Text != "q" || all.Trace != "h" || all.Session != "s" || all.Either != "h" || fmt.Sprint(all.Accepted) != `[a "b,c" d]` {
		t.Errorf("%+v", all)
	}
	for name, test := range map[string]struct {
		fill func(b Binder, v any) error
		want string
	}{
		"uri":    {Binder.Path, "42||||0"},
		"query":  {Binder.Query, "0|q|||1"},
		"header": {Binder.Header, "0||h||0"},
		"cookie": {Binder.Cookie, "0||c|s|0"},
	} {
		e := everything{Paged: &Paged{}}
		if err := bound(t, Config{}, "text=q", "", fields, func(c *Ctx) error { return test.fill(c.Bind(), &e) }); err != nil {
			t.Error(err)
		}
		if got := fmt.Sprintf("%d|%s|%s|%s|%d", e.ID, e.Text, e.Trace, e.Session, e.Page); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A slice gets the members of all lines of a header. So does a pointer to a slice, also if several struct fields name
// the same header.
func TestBindListsOfHeaders(t *testing.T) {
	var v struct {
		List    []string  `header:"X-List"`
		Pointed *[]string `header:"X-List"`
		Whole   string    `header:"X-List"`
		None    *[]string `header:"X-None"`
	}
	err := bound(t, Config{}, "", "", []string{"X-List: a, b", "X-List: c"}, func(c *Ctx) error { return c.Bind().Header(&v) })
	if err != nil || v.Pointed == nil || fmt.Sprint(v.List, *v.Pointed, v.Whole) != "[a b c] [a b c]a, b" || v.None != nil {
		t.Errorf("%+v %v", v, err)
	}
}

type order struct {
	ID    int    `uri:"id"`
	Admin bool   `header:"X-Admin"`
	Note  string `json:"note" xml:"note" form:"note" query:"note"`
	Free  []int  `json:"free"`
	Inner *order `json:"inner"`
}

func TestBindBodies(t *testing.T) {
	for name, test := range map[string]struct{ mediaType, body, query, want string }{
		"JSON":              {"application/json", `{"note":"n","free":[1]}`, "", "42 false n [1]"},
		"JSON by suffix":    {"application/vnd.x+JSON ; v=1", `{"note":"n"}`, "", "42 false n []"},
		"not from the body": {"application/json", `{"ID":7,"id":7,"Admin":true,"note":"n"}`, "", "42 false n []"},
		"the query first":   {"application/json", `{"note":"n"}`, "note=q", "42 false q []"},
		"XML":               {"text/xml", `<order><ID>7</ID><note>n</note><Admin>true</Admin></order>`, "", "42 false n []"},
		"form":              {typeForm, "note=n&ID=7&free=1", "", "42 false n []"},
		"multipart":         {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nn\r\n--b--\r\n", "", "42 false n []"},
		"no body":           {"", "", "", "42 false  []"},
		"type without body": {"application/json", "", "", "42 false  []"},
	} {
		var o order
		err := bound(t, Config{}, test.query, test.body, []string{"Content-Type: " + test.mediaType}, func(c *Ctx) error { return c.Bind().All(&o) })
		if got := fmt.Sprint(o.ID, o.Admin, " ", o.Note, " ", o.Free); err != nil || got != test.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, test.want, err)
		}
	}
}

// A JSON body changes neither the struct fields that it must not set nor the values that they point to.
func TestBindKeepsWhatABodyMustNotSet(t *testing.T) {
	type T struct {
		Roles []string `header:"X-Roles"`
		Name  string   `json:"name"`
	}
	v := T{Roles: []string{"guest"}}
	err := bound(t, Config{}, "", `{"Roles":["admin"],"name":"n"}`, []string{"Content-Type: application/json"}, func(c *Ctx) error { return c.Bind().All(&v) })
	if err != nil || fmt.Sprint(v) != "{[guest] n}" {
		t.Errorf("%v, %v", v, err)
	}
	var embedded struct{ *Paged } // which the body makes
	err = bound(t, Config{}, "", `{"Page":9,"Size":9}`, []string{"Content-Type: application/json"}, func(c *Ctx) error { return c.Bind().All(&embedded) })
	if err != nil || *embedded.Paged != (Paged{1, 20}) {
		t.Errorf("%v, %v", embedded.Paged, err)
	}
}

// Each kind of body can be asked for by name.
func TestBindOneKindOfBody(t *testing.T) {
	type T struct {
		N  int     `json:"n" xml:"n" form:"n"`
		P  *int    `form:"p" default:"3"`
		Ps []*bool `form:"ps" default:"on,off"`
	}
	zipped := string(gallop.AppendGzipBytes(nil, []byte("n=7")))
	for name, test := range map[string]struct {
		fill   func(b Binder, v any) error
		fields []string
		body   string
		status int
	}{
		"XML":            {Binder.XML, nil, "<T><n>7</n></T>", 0},
		"JSON":           {Binder.JSON, nil, `{"n":7}`, 0},
		"form":           {Binder.Form, []string{formField}, "n=7", 0},
		"gzip form":      {Binder.Form, []string{formField, "Content-Encoding: gzip"}, zipped, 0},
		"JSON as a form": {Binder.Form, []string{"Content-Type: application/json"}, `{"n":7}`, 415},
	} {
		var v T
		err := bound(t, Config{}, "", test.body, test.fields, func(c *Ctx) error { return test.fill(c.Bind(), &v) })
		var e *Error
		if errors.As(err, &e); test.status == 0 && (err != nil || v.N != 7) || test.status != 0 && (e == nil || e.Status != test.status) {
			t.Errorf("%s: %+v %v", name, v, err)
		}
		if strings.HasSuffix(name, "form") && test.status == 0 && (*v.P != 3 || len(v.Ps) != 2 || !*v.Ps[0] || *v.Ps[1]) {
			t.Errorf("%s: defaults %+v", name, v)
		}
	}
}

func TestBindBoundsForms(t *testing.T) {
	var v struct {
		A []int `form:"a"`
	}
	deep := "a" + strings.Repeat("[a]", 20)
	part := "--b\r\nContent-Disposition: form-data; name=\"" + deep + "\"%s\r\n\r\n1\r\n--b--\r\n"
	for _, test := range []struct{ mediaType, body string }{
		{typeForm, deep + "=1"}, {typeForm, strings.Repeat("a=1&", 10001)},
		{"multipart/form-data; boundary=b", fmt.Sprintf(part, "")}, {"multipart/form-data; boundary=b", fmt.Sprintf(part, `; filename="f"`)},
	} {
		err := bound(t, Config{}, "", test.body, []string{"Content-Type: " + test.mediaType}, func(c *Ctx) error { return c.Bind().Form(&v) })
		var e *Error
		if !errors.As(err, &e) || e.Status != 400 || !errors.Is(err, errTooManyParts) && !errors.Is(err, errTooManyEntries) {
			t.Errorf("%.30s: %v", test.body, err)
		}
	}
}

// A field without a value keeps what it has; only if it has nothing it gets the default.
func TestBindKeepsWhatIsThere(t *testing.T) {
	v := Paged{Page: 5}
	if err := bound(t, Config{}, "", "", nil, func(c *Ctx) error { return c.Bind().Query(&v) }); err != nil || v != (Paged{5, 20}) {
		t.Errorf("%v, %v", v, err)
	}
}

// Browsers also send form fields that were left empty. A required value that is empty counts as missing.
func TestBindRequiresMoreThanAnEmptyString(t *testing.T) {
	for query, want := range map[string]string{
		"need=": "missing", "": "missing", "need=&need=x": "{x  default}", "need=x&may=&else=": "{x  default}", "need=x&may=y&else=z": "{x y z}",
	} {
		v := struct {
			Need string `query:"need,required"`
			May  string `query:"may"`
			Else string `query:"else,required" default:"default"`
		}{}
		err := bound(t, Config{}, query, "", nil, func(c *Ctx) error { return c.Bind().Query(&v) })
		got := fmt.Sprint(v)
		if errors.Is(err, errMissing) {
			got = "missing"
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", query, got, err, want)
		}
	}
}

// Tags may have names as they are sent.
func TestBindTagsWithBrackets(t *testing.T) {
	var v struct {
		IDs  []int  `query:"ids[]"`
		Name string `query:"filter[name]"`
	}
	err := bound(t, Config{}, "ids[]=1&ids[]=2&ids=3&filter[name]=n", "", nil, func(c *Ctx) error { return c.Bind().Query(&v) })
	if got := fmt.Sprint(v); got != "{[1 2 3] n}" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestBindErrors(t *testing.T) {
	type item struct {
		Price int `query:"price,required" form:"price"`
	}
	type T struct {
		ID    int            `uri:"id"`
		N     int8           `query:"n"`
		U     uint           `query:"u"`
		F     float64        `query:"f"`
		B     bool           `query:"b"`
		D     time.Duration  `query:"d"`
		Day   time.Time      `query:"day" layout:"2006-01-02"`
		Addr  netip.Addr     `query:"addr"`
		Items []item         `query:"items"`
		Table map[string]int `query:"table"`
		Need  string         `header:"X-Need,required" query:"need"`
	}
	for query, want := range map[string]struct {
		field, value, message string
		cause                 error
	}{
		"n=x":                                 {"n", "x", `query "n" is not a whole number`, strconv.ErrSyntax},
		"n=128":                               {"n", "128", `query "n" is too large or too small`, strconv.ErrRange},
		"u=-1":                                {"u", "-1", `query "u" is not a whole number of at least 0`, strconv.ErrSyntax},
		"f=x":                                 {"f", "x", `query "f" is not a number`, strconv.ErrSyntax},
		"b=maybe":                             {"b", "maybe", `query "b" is neither true nor false`, strconv.ErrSyntax},
		"d=5":                                 {"d", "5", `query "d" is not a duration such as 1m30s`, strconv.ErrSyntax},
		"day=x":                               {"day", "x", `query "day" is not a time of the form 2006-01-02`, nil},
		"addr=x":                              {"addr", "x", `query "addr" has a value that is not valid`, nil},
		"items[5].price=x":                    {"items.0.price", "x", `query "items.0.price" is not a whole number`, strconv.ErrSyntax},
		"items[0].other=x":                    {"items.0.price", "", `query "items.0.price" is missing`, errMissing},
		"table[%0d%0a]=x":                     {"table", "x", `query "table" is not a whole number`, strconv.ErrSyntax},
		"":                                    {"need", "", `query "need" is missing`, errMissing},
		"n=" + strings.Repeat("9", 100):       {"n", strings.Repeat("9", 64), `query "n" is too large or too small`, strconv.ErrRange},
		"n" + strings.Repeat("[a]", 16) + "=": {"", "", `query: has a name of too many parts`, errTooManyParts},
		strings.Repeat("a&", 10001):           {"", "", `query: has too many values`, errTooManyEntries},
	} {
		var v T
		err := bound(t, Config{}, query, "", nil, func(c *Ctx) error { return c.Bind().All(&v) })
		var e *Error
		var b *BindError
		if !errors.As(err, &e) || !errors.As(err, &b) || e.Status != 400 || e.Message != want.message || b.Source != "query" ||
			b.Field != want.field || b.Value != want.value || want.cause != nil && !errors.Is(err, want.cause) {
			t.Errorf("%.40s: %v (%+v)", query, err, b)
		}
		if want.value != "" && strings.Contains(strings.ReplaceAll(fmt.Sprint(err), "2006", ""), " "+want.value) {
			t.Errorf("%.40s: the error shows the value: %v", query, err)
		}
	}
}

func TestBindBodyErrors(t *testing.T) {
	var huge bytes.Buffer
	z := gzip.NewWriter(&huge)
	z.Write(bytes.Repeat([]byte{' '}, 10000))
	z.Close()
	type T struct {
		N int `json:"n" form:"n" xml:"n"`
	}
	small := Config{Server: &gallop.Server{MaxRequestBodySize: 5000}}
	for name, test := range map[string]struct {
		body    string
		fields  []string
		status  int
		message string
	}{
		"no type":        {`{}`, nil, 415, "Unsupported Media Type"},
		"unknown type":   {`{}`, []string{"Content-Type: text/csv"}, 415, "Unsupported Media Type"},
		"broken":         {`{"n":`, []string{"Content-Type: application/json"}, 400, "json: the body is malformed at byte 5"},
		"wrong type":     {`{"n":"x"}`, []string{"Content-Type: application/json"}, 400, `json "n" has a value of another type`},
		"trailing data":  {`{} {}`, []string{"Content-Type: application/json"}, 400, "json: the body is malformed at byte 4"},
		"XML":            {`<T><n>`, []string{"Content-Type: application/xml"}, 400, "xml: the body is malformed"},
		"form":           {"n=x", []string{formField}, 400, `form "n" is not a whole number`},
		"too large":      {huge.String(), []string{"Content-Type: application/json", "Content-Encoding: gzip"}, 413, "Request Entity Too Large"},
		"form too large": {huge.String(), []string{formField, "Content-Encoding: gzip"}, 413, "Request Entity Too Large"},
		"unknown coding": {"{}", []string{"Content-Type: application/json", "Content-Encoding: lzma"}, 415, "Unsupported Media Type"},
		"broken coding":  {"{}", []string{"Content-Type: application/json", "Content-Encoding: gzip"}, 400, "Bad Request"},
		"no boundary":    {"x", []string{"Content-Type: multipart/form-data"}, 400, "Bad Request"},
		"broken form":    {"x", []string{"Content-Type: multipart/form-data; boundary=b"}, 400, "Bad Request"},
	} {
		for _, fill := range []func(b Binder, v any) error{Binder.All, Binder.Body} {
			var v T
			err := bound(t, small, "", test.body, test.fields, func(c *Ctx) error { return fill(c.Bind(), &v) })
			var e *Error
			if !errors.As(err, &e) || e.Status != test.status || e.Message != test.message {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestBindNamesWhatItReads(t *testing.T) {
	app := New(Config{Codecs: []codec.Codec{shouting{"application/cbor"}}})
	app.Post("/", func(c *Ctx) error { var v struct{}; return c.Bind().Body(&v) })
	request, _ := http.NewRequest("POST", "/", strings.NewReader("x"))
	response, err := app.Test(request)
	if err != nil || response.StatusCode != 415 || response.Header.Get("Accept") != "application/json, application/xml, application/x-www-form-urlencoded, multipart/form-data, application/cbor" {
		t.Errorf("%v %v", response, err)
	}
	var v struct{ N int }
	err = bound(t, Config{Codecs: []codec.Codec{shouting{"application/x"}}}, "", `{"N":3}`, []string{"Content-Type: application/X"}, func(c *Ctx) error { return c.Bind().Body(&v) })
	if err != nil || v.N != 3 {
		t.Errorf("%v %v", v, err)
	}
}

func TestBindFiles(t *testing.T) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.WriteField("title", "t")
	for _, name := range []string{"one", "many", "many", "docs[0].file"} {
		part, _ := w.CreateFormFile(name, name+".txt")
		io.WriteString(part, "content of "+name)
	}
	w.Close()
	var v struct {
		Title string                  `form:"title"`
		One   *multipart.FileHeader   `form:"one"`
		Many  []*multipart.FileHeader `form:"many"`
		None  *multipart.FileHeader   `form:"none"`
		Text  string                  `form:"many" default:"none"`
		Docs  []struct {
			File *multipart.FileHeader `form:"file,required"`
		} `form:"docs"`
	}
	err := bound(t, Config{}, "", body.String(), []string{"Content-Type: " + w.FormDataContentType()}, func(c *Ctx) error {
		if err := c.Bind().Form(&v); err != nil {
			return err
		}
		file, err := c.FormFile("one")
		_, missing := c.FormFile("title")
		var e *Error
		if err != nil || file != v.One || !errors.Is(missing, gallop.ErrMissingFile) || !errors.As(missing, &e) || e.Status != 400 {
			t.Errorf("FormFile: %v, %v", err, missing)
		}
		if c.FormValue("title") != "t" || c.FormValue("many", "d") != "d" {
			t.Error("FormValue")
		}
		path := t.TempDir() + "/saved"
		if err := c.SaveFile(v.One, path); err != nil {
			t.Error(err)
		}
		f, err := v.One.Open()
		if err != nil {
			return err
		}
		defer f.Close()
		if content, err := io.ReadAll(f); string(content) != "content of one" || err != nil {
			t.Errorf("%q %v", content, err)
		}
		return nil
	})
	if err != nil || v.Title != "t" || v.One == nil || len(v.Many) != 2 || v.None != nil || v.Text != "none" || len(v.Docs) != 1 || v.Docs[0].File == nil {
		t.Errorf("%+v %v", v, err)
	}
}

// Names that stand for the same are taken in an order that does not change.
func TestBindMultipartInOrder(t *testing.T) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range []string{"list[]", "list", "one.x", "one[x]"} {
		w.WriteField(name, name)
	}
	w.Close()
	for range 20 {
		var v struct {
			List []string `form:"list"`
			One  struct {
				X string `form:"x"`
			} `form:"one"`
		}
		err := bound(t, Config{}, "", body.String(), []string{"Content-Type: " + w.FormDataContentType()}, func(c *Ctx) error { return c.Bind().Form(&v) })
		if got := fmt.Sprint(v, err); got != "{[list list[]] {one.x}} <nil>" {
			t.Fatal(got)
		}
	}
}

// An upload that is larger than what is read into memory is bound as it comes.
func TestBindLargeUploads(t *testing.T) {
	app := New(Config{Server: &gallop.Server{StreamRequestBody: true, MaxRequestBodySize: 1000}})
	app.Post("/", func(c *Ctx) error {
		v, err := Bind[struct {
			File *multipart.FileHeader `form:"file,required"`
		}](c)
		if err != nil {
			return err
		}
		return c.SendString(strconv.FormatInt(v.File.Size, 10))
	})
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("file", "f")
	part.Write(make([]byte, 3<<20))
	w.Close()
	request, _ := http.NewRequest("POST", "/", &body)
	request.Header.Set("Content-Type", w.FormDataContentType())
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(response.Body); string(text) != strconv.Itoa(3<<20) {
		t.Errorf("%d %s", response.StatusCode, text)
	}
}

type picky struct{ err error }

func (p picky) Validate(context.Context, any) error { return p.err }

func TestValidator(t *testing.T) {
	own := NewError(409, "no")
	for _, test := range []struct {
		err    error
		status int
	}{{nil, 0}, {errors.New("bad"), 422}, {own, 409}} {
		var v Paged
		err := bound(t, Config{Validator: picky{test.err}}, "page=1", "", nil, func(c *Ctx) error { return c.Bind().Query(&v) })
		var e *Error
		if errors.As(err, &e); test.status == 0 && err != nil || test.status != 0 && (e == nil || e.Status != test.status || !errors.Is(err, test.err)) {
			t.Errorf("%v", err)
		}
		if v.Page != 1 {
			t.Error("nothing was filled")
		}
	}
}

// Types that cannot be bound are the program's fault, and no client's.
func TestBindRefusesTypes(t *testing.T) {
	for _, v := range []any{
		nil, 1, struct{}{}, new(int), (*Paged)(nil),
		&struct {
			C chan int `query:"c"`
		}{},
		&struct {
			hidden int `query:"c"`
		}{},
		&struct {
			A address `header:"a"`
		}{},
		&struct {
			A int `query:"a" default:"x"`
		}{},
		&struct {
			A []struct {
				F func() `query:"f"`
			} `query:"a"`
		}{},
	} {
		err := bound(t, Config{}, "a[0].f=1", "", nil, func(c *Ctx) error { return c.Bind().Query(v) })
		var e *Error
		if err == nil || errors.As(err, &e) {
			t.Errorf("%T: %v", v, err)
		}
	}
	var wrong *json.InvalidUnmarshalError
	if err := bound(t, Config{}, "", "{}", nil, func(c *Ctx) error { return c.Bind().JSON(1) }); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

// Recursive contains itself in every way.
type Recursive struct {
	Name string       `query:"name"`
	Next *Recursive   `query:"next"`
	More []*Recursive `query:"more"`
	*Recursive
}

func TestBindTypesThatContainThemselves(t *testing.T) {
	var v Recursive
	err := bound(t, Config{}, "name=a&next.name=b&next.more[0].next.name=c", "", nil, func(c *Ctx) error { return c.Bind().Query(&v) })
	if err != nil || v.Name != "a" || v.Next.Name != "b" || v.Next.More[0].Next.Name != "c" || v.Next.Next != nil {
		t.Errorf("%+v %v", v, err)
	}
}

// Plans are made by any number of goroutines at once.
func TestBindPlansAreShared(t *testing.T) {
	type fresh struct {
		Recursive
		Paged
	}
	done := make(chan error)
	for range 8 {
		go func() {
			var v fresh
			_, p, err := planOf(&v)
			if err == nil && len(p.fields) != 5 {
				err = fmt.Errorf("%d fields", len(p.fields))
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func FuzzBindQuery(f *testing.F) {
	for _, query := range []string{"text=a", "list[1].city=b&list[0][city]=a", "grid[0][1]=2&table[a]=1", "numbers[]=1&numbers=2", "by[x].zip=7&a[=b&[c]=d"} {
		f.Add(query)
	}
	app := New(Config{})
	app.Post("/", func(c *Ctx) error {
		var a, b everything
		errA, errB := c.Bind().Query(&a), c.Bind().Query(&b)
		if fmt.Sprint(errA) != fmt.Sprint(errB) || errA == nil && !reflect.DeepEqual(a, b) && a.Float == a.Float {
			return fmt.Errorf("%+v %v, and then %+v %v", a, errA, b, errB)
		}
		var form struct {
			List []address `form:"list"`
		}
		c.Bind().Form(&form)
		if len(form.List) > defaultMaxArgs {
			return errors.New("too many")
		}
		return nil
	})
	f.Fuzz(func(t *testing.T, query string) {
		request := &gallop.RequestCtx{}
		request.Request.Header.SetMethod("POST")
		request.Request.SetRequestURI("/?" + query)
		request.Request.Header.SetContentType(typeForm)
		request.Request.SetBodyString(query)
		app.serve(request)
		if status := request.Response.StatusCode(); status != 200 && status != 404 {
			t.Errorf("%d", status)
		}
	})
}

// Bind accepts as many arguments as Server.MaxFormArgs says, also of a form in a content coding.
func TestBindSeesMaxFormArgs(t *testing.T) {
	var v struct {
		A []int `query:"a" form:"a"`
	}
	args := func(n int) string { return strings.Repeat("&a=1", n)[1:] }
	for _, tt := range []struct {
		name       string
		max        int
		path, body string
		gzip       bool
		fails      bool
	}{
		{name: "query", max: 2, path: "/query?" + args(3), fails: true},
		{name: "form", max: 2, path: "/form", body: args(3), fails: true},
		{name: "form with gzip", max: 2, path: "/form", body: args(3), gzip: true, fails: true},
		{name: "form with gzip within the limit", max: 3, path: "/form", body: args(3), gzip: true},
		{name: "query within a higher limit", max: 10_001, path: "/query?" + args(10_001)},
		{name: "query without a limit", max: -1, path: "/query?" + args(10_001)},
		{name: "form without a limit", max: -1, path: "/form", body: args(10_001)},
		{name: "form with gzip without a limit", max: -1, path: "/form", body: args(10_001), gzip: true},
		{name: "form with gzip and the default", path: "/form", body: args(10_001), gzip: true, fails: true},
		{name: "query with the default", path: "/query?" + args(10_001), fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			app := New(Config{Server: &gallop.Server{MaxFormArgs: tt.max, MaxRequestLineBytes: 1 << 20, MaxHeaderBytes: 1 << 20}})
			app.Post("/query", func(c *Ctx) error { err = c.Bind().Query(&v); return err })
			app.Post("/form", func(c *Ctx) error { err = c.Bind().Form(&v); return err })
			body := []byte(tt.body)
			if tt.gzip {
				body = gallop.AppendGzipBytes(nil, body)
			}
			request := httptest.NewRequest("POST", tt.path, bytes.NewReader(body))
			request.Header.Set("Content-Type", typeForm)
			if tt.gzip {
				request.Header.Set("Content-Encoding", "gzip")
			}
			response, failed := app.Test(request)
			if failed != nil {
				t.Fatal(failed)
			}
			response.Body.Close()
			if !tt.fails && (response.StatusCode != 200 || err != nil) {
				t.Errorf("%d, %v", response.StatusCode, err)
			}
			if tt.fails && (response.StatusCode != 400 || !errors.Is(err, gallop.ErrTooManyArgs)) {
				t.Errorf("%d, %v", response.StatusCode, err)
			}
		})
	}
}
