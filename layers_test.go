package gallop_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The architecture as a table: what each package may import besides the standard
// library. A package that is not in it may not exist. Three laws stand behind it:
//
//  1. Nothing under internal/, negotiate/ or codec/ imports the root.
//  2. Protocol packages do no I/O, start no goroutine and read no clock.
//  3. web, rest and nethttp use what the root and each other export and nothing
//     else of ours, so that anybody could have written them.
//
// Tests may also import the packages in forTests, and the modules that their row permits to tests. Tests of the root may
// import everything, because they test the whole module. A directory with its own go.mod is another module and is not
// checked, unless the table lists it. A permission that no file uses is refused.

const module = "github.com/gallop-http/gallop"

var layers = map[string]layer{
	"internal/ascii":     {},
	"internal/bufpool":   {},
	"internal/callback":  {},
	"internal/clock":     {},
	"internal/conn":      {ours: []string{"internal/bufpool", "internal/clock", "internal/poll"}},
	"internal/cookie":    {ours: []string{"internal/ascii", "internal/clock"}, others: []string{"golang.org/x/net/publicsuffix"}},
	"internal/field":     {ours: []string{"internal/ascii"}, sansIO: true},
	"internal/target":    {ours: []string{"internal/ascii"}, others: []string{"golang.org/x/net/idna"}, sansIO: true},
	"internal/coding":    {ours: []string{"internal/bufpool"}, others: []string{"github.com/klauspost/compress", "github.com/andybalholm/brotli", "github.com/molecule-man/go-brrr"}},
	"internal/message":   {ours: []string{"internal/ascii", "internal/field"}, sansIO: true},
	"internal/dial":      {ours: []string{"internal/ascii", "internal/callback", "internal/http1", "internal/message", "internal/poll", "internal/target"}, others: []string{"golang.org/x/net/http/httpproxy"}},
	"internal/files":     {ours: []string{"internal/ascii", "internal/clock", "internal/mediatype", "internal/target", "negotiate"}},
	"internal/filetree":  {},
	"internal/h2client":  {ours: []string{"internal/bufpool", "internal/clock", "internal/field", "internal/hpack", "internal/http2", "internal/message", "internal/poll"}, tests: []string{"golang.org/x/net/http2"}},
	"internal/hpack":     {ours: []string{"internal/ascii", "internal/bufpool", "internal/field"}, tests: []string{"golang.org/x/net/http2/hpack"}, sansIO: true},
	"internal/http1":     {ours: []string{"internal/ascii", "internal/field", "internal/message", "internal/target"}, sansIO: true},
	"internal/http2":     {ours: []string{"internal/ascii", "internal/bufpool", "internal/field", "internal/hpack", "internal/message", "internal/target"}, tests: []string{"golang.org/x/net/http2"}, sansIO: true},
	"internal/list":      {},
	"internal/load":      {ours: []string{"internal/load/...", "internal/ascii", "internal/field", "internal/hpack", "internal/http1", "internal/http2", "internal/message"}, others: []string{"github.com/HdrHistogram/hdrhistogram-go"}, below: true},
	"internal/mediatype": {},
	"internal/multipart": {ours: []string{"internal/ascii"}, sansIO: true},
	"internal/pagetest":  {},
	"internal/figures":   {},
	"internal/poll":      {ours: []string{"internal/clock"}},
	"internal/pool":      {ours: []string{"internal/callback", "internal/list"}},
	"internal/quota":     {ours: []string{"internal/list"}},
	"internal/testhook":  {ours: []string{"internal/poll"}},
	"internal/wiretest":  {},
	"negotiate":          {ours: []string{"internal/ascii", "internal/mediatype"}},
	"memnet":             {},
	"listen":             {},
	root: {ours: []string{
		"internal/ascii", "internal/bufpool", "internal/callback", "internal/clock", "internal/conn", "internal/cookie", "internal/dial", "internal/field", "internal/files", "internal/filetree", "internal/target",
		"internal/coding", "internal/h2client", "internal/hpack", "internal/http1", "internal/http2", "internal/message", "internal/multipart", "internal/poll", "internal/pool", "internal/quota", "internal/testhook",
	}},
	"galloptest":               {ours: []string{root, "memnet"}},
	"nethttp":                  {ours: []string{root}, others: []string{"golang.org/x/net/http/httpguts"}, tests: []string{"golang.org/x/net/http2"}},
	"expvarhandler":            {ours: []string{root}, others: []string{"expvar"}},
	"pprofhandler":             {ours: []string{root, "nethttp"}},
	"prefork":                  {ours: []string{root, "listen"}},
	"web":                      {ours: []string{root, "negotiate", "nethttp", "codec"}},
	"web/middleware":           {ours: []string{root, "web", "codec"}},
	"web/middleware/storetest": {ours: []string{"web/middleware"}},
	"rest":                     {ours: []string{root, "codec"}, others: []string{"golang.org/x/net/http/httpguts"}},
	"codec":                    {ours: []string{"codec/internal/plainjson", "internal/bufpool"}},
	"codec/internal/plainjson": {},
	"cmd/internal/commandline": {},
	"cmd/gallop":               {ours: []string{"cmd/internal/commandline", "cmd/gallop/internal/..."}, user: true},
	"cmd/gallop/internal":      {ours: []string{"cmd/internal/commandline", "cmd/gallop/internal/..."}, user: true, below: true},
	"cmd/gallop-load":          {ours: []string{"cmd/internal/commandline", "cmd/gallop-load/internal/...", "internal/load/result"}},
	"cmd/gallop-load/internal": {ours: []string{root, "cmd/internal/commandline", "cmd/gallop-load/internal/...", "internal/load/..."}, others: []string{
		"charm.land/bubbletea/v2", "github.com/aclements/go-moremath", "github.com/charmbracelet/x/ansi", "github.com/expr-lang/expr",
		"github.com/goccy/go-yaml", "github.com/klauspost/compress", "golang.org/x/perf", "golang.org/x/term",
	}, below: true},
	"docs": {user: true},

	"test/internal/servertest": {ours: []string{root, "internal/poll", "internal/testhook", "internal/wiretest", "memnet"}, others: []string{"golang.org/x/net/http2", "golang.org/x/net/http2/hpack"}},
	"test/client":              {user: true, ours: []string{"internal/callback", "internal/dial", "internal/target", "test/internal/servertest"}},
	"test/handlers":            {user: true, ours: []string{"internal/coding", "internal/testhook", "test/internal/servertest"}},
	"test/messages":            {user: true, ours: []string{"internal/ascii", "internal/bufpool", "internal/coding", "internal/cookie", "internal/field", "internal/multipart", "test/internal/servertest"}},
	"test/packages":            {user: true, ours: []string{"test/internal/servertest"}},
	"test/readme":              {user: true},
	"test/framing":             {user: true, ours: []string{"test/internal/servertest"}},
	"test/http2":               {user: true, ours: []string{"test/internal/servertest"}, tests: []string{"golang.org/x/net/http2", "golang.org/x/net/http2/hpack"}},
	"test/http2flood":          {user: true, ours: []string{"test/internal/servertest"}, tests: []string{"golang.org/x/net/http2", "golang.org/x/net/http2/hpack"}},
	"test/http2peers":          {user: true, ours: []string{"test/internal/servertest"}, tests: []string{"golang.org/x/net/http2", "golang.org/x/net/http2/hpack"}},
	"test/server":              {user: true, ours: []string{"internal/field", "internal/hpack", "internal/http2", "internal/message", "test/internal/servertest"}},
}

