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
	want := append(optionalInterfaces(t), "Pusher") // which HTTP/2's ResponseWriter alone has
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

// behind names the interfaces and the methods of ResponseController that stand for a method of a ResponseWriter.
var behind = map[string]string{
	"Flush": "Flusher", "Hijack": "Hijacker", "CloseNotify": "CloseNotifier", "ReadFrom": "io.ReaderFrom", "WriteString": "io.StringWriter", "Push": "Pusher",
	"FlushError": "ResponseController.Flush()", "SetReadDeadline": "ResponseController.SetReadDeadline()",
	"SetWriteDeadline": "ResponseController.SetWriteDeadline()", "EnableFullDuplex": "ResponseController.EnableFullDuplex()",
	"Header": "ResponseWriter.Header()", "Write": "ResponseWriter.Write()", "WriteHeader": "ResponseWriter.WriteHeader()",
}

// optionalInterfaces returns the interfaces that net/http's own ResponseWriter implements beside http.ResponseWriter. Ours has to have the same
// methods and no others.
func optionalInterfaces(t *testing.T) (names []string) {
	t.Helper()
	types := map[string]reflect.Type{}
	for name, start := range map[string]func(*testing.T, http.Handler) string{"net/http": startNetHTTP, "gallop": startGallop} {
		typ := make(chan reflect.Type, 1)
		p := dial(t, start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { typ <- reflect.TypeOf(w) })))
		p.say("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		types[name] = <-typ
	}
	theirs, ours := types["net/http"], types["gallop"]
	for i := range theirs.NumMethod() {
		name := theirs.Method(i).Name
		if behind[name] == "" {
			t.Errorf("net/http's ResponseWriter has the method %s, for which there is no row", name)
		} else if !strings.Contains(behind[name], "(") {
			names = append(names, behind[name])
		}
		if m, ok := ours.MethodByName(name); !ok {
			t.Errorf("our ResponseWriter has no %s", name)
		} else if withoutReceiver(m.Type) != withoutReceiver(theirs.Method(i).Type) {
			t.Errorf("our %s is %v", name, m.Type)
		}
	}
	for i := range ours.NumMethod() {
		if _, ok := theirs.MethodByName(ours.Method(i).Name); !ok {
			t.Errorf("net/http's ResponseWriter has no %s", ours.Method(i).Name)
		}
	}
	return names
}

// withoutReceiver returns the type of a method as text, without its receiver.
func withoutReceiver(f reflect.Type) string {
	_, text, _ := strings.Cut(f.String(), ".response")
	return strings.TrimPrefix(text, ", ")
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
