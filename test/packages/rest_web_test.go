package packages_test

import (
	"context"
	"net"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
	"github.com/gallop-http/gallop/web"
)

// sharedQuery is a type that a client writes and a server reads. The tag uri is what web had before path.
type sharedQuery struct {
	ID      int           `path:"id" uri:"id"`
	Name    string        `path:"name" uri:"name"`
	Text    string        `query:"text"`
	Count   int64         `query:"count"`
	Small   uint8         `query:"small"`
	Ratio   float64       `query:"ratio"`
	Yes     bool          `query:"yes"`
	Some    *int          `query:"some"`
	None    *int          `query:"none"`
	Empty   string        `query:"empty,omitempty"`
	Many    []string      `query:"many"`
	Numbers []int         `query:"numbers"`
	At      time.Time     `query:"at"`
	Day     time.Time     `query:"day" layout:"2006-01-02"`
	Days    []time.Time   `query:"days" layout:"2006-01-02"`
	Took    time.Duration `query:"took"`
	Bytes   []byte        `query:"bytes"`
	Addr    netip.Addr    `query:"addr"`
	Addrs   []netip.Addr  `query:"addrs"`
	Session string        `cookie:"session"`
}

type sharedForm struct {
	Title string        `form:"title"`
	Tags  []string      `form:"tags"`
	Due   *time.Time    `form:"due" layout:"2006-01-02"`
	Every time.Duration `form:"every"`
}

// The Binder of web reads the request that rest writes from a struct into an equal struct.
func TestRestWritesWhatWebReads(t *testing.T) {
	var got sharedQuery
	var form sharedForm
	app := web.New(web.Config{})
	app.Post("/things/:id/:name", func(c *web.Ctx) error {
		got, form = sharedQuery{}, sharedForm{}
		if err := c.Bind().All(&got); err != nil {
			return err
		}
		return c.Bind().Form(&form)
	})
	s := &gallop.Server{Handler: app.Handler()}
	ln := memnet.NewListener()
	go func() { _ = s.Serve(ln) }()
	defer s.Shutdown()
	c, err := rest.New("http://api.test/", rest.WithClient(&gallop.Client{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return ln.Dial()
	}}))
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	seven := 7
	full := sharedQuery{
		ID: 1, Name: "a b%ü", Text: "x&y=z, +", Count: -1 << 60, Small: 255, Ratio: 1e-7, Yes: true, Some: &seven, Many: []string{"a,b", "", "c"}, Numbers: []int{1, -2},
		At: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Day: day, Days: []time.Time{day, day.AddDate(0, 0, 1)}, Took: 90 * time.Second, Bytes: []byte("b&\x00"),
		Addr: netip.MustParseAddr("::1"), Addrs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Session: "s",
	}
	fullForm := sharedForm{Title: "A & B", Tags: []string{"x", "y"}, Due: &day, Every: time.Hour}
	for _, want := range []struct {
		query sharedQuery
		form  sharedForm
	}{
		{full, fullForm}, {sharedQuery{ID: 2, Name: "n", At: day, Day: day, Addr: full.Addr, Session: "s"}, sharedForm{Title: "t"}},
	} {
		r := c.Request().SetPathValuesFrom(want.query).SetQueryFrom(want.query).SetCookiesFrom(want.query).SetFormFrom(want.form)
		if _, err := r.Post("things/{id}/{name}", nil); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want.query) || !reflect.DeepEqual(form, want.form) {
			t.Errorf("got  %+v %+v\nwant %+v %+v", got, form, want.query, want.form)
		}
	}
}