// root is the name of the root package in the table.
const root = "."

// public are the packages that the module's users see.
var public = []string{root, "memnet", "listen", "negotiate", "galloptest", "nethttp", "expvarhandler", "pprofhandler", "prefork", "web", "web/middleware", "web/middleware/storetest", "rest", "codec"}

// forTests are the packages that every test may import.
var forTests = []string{"internal/figures", "internal/pagetest", "internal/wiretest", "memnet", "galloptest", "web/middleware/storetest"}

// ioPackages, and all below them, are not for protocol packages, except for
// netip, which is a value type.
var ioPackages = []string{"net", "os", "time", "log", "syscall", "io/fs", "io/ioutil"}

// registering are packages of the standard library that register handlers with http.DefaultServeMux when they are imported.
var registering = []string{"net/http/pprof", "expvar"}

// httpFree are packages that know no HTTP. No identifier in them speaks of it, and they import nothing of it.
var httpFree = []string{"internal/conn", "internal/pool"}

// httpWords are the words that no identifier of such a package contains, and httpPackages are the packages that it does not
// import.
var (
	httpWords    = regexp.MustCompile(`(?i)http|request|response|header|hijack`)
	httpPackages = []string{"internal/message", "internal/http1", "internal/field", "internal/target", "internal/hpack"}
)

