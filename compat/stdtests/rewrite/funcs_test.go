package main

import "testing"

func TestWithStatement(t *testing.T) {
	const text = "package p\n\nfunc (a *A) run() {\n\tx()\n}\n\nfunc run[T any](t T) int {\n\treturn 0\n}\n"
	for _, row := range []struct{ name, want string }{
		{"run", "package p\n\nfunc (a *A) run() {\n\tx()\n}\n\nfunc run[T any](t T) int { s;\n\treturn 0\n}\n"},
		{"A.run", "package p\n\nfunc (a *A) run() { s;\n\tx()\n}\n\nfunc run[T any](t T) int {\n\treturn 0\n}\n"},
	} {
		if got := withStatement(text, row.name, "s"); got != row.want {
			t.Errorf("%s: got\n%s", row.name, got)
		}
	}
}

func TestWithHook(t *testing.T) {
	const text = "package p\n\nfunc (s *Server) Serve(ln Listener, a, b string) (int, error) {\n}\n\nfunc (s *Server) Stop(bool) {\n}\n"
	const hook = "if hook := Hooked.ServerServe; hook != nil { if r0, r1, ok := hook(s, ln, a, b); ok { return r0, r1 } }"
	if got, want := withHook(text, "Server.Serve"), withStatement(text, "Server.Serve", hook); got != want {
		t.Errorf("got\n%s", got)
	}
}
