package gallop_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The root is one package, because its types need their methods. Inside, it has rooms. The comment that opens
// doc.go assigns each file to a room. A file may use its own room and the rooms above it in that comment, except
// that client and server do not use each other. A use is an identifier that names a package-level object, a field
// or a method, or a selector that reaches one through an embedded field.

// apart are two rooms that do not use each other, the lower one first.
var apart = [2]string{"client", "server"}

// roomExceptions are the uses that break the law, as "FILE uses NAME". The list is empty: move the thing down instead.
var roomExceptions = []string{}

// conceptWords is how many words the concept of a file may have.
const conceptWords = 5

// house is the table of rooms.
type house struct {
	rooms []string       // from the lowest to the highest
	room  map[string]int // the room of each file, an index of rooms
}

var (
	roomLine = regexp.MustCompile(`^// Room (\d+), ([a-z ]+),`)
	fileLine = regexp.MustCompile(`^//\t([a-z0-9_]+\.go) +(\S.*)$`)
)

// parseHouse reads the table from the comment that opens doc.go.
func parseHouse(doc string) (h house, broken []string) {
	h.room = make(map[string]int)
	for line := range strings.Lines(doc) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "//") {
			break
		}
		if m := roomLine.FindStringSubmatch(line); m != nil {
			h.rooms = append(h.rooms, m[2])
			if m[1] != fmt.Sprint(len(h.rooms)) {
				broken = append(broken, fmt.Sprintf("doc.go: room %s is number %d in the table", m[1], len(h.rooms)))
			}
		}
		m := fileLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if _, twice := h.room[m[1]]; twice {
			broken = append(broken, fmt.Sprintf("doc.go: %s is in the table twice", m[1]))
		}
		if n := len(strings.Fields(m[2])); n > conceptWords {
			broken = append(broken, fmt.Sprintf("doc.go: the concept of %s has %d words, want at most %d", m[1], n, conceptWords))
		}
		if len(h.rooms) == 0 {
			broken = append(broken, fmt.Sprintf("doc.go: %s comes before the first room", m[1]))
			continue
		}
		h.room[m[1]] = len(h.rooms) - 1
	}
	return h, broken
}

// compare returns what the table and the names of the files disagree about.
func (h house) compare(names []string) (broken []string) {
	for _, name := range names {
		if _, listed := h.room[name]; !listed {
			broken = append(broken, name+": not in the table of rooms in doc.go")
		}
	}
	for name := range h.room {
		if !slices.Contains(names, name) {
			broken = append(broken, name+": in the table of rooms in doc.go, but there is no such file")
		}
	}
	slices.Sort(broken)
	return broken
}

// allows reports whether a file of room from may use what a file of room to declares.
func (h house) allows(from, to int) bool {
	return to <= from && (h.rooms[from] != apart[1] || h.rooms[to] != apart[0])
}

// roomUse is a use of an object in another file than the one that declares it.
type roomUse struct {
	file     string // that uses the object
	name     string // of the object
	declared string // the file that declares it
}

func (u roomUse) String() string { return u.file + " uses " + u.name }

// check returns the uses in a package that the house does not allow, in order and each once.
func (h house) check(c *checkedPackage) (broken []roomUse) {
	fileOf := func(pos token.Pos) string { return filepath.Base(c.fset.Position(pos).Filename) }
	note := func(at token.Pos, used types.Object) {
		if used.Pkg() != c.pkg || !isShared(used) {
			return
		}
		use := roomUse{fileOf(at), nameOf(used), fileOf(used.Pos())}
		from, known := h.room[use.file]
		to, alsoKnown := h.room[use.declared]
		if known && alsoKnown && !h.allows(from, to) {
			broken = append(broken, use)
		}
	}
	for ident, used := range c.info.Uses {
		note(ident.Pos(), used)
	}
	for selector, selection := range c.info.Selections {
		for _, embedded := range embeddedIn(selection) {
			note(selector.Sel.Pos(), embedded)
		}
	}
	slices.SortFunc(broken, func(a, b roomUse) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.name, b.name))
	})
	return slices.Compact(broken)
}

// isShared reports whether other files than the one that declares the object can name it: it is an object of the
// package, a method, or a field.
func isShared(used types.Object) bool {
	switch used := used.(type) {
	case *types.PkgName, *types.Label:
		return false
	case *types.Var:
		return used.IsField() || used.Parent() == used.Pkg().Scope()
	case *types.Func:
		return true
	}
	return used.Parent() == used.Pkg().Scope()
}