// TestHTTPFree checks that the connections of servers and clients can be read without HTTP.
func TestHTTPFree(t *testing.T) {
	for _, dir := range httpFree {
		names, err := fs.Glob(os.DirFS("."), dir+"/*.go")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(names), err)
		}
		for _, name := range names {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, complaint := range findHTTP(t, name, src) {
				t.Error(complaint)
			}
		}
	}
}

// findHTTP returns the places of a file that speak of HTTP.
func findHTTP(t *testing.T, name string, src []byte) (complaints []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if ours, ok := strings.CutPrefix(imported, module+"/"); ok && slices.Contains(httpPackages, ours) || strings.HasPrefix(imported, "net/http") {
			complaints = append(complaints, fmt.Sprintf("%s imports %s", name, imported))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && httpWords.MatchString(id.Name) {
			complaints = append(complaints, fmt.Sprintf("%s: %s speaks of HTTP", fset.Position(id.Pos()), id.Name))
		}
		return true
	})
	return complaints
}

// TestFindHTTP plants each kind of mistake.
func TestFindHTTP(t *testing.T) {
	for _, src := range []string{
		`import "net/http"`, `import "` + module + `/internal/field"`, `var lastRequest int`, `type t struct{ hijacked bool }`, `func f(HTTP int) {}`,
	} {
		if len(findHTTP(t, "a.go", []byte("package p\n\n"+src))) == 0 {
			t.Errorf("%s is not found", src)
		}
	}
	if found := findHTTP(t, "a.go", []byte("package p\n\n// A request.\nvar head int")); found != nil {
		t.Errorf("found %v", found)
	}
}

// layer is what a package may do.
type layer struct {
	ours   []string // packages of this module; a/... stands for those below a
	others []string // modules of other people, and of the standard library what registers handlers
	tests  []string // modules of other people that only tests may import
	user   bool     // everything public as well, as for the module's users
	sansIO bool     // law 2
	below  bool     // the same holds for all packages below this one
}

func TestLayers(t *testing.T) {
	broken, files, err := checkLayers(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range broken {
		t.Error(complaint)
	}
	if files < 10 {
		t.Errorf("only %d files were looked at", files)
	}
	imports, err := importsOf(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range unusedPermissions(layers, imports) {
		t.Error(complaint)
	}
}

// importsOf returns what the files of each package in the module tree import and need a permission for. Tests are
// included, except those of the root and what every test may import.
func importsOf(tree fs.FS) (imports map[string][]string, err error) {
	imports = map[string][]string{}
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isElsewhere(tree, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			ours, _ := strings.CutPrefix(imported, module+"/")
			if isTest(name) && (path.Dir(name) == root || slices.Contains(forTests, ours)) {
				continue
			}
			imports[path.Dir(name)] = append(imports[path.Dir(name)], imported)
		}
		return nil
	})
	return imports, err
}

