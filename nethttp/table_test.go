package nethttp_test

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop"
	"github.com/gallop-http/gallop/nethttp"
)

// tableRow is a row of the table in docs/design/0006-nethttp.md.
type tableRow struct{ verdict, reason string }

func readTable(t *testing.T) map[string]tableRow {
	t.Helper()
	text, err := os.ReadFile("../docs/design/0006-nethttp.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]tableRow{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\| (.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		if _, twice := rows[m[1]]; twice {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = tableRow{m[2], m[3]}
	}
	return rows
}

// namesOf returns the exported fields and methods of a type, by its name.
func namesOf(typ reflect.Type) (names []string) {
	if typ.Kind() == reflect.Struct {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() {
				names = append(names, typ.Name()+"."+f.Name)
			}
		}
	}
	methods := typ
	if typ.Kind() != reflect.Interface {
		methods = reflect.PointerTo(typ)
	}
	for i := range methods.NumMethod() {
		names = append(names, typ.Name()+"."+methods.Method(i).Name+"()")
	}
	return names
}

// TestTable compares the table of what is there of net/http with net/http's types and with ours.
func TestTable(t *testing.T) {
	rows, tests := readTable(t), testNames(t)
	want := []string{"Flusher", "Hijacker", "CloseNotifier", "Pusher", "io.ReaderFrom", "io.StringWriter"}
	for _, typ := range []reflect.Type{
		reflect.TypeFor[http.Server](), reflect.TypeFor[http.Transport](), reflect.TypeFor[http.Request](),
		reflect.TypeFor[http.ResponseWriter](), reflect.TypeFor[http.ResponseController](),
	} {
		want = append(want, namesOf(typ)...)
	}
	for _, name := range want {
		row, found := rows[name]
		delete(rows, name)
		switch {
		case !found:
			t.Errorf("%s has no row", name)
		case row.verdict == "there":
			checkThere(t, name, row.reason, tests)
		case row.verdict != "different" && row.verdict != "absent" || row.reason == "":
			t.Errorf("%s: %s, %q", name, row.verdict, row.reason)
		case row.verdict == "absent" && isOurs(name):
			t.Errorf("%s is there, and its row says that it is absent", name)
		}
	}
	for name := range rows {
		t.Errorf("net/http has no %s", name)
	}
}

// checkThere checks that a row names a test, and that our type has the field or method if it is one of ours.
func checkThere(t *testing.T, name, reason string, tests string) {
	t.Helper()
	named := regexp.MustCompile("`(Test\\w+)`").FindStringSubmatch(reason)
	if named == nil || !strings.Contains(tests, "func "+named[1]+"(") {
		t.Errorf("%s: %q names no test", name, reason)
	}
	if (strings.HasPrefix(name, "Server.") || strings.HasPrefix(name, "Transport.")) && !isOurs(name) {
		t.Errorf("there is no %s", name)
	}
}

// isOurs reports whether our Server or Transport has the field or method.
func isOurs(name string) bool {
	return slices.Contains(namesOf(reflect.TypeFor[gallop.Server]()), name) || slices.Contains(namesOf(reflect.TypeFor[nethttp.Transport]()), name)
}

// testNames returns the text of the package's tests.
func testNames(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
