package rest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/memnet"
	"github.com/gallop-http/gallop/rest"
)

// exampleAPI serves gophers, at http://api.example/.
func exampleAPI() (over rest.Option, stop func()) {
	ln := memnet.NewListener()
	s := &gallop.Server{Handler: func(ctx *gallop.RequestCtx) {
		switch path := string(ctx.Path()); {
		case path == "/gophers" && ctx.QueryArgs().Has("page"):
			ctx.WriteString(`[{"name":"Glenda"}]`)
		case path == "/gophers" && ctx.IsGet():
			ctx.Response.Header.Set("Link", `</gophers?page=2>; rel="next"`)
			ctx.WriteString(`[{"name":"Gordon"},{"name":"Rob"}]`)
		case path == "/gophers/rob%2Fken":
			ctx.WriteString(`{"name":"Rob and Ken"}`)
		case path == "/pictures":
			form, err := ctx.MultipartForm()
			if err != nil || len(form.File["picture"]) != 1 {
				ctx.SetStatusCode(http.StatusBadRequest)
				return
			}
			fmt.Fprintf(ctx, "%s of %s", form.File["picture"][0].Filename, form.Value["of"][0])
		default:
			ctx.SetStatusCode(http.StatusNotFound)
			ctx.WriteString(`{"type":"about:blank","title":"no such gopher"}`)
		}
	}}
	go func() { _ = s.Serve(ln) }()
	return rest.WithClient(&gallop.Client{DialContext: ln.DialContext}), func() { ln.Close() }
}

type gopherNamed struct {
	Name string `json:"name"`
}

func Example() {
	over, stop := exampleAPI()
	defer stop()
	api, err := rest.New("http://api.example/", over, rest.WithAuth(rest.Bearer("token")))
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	gopher, err := rest.Get[gopherNamed](ctx, api, "gophers/{name}", rest.SetPathValue("name", "rob/ken"))
	fmt.Println(gopher.Name, err)

	_, err = rest.Get[gopherNamed](ctx, api, "gophers/{name}", rest.SetPathValue("name", "Ada"))
	var refused *rest.APIError
	if errors.As(err, &refused) {
		fmt.Println(refused.StatusCode, refused.Message)
	}
	// Output:
	// Rob and Ken <nil>
	// 404 no such gopher
}

func ExamplePagesByLink() {
	over, stop := exampleAPI()
	defer stop()
	api, err := rest.New("http://api.example/", over)
	if err != nil {
		panic(err)
	}
	for gopher, err := range rest.PagesByLink[gopherNamed](context.Background(), api, "gophers") {
		fmt.Println(gopher.Name, err)
	}
	// Output:
	// Gordon <nil>
	// Rob <nil>
	// Glenda <nil>
}

func ExampleRequest_AddFile() {
	over, stop := exampleAPI()
	defer stop()
	api, err := rest.New("http://api.example/", over)
	if err != nil {
		panic(err)
	}
	_, err = api.Request().SetForm("of", "Glenda").AddFile("picture", "glenda.png", strings.NewReader("…")).Post("pictures", os.Stdout)
	fmt.Println("", err)
	// Output: glenda.png of Glenda <nil>
}