// unusedPermissions returns the packages and modules that a row of the table permits, and that no file of the row imports.
func unusedPermissions(layers map[string]layer, imports map[string][]string) (unused []string) {
	for name, rules := range layers {
		var used, usedModules []string
		for dir, paths := range imports {
			if dir != name && !(rules.below && strings.HasPrefix(dir, name+"/")) {
				continue
			}
			for _, imported := range paths {
				if ours, isOurs := strings.CutPrefix(imported+"/", module+"/"); isOurs {
					used = append(used, path.Clean(ours))
				} else {
					usedModules = append(usedModules, imported)
				}
			}
		}
		for _, entry := range rules.ours {
			if !slices.ContainsFunc(used, func(name string) bool { return allows([]string{entry}, name) }) {
				unused = append(unused, fmt.Sprintf("%s does not import %s: remove the permission from the table", name, entry))
			}
		}
		for _, entry := range slices.Concat(rules.others, rules.tests) {
			if !slices.ContainsFunc(usedModules, func(name string) bool { return allowsBelow([]string{entry}, name) }) {
				unused = append(unused, fmt.Sprintf("%s does not import %s: remove the permission from the table", name, entry))
			}
		}
	}
	slices.Sort(unused)
	return unused
}

func TestUnusedPermissions(t *testing.T) {
	table := map[string]layer{
		"a": {ours: []string{"b", "c/..."}, others: []string{"example.com/m"}, tests: []string{"example.com/m/sub"}},
		"d": {ours: []string{"b", "c/..."}, others: []string{"example.com/m"}, tests: []string{"example.com/t"}, below: true},
	}
	imports := map[string][]string{
		"a":   {module + "/b", module + "/c/e", "example.com/m/sub"},
		"d/e": {module + "/bb", "example.com/mm"},
	}
	want := []string{
		"d does not import b: remove the permission from the table",
		"d does not import c/...: remove the permission from the table",
		"d does not import example.com/m: remove the permission from the table",
		"d does not import example.com/t: remove the permission from the table",
	}
	if got := unusedPermissions(table, imports); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// An import that needs no permission does not count as a use of one.
func TestImportsThatNeedAPermission(t *testing.T) {
	file := func(imported string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package p\nimport _ \"" + imported + "\"")}
	}
	imports, err := importsOf(fstest.MapFS{
		"a.go":           file(module + "/internal/http1"),
		"a_test.go":      file(module + "/web"),
		"web/a.go":       file(module + "/memnet"),
		"web/b_test.go":  file(module + "/negotiate"),
		"rest/a_test.go": file(module + "/memnet"),
	})
	want := map[string][]string{root: {module + "/internal/http1"}, "web": {module + "/memnet", module + "/negotiate"}}
	if err != nil || !maps.EqualFunc(imports, want, slices.Equal) {
		t.Errorf("got %q, %v", imports, err)
	}
}

// checkLayers returns what breaks the laws in the module tree, and how many
// files it looked at.
func checkLayers(tree fs.FS) (broken []string, files int, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isElsewhere(tree, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		files++
		complaints, err := checkFile(tree, name)
		broken = append(broken, complaints...)
		return err
	})
	return broken, files, err
}

// isElsewhere reports whether a directory is no part of this module.
func isElsewhere(tree fs.FS, dir string) bool {
	base := path.Base(dir)
	if dir == root {
		return false
	}
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	_, listed := findLayer(dir)
	return err == nil && !listed
}

func checkFile(tree fs.FS, name string) (broken []string, err error) {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	dir := path.Dir(name)
	rules, listed := findLayer(dir)
	if !listed {
		return []string{fmt.Sprintf("%s: package %s is not in the table of layers_test.go", name, dir)}, nil
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if why := rules.refuses(imported, name); why != "" {
			broken = append(broken, fmt.Sprintf("%s: imports %s: %s", name, imported, why))
		}
	}
	if rules.sansIO && !isTest(name) && startsGoroutine(file) {
		broken = append(broken, name+": starts a goroutine: protocol packages do not")
	}
	return broken, nil
}

