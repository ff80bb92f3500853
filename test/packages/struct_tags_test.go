package packages_test

import (
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/gallop-http/gallop/rest"
	"github.com/gallop-http/gallop/web"
)

// inProcess sends requests to an application without a socket.
type inProcess struct{ app *web.App }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) { return p.app.Test(r) }

// A client and a server can share the struct type of a request: web reads what rest writes.
func TestStructsTravelFromRestToWeb(t *testing.T) {
	type Paging struct {
		Page int  `query:"page"`
		Size *int `query:"size,omitempty"`
	}
	type search struct {
		Shop   string        `path:"shop"`
		Owner  int           `uri:"owner"`
		Text   string        `query:"text,omitempty"`
		Tags   []string      `query:"tag"`
		Fields []string      `query:"fields,comma"`
		IDs    []int64       `query:"ids,comma,omitempty"`
		Since  time.Time     `query:"since"`
		Until  time.Time     `query:"until,unix"`
		Days   []time.Time   `query:"days,comma" layout:"2006-01-02"`
		Wait   time.Duration `query:"wait"`
		Key    []byte        `query:"key"`
		Deep   bool          `query:"deep"`
		Price  float64       `query:"price,omitempty"`
		Trace  string        `cookie:"trace,omitempty"`
		Paging
	}
	size := 20
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	var got search
	app := web.New(web.Config{})
	app.Get("/:owner/:shop/items", func(c *web.Ctx) (err error) {
		got, err = web.Bind[search](c)
		return err
	})
	client, err := rest.New("http://example.com", rest.WithTransport(inProcess{app}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]search{
		"full": {
			Shop: "b c", Owner: 7, Text: "x&y=z", Tags: []string{"new", "a,b", ""}, Fields: []string{"name", "price"}, IDs: []int64{1, -2},
			Since: at, Until: at, Days: []time.Time{day, day.AddDate(0, 0, 1)}, Wait: 90 * time.Second, Key: []byte("k\x00"), Deep: true,
			Price: 1e21, Trace: "t-1", Paging: Paging{Page: 2, Size: &size},
		},
		"empty": {Shop: "s", Owner: 1, Until: time.Unix(0, 0).UTC(), Key: []byte{}},
	} {
		got = search{}
		r := client.Request().SetPathValuesFrom(want).SetQueryFrom(want).SetCookiesFrom(&want)
		if _, err := r.Get("{owner}/{shop}/items", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%+v, want\n%+v", name, got, want)
		}
	}
}
