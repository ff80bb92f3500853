package web

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestPathTags(t *testing.T) {
	app := New(Config{})
	app.Get("/:a/:b/:c", func(c *Ctx) error {
		v, err := Bind[struct {
			A int    `path:"a"`
			B string `uri:"b"`
			C string `path:"c" uri:"a"`
		}](c)
		if err != nil {
			return err
		}
		return c.SendString(fmt.Sprint(v))
	})
	if status, body, _ := ask(t, app, "GET", "/1/two/three"); status != 200 || body != "{1 two three}" {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := ask(t, app, "GET", "/one/two/three"); status != 400 || body != `path "a" is not a whole number` {
		t.Errorf("%d %s", status, body)
	}
}

func TestOptionsOfTags(t *testing.T) {
	type options struct {
		Labels []string    `query:"labels,comma"`
		IDs    *[]int      `query:"ids,comma,omitempty" header:"X-Ids"`
		Since  time.Time   `query:"since,unix"`
		Until  *time.Time  `query:"until,omitempty,unix"`
		Times  []time.Time `query:"times,unix,comma"`
		Page   int         `query:"page,comma,unknown"` // no list
	}
	at := time.Unix(784111777, 0).UTC()
	for query, want := range map[string]options{
		"labels=a,b&labels=c":                  {Labels: []string{"a", "b", "c"}},
		"labels=":                              {},
		"labels=a,,b":                          {Labels: []string{"a", "", "b"}},
		"labels[1]=b,c&labels=d,e&labels[0]=a": {Labels: []string{"d", "e", "a", "b,c"}},
		"ids=1,2":                              {IDs: &[]int{1, 2}},
		"since=784111777&until=784111777":      {Since: at, Until: &at},
		"times=784111777,784111777":            {Times: []time.Time{at, at}},
		"page=7":                               {Page: 7},
	} {
		var v options
		if err := bound(t, Config{}, query, "", nil, func(c *Ctx) error { return c.Bind().Query(&v) }); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if !reflect.DeepEqual(v, want) {
			t.Errorf("%s: %+v, want %+v", query, v, want)
		}
	}
	for query, want := range map[string]string{
		"ids=1,x":                                       `query "ids.1" is not a whole number`,
		"since=2006-01-02T15:04:05Z":                    `query "since" is not a time in seconds`,
		"since=9223372036854775808":                     `query "since" is too large or too small`,
		"labels=" + strings.Repeat(",", defaultMaxArgs): `query "labels" has too many values`,
	} {
		var v options
		err := bound(t, Config{}, query, "", nil, func(c *Ctx) error { return c.Bind().Query(&v) })
		var e *Error
		if !errors.As(err, &e) || e.Message != want {
			t.Errorf("%.40s: %v", query, err)
		}
	}
	var v options
	if err := bound(t, Config{}, "", "", []string{"X-Ids: 3, 4"}, func(c *Ctx) error { return c.Bind().Header(&v) }); err != nil || fmt.Sprint(*v.IDs) != "[3 4]" {
		t.Errorf("%v %v", v.IDs, err)
	}
}
