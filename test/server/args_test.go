package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
	"github.com/gallop-http/gallop/test/internal/servertest"
)

func TestServerBoundsArguments(t *testing.T) {
	t.Parallel()
	const tooMany = "gallop: query or form has too many arguments (see Server.MaxFormArgs)"
	for _, tt := range []struct {
		max, query, form int
		want             string
	}{
		{0, 7000, 10_000, "7000 <nil>, 10000 <nil>"},
		{0, 0, 10_001, "0 <nil>, 10000 " + tooMany},
		{3, 3, 3, "3 <nil>, 3 <nil>"},
		{3, 4, 5, "3 " + tooMany + ", 3 " + tooMany},
		{-1, 4, 10_001, "4 <nil>, 10001 <nil>"},
	} {
		t.Run(fmt.Sprint(tt.max, tt.query, tt.form), func(t *testing.T) {
			s := &gallop.Server{MaxFormArgs: tt.max, Handler: func(ctx *gallop.RequestCtx) {
				query, form := ctx.QueryArgs(), ctx.PostArgs()
				fmt.Fprintf(ctx, "%d %v, %d %v", query.Len(), query.Err(), form.Len(), form.Err())
			}}
			body := strings.Repeat("a&", tt.form)
			servertest.OnWires(t, func(t *testing.T, on servertest.Transport) {
				on.Talk(t, s, func(c *wiretest.Conversation) {
					for range 2 {
						c.Send(fmt.Sprintf("POST /?%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"+
							"Content-Length: %d\r\n\r\n%s", strings.Repeat("a&", tt.query), len(body), body)).Want(200)
						c.WantBody(tt.want)
					}
				})
			})
		})
	}
}