// findLayer returns the row of the table for the package in dir.
func findLayer(dir string) (rules layer, listed bool) {
	if rules, listed = layers[dir]; listed {
		return rules, true
	}
	for parent := path.Dir(dir); parent != root; parent = path.Dir(parent) {
		if rules, listed = layers[parent]; listed && rules.below {
			return rules, true
		}
	}
	return layer{}, false
}

// refuses returns why the file may not have the import, or "".
func (l layer) refuses(imported, file string) string {
	dir := path.Dir(file)
	ours, isOurs := strings.CutPrefix(imported+"/", module+"/")
	ours = path.Clean(ours)
	switch {
	case imported == "unsafe":
		if base := path.Base(file); base != "unsafe.go" && !strings.HasPrefix(base, "unsafe_") {
			return "that is for the package's unsafe.go"
		}
	case slices.Contains(registering, imported) && !isTest(file) && !slices.Contains(l.others, imported):
		return "it registers handlers with http.DefaultServeMux"
	case isOurs:
		allowed := l.ours
		if l.user {
			allowed = slices.Concat(allowed, public)
		}
		if isTest(file) {
			allowed = slices.Concat(allowed, forTests, []string{dir})
		}
		if !allows(allowed, ours) && !(isTest(file) && dir == root) {
			return "not below it in the table of layers_test.go"
		}
	case isStandard(imported):
		if l.sansIO && !isTest(file) && imported != "net/netip" && allowsBelow(ioPackages, imported) {
			return "protocol packages do no I/O and read no clock"
		}
	case isTest(file) && allowsBelow(l.tests, imported):
	case !allowsBelow(l.others, imported):
		return "no module that this package may depend on"
	}
	return ""
}

// allows reports whether name is in the list or below an entry of it that ends in "/...".
func allows(list []string, name string) bool {
	for _, entry := range list {
		if above, ok := strings.CutSuffix(entry, "..."); ok && strings.HasPrefix(name, above) || entry == name {
			return true
		}
	}
	return false
}

// allowsBelow reports whether name is in the list or below an entry of it.
func allowsBelow(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return strings.HasPrefix(name+"/", entry+"/") })
}

// isStandard reports whether an import path is one of the standard library's:
// their first element has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

func startsGoroutine(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		_, isGo := n.(*ast.GoStmt)
		found = found || isGo
		return !found
	})
	return found
}

