package web

import (
	"errors"
	"math"
	"strconv"
	"testing"
)

// Numbers that are not finite and decimal are refused, wherever they come from.
func TestBindFloats(t *testing.T) {
	type target struct {
		Query   float64            `query:"f"`
		List    []float32          `query:"l"`
		Pointer *float64           `query:"p"`
		Table   map[string]float64 `query:"t"`
		Form    float64            `form:"f"`
		Header  float64            `header:"X-F"`
		Cookie  float64            `cookie:"f"`
	}
	bind := func(query, body string, fields ...string) (v target, err error) {
		err = bound(t, Config{}, query, body, fields, func(c *Ctx) error { return c.Bind().All(&v) })
		return v, err
	}
	for _, text := range []string{
		"NaN", "nan", "Inf", "inf", "-Inf", "Infinity", "-infinity", "0x1p-2", "0X1P4", "-0x1p0", "0x1", "1_000", "0x_1p2", "1e", "e", "-", "1.5f",
	} {
		for source, try := range map[string]func() error{
			"query":   func() error { _, err := bind("f="+text, ""); return err },
			"list":    func() error { _, err := bind("l=1&l="+text, ""); return err },
			"table":   func() error { _, err := bind("t[a]="+text, ""); return err },
			"pointer": func() error { _, err := bind("p="+text, ""); return err },
			"form":    func() error { _, err := bind("", "f="+text, formField); return err },
			"header":  func() error { _, err := bind("", "", "X-F: "+text); return err },
			"cookie":  func() error { _, err := bind("", "", "Cookie: f="+text); return err },
			"path": func() (err error) {
				app := New(Config{})
				app.Get("/:f", func(c *Ctx) error { _, err = Params[float64](c, "f"); return nil })
				serve(app, "/"+text)
				return err
			},
		} {
			var e *BindError
			if err := try(); !errors.As(err, &e) || !errors.Is(err, strconv.ErrSyntax) {
				t.Errorf("%s %q: %v", source, text, err)
			}
		}
	}
	for text, want := range map[string]float64{"0": 0, "-0.5": -0.5, "1e3": 1000, "1E-3": 0.001, ".5": 0.5, "5.": 5, "1.7976931348623157e308": math.MaxFloat64} {
		if v, err := bind("f="+text, ""); err != nil || v.Query != want {
			t.Errorf("%q: %v, %v", text, v.Query, err)
		}
	}
	for _, text := range []string{"1e309", "-1e309"} {
		if _, err := bind("f="+text, ""); !errors.Is(err, strconv.ErrRange) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var number struct {
		F float64 `json:"f"`
	}
	for _, text := range []string{"NaN", "Infinity", "0x1p2", "1_0", "1e309", `"NaN"`} {
		err := bound(t, Config{}, "", `{"f":`+text+`}`, []string{"Content-Type: application/json"}, func(c *Ctx) error { return c.Bind().Body(&number) })
		if err == nil {
			t.Errorf("JSON %s: %v", text, number.F)
		}
	}
}