// nameOf returns the name of the object, for a method with the type that has it.
func nameOf(used types.Object) string {
	method, ok := used.(*types.Func)
	if !ok {
		return used.Name()
	}
	receiver := method.Signature().Recv()
	if receiver == nil {
		return used.Name()
	}
	t := receiver.Type()
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "." + used.Name()
	}
	return used.Name()
}

// embeddedIn returns the embedded fields that the selector passes without naming them.
func embeddedIn(selection *types.Selection) (fields []types.Object) {
	t := selection.Recv()
	for _, i := range selection.Index()[:len(selection.Index())-1] {
		if pointer, ok := t.Underlying().(*types.Pointer); ok {
			t = pointer.Elem()
		}
		structure, ok := t.Underlying().(*types.Struct)
		if !ok {
			break
		}
		fields = append(fields, structure.Field(i))
		t = structure.Field(i).Type()
	}
	return fields
}

func TestRooms(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	h, broken := parseHouse(string(doc))
	names := rootFiles(t)
	broken = append(broken, h.compare(names)...)
	for _, complaint := range broken {
		t.Error(complaint)
	}

	checked := map[string]bool{}
	var uses []roomUse
	for _, on := range platforms {
		c := checkRoot(t, on)
		for _, file := range c.files {
			checked[filepath.Base(c.fset.Position(file.Pos()).Filename)] = true
		}
		if on.goos == runtime.GOOS && len(c.wrong) > 0 {
			// The imports were compiled for this system, so on others there are errors.
			t.Errorf("%s: the package does not type-check: %v", on.goos, c.wrong[0])
		}
		uses = append(uses, h.check(c)...)
	}
	unexcused, needless := excuse(uses, roomExceptions)
	for _, use := range unexcused {
		t.Errorf("%v, which %s declares: room %q may not use room %q",
			use, use.declared, h.rooms[h.room[use.file]], h.rooms[h.room[use.declared]])
	}
	for _, exception := range needless {
		t.Errorf("%q is an exception that nothing needs", exception)
	}
	for _, name := range names {
		if !checked[name] {
			t.Errorf("%s is built on none of the platforms that are checked", name)
		}
	}
}

// excuse returns the uses that are no exceptions, each once, and the exceptions that are no uses.
func excuse(uses []roomUse, exceptions []string) (unexcused []roomUse, needless []string) {
	found := map[string]bool{}
	for _, use := range uses {
		if !found[use.String()] && !slices.Contains(exceptions, use.String()) {
			unexcused = append(unexcused, use)
		}
		found[use.String()] = true
	}
	for _, exception := range exceptions {
		if !found[exception] {
			needless = append(needless, exception)
		}
	}
	return unexcused, needless
}

