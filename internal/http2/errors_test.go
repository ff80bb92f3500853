package http2

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// The name of an error is the name of its variable in snake case.
func TestErrorNames(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		seen++
		name := spec.Names[0].Name
		args := spec.Values[0].(*ast.CallExpr).Args
		got := strings.Trim(args[len(args)-2].(*ast.BasicLit).Value, `"`)
		if want := strings.ReplaceAll(strings.TrimPrefix(name, "Err"), "ID", "Id"); got != snake(want) {
			t.Errorf("%s is called %q", name, got)
		}
		return false
	})
	if seen < 60 {
		t.Errorf("found %d errors", seen)
	}
}

var upper = regexp.MustCompile(`([a-z0-9])([A-Z])`)

func snake(name string) string { return strings.ToLower(upper.ReplaceAllString(name, "${1}_$2")) }

// The type of an error has what metrics accept.
func TestErrorType(t *testing.T) {
	for want, err := range map[string]*Error{
		"conn_protocol_error_preface":               ErrPreface,
		"conn_enhance_your_calm_early_resets":       ErrEarlyResets,
		"stream_refused_stream_refused":             ErrRefused,
		"stream_protocol_error_te":                  ErrTE,
		"conn_protocol_error_stream_id":             ErrStreamID,
		"conn_http_1_1_required_x":                  {HTTP11Required, true, "x", ""},
		"stream_flow_control_error_stream_overflow": ErrStreamOverflow,
	} {
		if got := err.Type(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