// The laws, each broken once.
func TestLayersFindsWhatIsBroken(t *testing.T) {
	ours := func(pkg string) string { return "import _ \"" + module + "/" + pkg + "\"" }
	for _, tc := range []struct {
		name, file, body string
		want             string // part of the complaint; "" if all is well
	}{
		{"downwards", "internal/http1/a.go", ours("internal/field"), ""},
		{"upwards", "internal/field/a.go", ours("internal/http1"), "imports " + module + "/internal/http1"},
		{"sideways", "internal/clock/a.go", ours("internal/bufpool"), "not below it"},
		{"internal imports the root", "internal/http1/a.go", "import _ \"" + module + "\"", "not below it"},
		{"negotiate imports the root", "negotiate/a.go", "import _ \"" + module + "\"", "not below it"},
		{"root imports what stands on it", "a.go", ours("web"), "not below it"},
		{"root imports a leaf", "a.go", ours("internal/http1"), ""},
		{"root imports the testers", "a.go", ours("internal/wiretest"), "not below it"},
		{"a test imports the testers", "internal/http1/a_test.go", ours("internal/wiretest"), ""},
		{"a test imports itself", "internal/http1/a_test.go", ours("internal/http1"), ""},
		{"a test imports another layer", "internal/ascii/a_test.go", ours("internal/http1"), "not below it"},
		{"a test of the root", "a_test.go", ours("web"), ""},
		{"web uses the root", "web/a.go", "import _ \"" + module + "\"", ""},
		{"web uses an internal package", "web/a.go", ours("internal/ascii"), "not below it"},
		{"rest uses an internal package", "rest/a.go", ours("internal/http1"), "not below it"},
		{"nethttp uses more than the root", "nethttp/a.go", ours("negotiate"), "not below it"},
		{"middleware uses the framework", "web/middleware/a.go", ours("web"), ""},
		{"the framework uses middleware", "web/a.go", ours("web/middleware"), "not below it"},
		{"a test of a store", "web/middleware/a_test.go", ours("web/middleware/storetest"), ""},
		{"a store uses its tests", "web/middleware/a.go", ours("web/middleware/storetest"), "not below it"},
		{"the command uses its own", "cmd/gallop/a.go", ours("cmd/gallop/internal/panel"), ""},
		{"the command uses ours", "cmd/gallop/a.go", ours("internal/ascii"), "not below it"},
		{"a part of the command uses another", "cmd/gallop/internal/panel/a.go", ours("cmd/gallop/internal/log"), ""},
		{"a part of the command uses ours", "cmd/gallop/internal/panel/a.go", ours("internal/http1"), "not below it"},
		{"unknown package", "internal/helpers/a.go", "", "is not in the table"},
		{"protocol does I/O", "internal/http1/a.go", `import _ "net"`, "no I/O"},
		{"protocol does I/O below net", "internal/http1/a.go", `import _ "net/http"`, "no I/O"},
		{"protocol reads a file", "internal/target/a.go", `import _ "os"`, "no I/O"},
		{"protocol reads a clock", "internal/field/a.go", `import _ "time"`, "no I/O"},
		{"protocol logs", "internal/field/a.go", `import _ "log/slog"`, "no I/O"},
		{"protocol has an address", "internal/target/a.go", `import _ "net/netip"`, ""},
		{"protocol starts a goroutine", "internal/http1/a.go", "func f() { go f() }", "starts a goroutine"},
		{"a protocol test may", "internal/http1/a_test.go", "import _ \"net/http\"\nfunc f() { go f() }", ""},
		{"others may as well", "internal/poll/a.go", "import _ \"net\"\nfunc f() { go f() }", ""},
		{"profiles at http.DefaultServeMux", "pprofhandler/a.go", `import _ "net/http/pprof"`, "http.DefaultServeMux"},
		{"so for a test", "pprofhandler/a_test.go", `import _ "net/http/pprof"`, ""},
		{"variables at http.DefaultServeMux", "web/a.go", `import _ "expvar"`, "http.DefaultServeMux"},
		{"variables where they belong", "expvarhandler/a.go", `import _ "expvar"`, ""},
		{"unsafe where it belongs", "internal/bufpool/unsafe.go", `import _ "unsafe"`, ""},
		{"unsafe by platform", "internal/poll/unsafe_linux.go", `import _ "unsafe"`, ""},
		{"unsafe elsewhere", "internal/bufpool/a.go", `import _ "unsafe"`, "unsafe.go"},
		{"other people's module", "internal/coding/a.go", `import _ "github.com/klauspost/compress/gzip"`, ""},
		{"other people's module elsewhere", "a.go", `import _ "github.com/klauspost/compress/gzip"`, "no module"},
		{"one whose name begins the same", "internal/coding/a.go", `import _ "github.com/klauspost/compressor"`, "no module"},
		{"one that only tests may import", "internal/hpack/a_test.go", `import _ "golang.org/x/net/http2/hpack"`, ""},
		{"that one elsewhere", "internal/hpack/a.go", `import _ "golang.org/x/net/http2/hpack"`, "no module"},
		{"one in a test", "internal/ascii/a_test.go", `import _ "github.com/stretchr/testify/assert"`, "no module"},
		{"test data", "internal/http1/testdata/a.go", `import _ "net"`, ""},
		{"another module", "elsewhere/a.go", `import _ "github.com/valyala/fasthttp"`, ""},
		{"a module in the table", "cmd/gallop/b.go", ours("internal/field"), "not below it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := fstest.MapFS{
				tc.file:             {Data: []byte("package p\n" + tc.body)},
				"elsewhere/go.mod":  {},
				"cmd/gallop/go.mod": {},
			}
			broken, _, err := checkLayers(tree)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" && len(broken) > 0 || tc.want != "" && (len(broken) != 1 || !strings.Contains(broken[0], tc.want)) {
				t.Errorf("got %q, want %q", broken, tc.want)
			}
		})
	}
}

