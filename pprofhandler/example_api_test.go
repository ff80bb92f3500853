package pprofhandler_test

import (
	"fmt"
	"strings"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/pprofhandler"
)

// Profiles below a path of the program's own.
func ExampleHandler() {
	profiles := pprofhandler.Handler("/internal/profiles/")
	h := func(ctx *gallop.RequestCtx) {
		if strings.HasPrefix(string(ctx.Path()), "/internal/profiles") {
			profiles(ctx) // for administrators only
			return
		}
		ctx.WriteString("hello")
	}

	var ctx gallop.RequestCtx
	ctx.Request.SetRequestURI("http://localhost/internal/profiles/goroutine?debug=1")
	h(&ctx)
	text, _, _ := strings.Cut(string(ctx.Response.Body()), ":")
	fmt.Println(text)
	// Output: goroutine profile
}