// The law, broken once in each way.
func TestRoomsFindsWhatIsBroken(t *testing.T) {
	const doc = `// Rooms.
//
// Room 1, base, holds one file.
//
//	low.go  the lowest
//
// Room 2, client, holds one file.
//
//	calls.go  calls
//
// Room 3, server, holds two files.
//
//	serves.go  serving
//	serves_more.go  more
//
// Room 4, handlers, holds one file.
//
//	high.go  the highest

// Package p is documented here.
//
//	notafile.go  because this is another comment
package p
`
	h, broken := parseHouse(doc)
	if len(broken) > 0 || len(h.rooms) != 4 || len(h.room) != 5 {
		t.Fatalf("the table is %+v, complaints %q", h, broken)
	}
	const high = `
func highFunc() {}
type highType struct { highField int; highEmbedded }
type highEmbedded struct{ promoted int }
type highGeneric[T any] struct{ value T }
func (highType) highMethod() {}
func (lowType) lentMethod() {}
type highInterface interface{ asked() }
var highVar highType
const highConst = 1
`
	for _, tc := range []struct {
		name, file, body string
		want             []string
	}{
		{"downwards", "high.go", "func f() { lowFunc(); _ = lowType{lowField: lowConst} }", nil},
		{"its own room", "serves_more.go", "func f() { serve() }", nil},
		{"a local name that a higher room has", "low.go", "func f() { highFunc := 1; _ = highFunc }", nil},
		{"a function", "low.go", "func f() { highFunc() }", []string{"highFunc"}},
		{"a function as a value", "low.go", "var f = highFunc", []string{"highFunc"}},
		{"a type", "low.go", "func f(highType) {}", []string{"highType"}},
		{"a type in an assertion", "low.go", "func f(x any) { _, _ = x.(*highType) }", []string{"highType"}},
		{"a type in a switch", "low.go", "func f(x any) { switch x.(type) { case highType: } }", []string{"highType"}},
		{"a generic type", "low.go", "var g highGeneric[int]", []string{"highGeneric"}},
		{"a method", "low.go", "func f() { here.highMethod() }", []string{"highType.highMethod"}},
		{"a method of its own type that a higher room declares", "low.go", "func f(l lowType) { l.lentMethod() }", []string{"lowType.lentMethod"}},
		{"a method expression", "low.go", "var f = lowType.lentMethod", []string{"lowType.lentMethod"}},
		{"a method of an interface", "low.go", "func f() { asks.asked() }", []string{"highInterface.asked"}},
		{"a field", "low.go", "func f() { here.highField++ }", []string{"highField"}},
		{"a field by key", "low.go", "func f() { _ = alias{highField: 1} }", []string{"highField"}},
		{"a field of a generic type", "low.go", "func f() { _ = generic.value }", []string{"value"}},
		{"a field through an embedded one", "low.go", "func f() { here.promoted++ }", []string{"highEmbedded", "promoted"}},
		{"a variable", "low.go", "func f() { _ = highVar }", []string{"highVar"}},
		{"a constant", "low.go", "const c = highConst", []string{"highConst"}},
		{"client uses server", "calls.go", "func f() { serve() }", []string{"serve"}},
		{"server uses client", "serves.go", "func f() { call() }", []string{"call"}},
		{"handlers use both", "high.go", "func f() { call(); serve() }", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sources := map[string]string{
				"low.go":         "func lowFunc() {}\ntype lowType struct{ lowField int }\nconst lowConst = 1\n",
				"calls.go":       "func call() {}\n",
				"serves.go":      "func serve() {}\n",
				"serves_more.go": "",
				"high.go":        high,
				// Through what is in no room low.go gets hold of values without naming their types.
				"elsewhere.go": "var here highType; type alias = highType; var asks highInterface; var generic highGeneric[int]\n",
			}
			sources[tc.file] += tc.body
			fset := token.NewFileSet()
			var files []*ast.File
			for _, name := range slices.Sorted(maps.Keys(sources)) {
				file, err := parser.ParseFile(fset, name, "package p\n"+sources[name], parser.SkipObjectResolution)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, file)
			}
			c := typeCheck(fset, files, nil)
			if len(c.wrong) > 0 {
				t.Fatal(c.wrong)
			}
			var got []string
			for _, use := range h.check(c) {
				if use.file != tc.file {
					t.Errorf("%v is in another file", use)
				}
				got = append(got, use.name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// The table, broken once in each way.
func TestRoomsFindsWhatIsWrongInTheTable(t *testing.T) {
	const start = "// Room 1, base, holds.\n//\tone.go  a concept\n"
	for _, tc := range []struct{ name, doc, want string }{
		{"all is well", start + "//\ttwo.go  another\n", ""},
		{"a file without a room", start, "two.go: not in the table"},
		{"a row without a file", start + "//\ttwo.go  another\n//\tthree.go  gone\n", "three.go: in the table"},
		{"a file in two rooms", start + "// Room 2, messages, holds.\n//\tone.go  again\n//\ttwo.go  another\n", "one.go is in the table twice"},
		{"a row before the rooms", "//\ttwo.go  early\n" + start, "two.go comes before the first room"},
		{"a wrong number", start + "// Room 3, messages, holds.\n//\ttwo.go  another\n", "room 3 is number 2"},
		{"a concept of six words", start + "//\ttwo.go  more than one can remember well\n", "has 6 words"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, broken := parseHouse(tc.doc)
			broken = append(broken, h.compare([]string{"one.go", "two.go"})...)
			if got := strings.Join(broken, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRoomsFindsNeedlessExceptions(t *testing.T) {
	uses := []roomUse{{file: "low.go", name: "highFunc"}, {file: "low.go", name: "highType"}}
	unexcused, needless := excuse(uses, []string{"low.go uses highFunc", "low.go uses nothing"})
	if len(unexcused) != 1 || unexcused[0] != uses[1] || !slices.Equal(needless, []string{"low.go uses nothing"}) {
		t.Errorf("got %v and %q", unexcused, needless)
	}
}