// testhook is the package through which tests reach the inside of the root.
const testhook = "internal/testhook"

// Only files of the root named testhook.go and testhook_GOOS.go, and packages for tests below test/, import the package
// testhook. The files of the root set its variables and do not read them.
func TestOnlyTestsReadTestHooks(t *testing.T) {
	broken, setters, err := checkTestHooks(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range broken {
		t.Error(complaint)
	}
	if setters == 0 {
		t.Error("no file of the root sets the hooks")
	}
}

// checkTestHooks returns the uses of the package testhook that are not permitted, and how many files set its variables.
func checkTestHooks(tree fs.FS) (broken []string, setters int, err error) {
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isElsewhere(tree, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || isTest(name) || strings.HasPrefix(name, "test/"):
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(file.Imports, func(spec *ast.ImportSpec) bool {
			return spec.Path.Value == strconv.Quote(module+"/"+testhook)
		})
		switch {
		case at < 0:
		case path.Dir(name) != root || name != "testhook.go" && !strings.HasPrefix(name, "testhook_"):
			broken = append(broken, name+": imports "+testhook+": only tests may read the hooks")
		case file.Imports[at].Name != nil:
			broken = append(broken, name+": imports "+testhook+" under another name")
		default:
			setters++
			broken = append(broken, readsOfHooks(name, file)...)
		}
		return nil
	})
	return broken, setters, err
}

// readsOfHooks returns the uses of variables of the package testhook that do not set them.
func readsOfHooks(name string, file *ast.File) (reads []string) {
	set := map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if assign, ok := n.(*ast.AssignStmt); ok && assign.Tok == token.ASSIGN {
			for _, left := range assign.Lhs {
				set[left] = true
			}
		}
		if selector, ok := n.(*ast.SelectorExpr); ok && !set[selector] {
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == path.Base(testhook) {
				reads = append(reads, fmt.Sprintf("%s: reads %s.%s", name, of.Name, selector.Sel.Name))
			}
		}
		return true
	})
	return reads
}

// The law, broken once in each way.
func TestOnlyTestsReadTestHooksFindsWhatIsBroken(t *testing.T) {
	const hook = "import \"" + module + "/" + testhook + "\"\n"
	for _, tc := range []struct {
		name, file, body string
		want             string // part of the complaint; "" if all is well
	}{
		{"the root sets a hook", "testhook.go", hook + "func init() { testhook.F = func() {} }", ""},
		{"on one platform", "testhook_linux.go", hook + "func init() { testhook.F = func() {} }", ""},
		{"the root calls a hook", "testhook.go", hook + "func f() { testhook.F() }", "reads testhook.F"},
		{"the root copies a hook", "testhook.go", hook + "var f = testhook.F", "reads testhook.F"},
		{"a hook changes another", "testhook.go", hook + "func init() { testhook.F = testhook.G }", "reads testhook.G"},
		{"under another name", "testhook.go", "import hooks \"" + module + "/" + testhook + "\"", "another name"},
		{"another file of the root", "server.go", hook + "func init() { testhook.F = nil }", "only tests"},
		{"another package", "web/testhook.go", hook + "func init() { testhook.F = nil }", "only tests"},
		{"a test", "server_test.go", hook + "func f() { testhook.F() }", ""},
		{"a package for tests", "test/internal/servertest/a.go", hook + "func f() { testhook.F() }", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tree := fstest.MapFS{tc.file: {Data: []byte("package p\n" + tc.body)}}
			broken, _, err := checkTestHooks(tree)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" && len(broken) > 0 || tc.want != "" && (len(broken) != 1 || !strings.Contains(broken[0], tc.want)) {
				t.Errorf("got %q, want %q", broken, tc.want)
			}
		})
	}
}
