package messages_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/internal/wiretest"
)

func TestLoopsYieldTheSame(t *testing.T) {
	var h gallop.RequestHeader
	wiretest.ReadHead(&h, "GET / HTTP/1.1\r\nHost: h\r\nb: 1\r\nA: 2\r\nB: 3\r\nTrailer: T, U\r\n\r\n")
	const want = "Host=h B=1 A=2 B=3 Trailer=T, U "
	var all, inOrder, visited, visitedInOrder strings.Builder
	show := func(b *strings.Builder) func(name, value []byte) {
		return func(name, value []byte) { fmt.Fprintf(b, "%s=%s ", name, value) }
	}
	for name, value := range h.All() {
		show(&all)(name, value)
	}
	for name, value := range h.AllInOrder() {
		show(&inOrder)(name, value)
	}
	h.VisitAll(show(&visited))
	h.VisitAllInOrder(show(&visitedInOrder))
	for how, got := range map[string]string{
		"All": all.String(), "AllInOrder": inOrder.String(), "VisitAll": visited.String(), "VisitAllInOrder": visitedInOrder.String(),
	} {
		if got != want {
			t.Errorf("%s: %s", how, got)
		}
	}
	var trailers []string
	h.VisitAllTrailer(func(name []byte) { trailers = append(trailers, string(name)) })
	if got := strings.Join(trailers, " "); got != "T U" {
		t.Errorf("VisitAllTrailer: %s", got)
	}
}

func TestLoopsCanBeLeft(t *testing.T) {
	var req gallop.RequestHeader
	req.Set("A", "1")
	req.SetCookieBytesK([]byte("c"), "1")
	req.SetCookie("d", "2")
	wiretest.Must(t, req.SetTrailer("T, U"))
	req.Set("T", "1")
	req.Set("U", "2")
	var resp gallop.ResponseHeader
	resp.SetCookie(cookieOf("c", "1", "/"))
	resp.SetCookie(cookieOf("d", "1", "/"))
	n := 0
	for range req.All() {
		n++
		break
	}
	for range req.Cookies() {
		n++
		break
	}
	for range req.Trailers() {
		n++
		break
	}
	for range req.AllTrailers() {
		n++
		break
	}
	for range resp.Cookies() {
		n++
		break
	}
	if n != 5 {
		t.Errorf("%d steps in five loops that were left at once", n)
	}
}
