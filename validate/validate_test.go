package validate

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/web"
)

type address struct {
	City string `json:"city" validate:"required"`
}

type signup struct {
	Email string    `json:"email,omitempty" validate:"required,email"`
	Age   int       `query:"age" validate:"gte=18"`
	Homes []address `json:"homes" validate:"dive"`
	Plain string    `validate:"max=3"`
	Skip  string    `json:"-" header:"X-Skip" validate:"max=3"`
}

func TestValidate(t *testing.T) {
	good := signup{Email: "a@example.com", Age: 18}
	bad := good
	bad.Age = 17
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"valid":              {&good, ""},
		"missing":            {&signup{Age: 20}, "email: is required"},
		"two":                {&signup{Email: "x", Age: 3}, "email: must match email; age: must match gte=18"},
		"nested":             {&signup{Email: good.Email, Age: 18, Homes: []address{{"x"}, {}}}, "homes[1].city: is required"},
		"without a tag":      {&signup{Email: good.Email, Age: 18, Plain: "long"}, "Plain: must match max=3"},
		"the tag of another": {&signup{Email: good.Email, Age: 18, Skip: "long"}, "X-Skip: must match max=3"},
		"a slice":            {&[]*signup{&good, &bad, nil}, "[1].age: must match gte=18"},
		"a map":              {&map[string]any{"a": 1}, ""},
		"a number":           {new(int), ""},
		"nil":                {(*signup)(nil), ""},
		"nothing":            {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := New().Validate(t.Context(), tc.value)
			if got := fmt.Sprint(err); err != nil && got != tc.want || err == nil && tc.want != "" {
				t.Errorf("%v, want %q", err, tc.want)
			}
			var list Errors
			if err != nil && !errors.As(err, &list) {
				t.Errorf("%T", err)
			}
		})
	}
}

func Example() {
	app := web.New(web.Config{Validator: New()})
	app.Post("/signup", func(c *web.Ctx) error {
		var s struct {
			Email string `json:"email" validate:"required,email"`
		}
		if err := c.Bind().JSON(&s); err != nil {
			return err
		}
		return c.SendString("welcome")
	})
	for _, body := range []string{`{"email":"gopher@example.com"}`, `{"email":"<script>"}`} {
		request := httptest.NewRequest("POST", "/signup", strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		response, err := app.Test(request)
		if err != nil {
			fmt.Println(err)
			continue
		}
		text, _ := io.ReadAll(response.Body)
		fmt.Println(response.StatusCode, string(text))
	}
	// Output:
	// 200 welcome
	// 422 email: must match email
}
