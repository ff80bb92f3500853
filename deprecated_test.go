package gallop_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gallop-http/gallop/internal/pagetest"
)

// A field without an effect is marked Deprecated, with the reason, and its documentation says that it has no effect.

// withoutEffect are the exported fields of the root that no code uses.
var withoutEffect = []string{
	"FS.CleanStop",
	"HostClient.SecureErrorLogMessage",
	"PipelineClient.Logger",
	"Server.CloseOnShutdown",
	"Server.DisablePreParseMultipartForm",
	"Server.MaxKeepaliveDuration",
	"Server.ReduceMemoryUsage",
	"Server.SecureErrorLogMessage",
}

// forPrograms reports whether a field that no code of the root uses is there for programs to read, or for HTTP/2,
// which this version does not have.
func forPrograms(name string) bool {
	return name == "PanicError.Stack" || strings.HasPrefix(name, "HTTP2Config.") || strings.HasSuffix(name, ".HTTP2")
}

func TestFieldsWithoutEffectAreDeprecated(t *testing.T) {
	used, declared := map[string]bool{}, map[string]bool{}
	for _, on := range platforms {
		noteFieldUses(checkRoot(t, on), used, declared)
	}
	unused := slices.DeleteFunc(unusedFields(used, declared), forPrograms)
	if !slices.Equal(unused, withoutEffect) {
		t.Errorf("no code uses the fields\n%q, the table has\n%q", unused, withoutEffect)
	}
	deprecated := pagetest.Deprecated(t, root)
	for _, name := range withoutEffect {
		if !deprecated[name] {
			t.Errorf("%s has no effect and is not marked Deprecated", name)
		}
	}
}

// noteFieldUses adds the exported fields of the exported structs to declared, and those that an identifier names to
// used. Errors are ignored, because TestRooms reports them.
func noteFieldUses(c *checkedPackage, used, declared map[string]bool) {
	pkg := c.pkg
	nameOf := map[types.Object]string{}
	for _, name := range pkg.Scope().Names() {
		structure, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		if _, isType := pkg.Scope().Lookup(name).(*types.TypeName); !ok || !isType || !token.IsExported(name) {
			continue
		}
		for field := range structure.Fields() {
			if field.Exported() {
				nameOf[field] = name + "." + field.Name()
				declared[name+"."+field.Name()] = true
			}
		}
	}
	for _, object := range c.info.Uses {
		if name, ok := nameOf[object]; ok {
			used[name] = true
		}
	}
}

// unusedFields returns the declared fields that are not used, in order. A field of a Client or a PipelineClient that is
// not used itself is copied to the HostClient, where it may be used.
func unusedFields(used, declared map[string]bool) (unused []string) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		client, field, _ := strings.Cut(name, ".")
		inHost := "HostClient." + strings.TrimSuffix(field, "PerHost")
		isCopied := (client == "Client" || client == "PipelineClient") && declared[inHost]
		if !used[name] && !(isCopied && used[inHost]) {
			unused = append(unused, name)
		}
	}
	return unused
}

func TestFieldsWithoutEffectAreNoticed(t *testing.T) {
	const src = `package p
type HostClient struct { Name, Logger string; MaxConns, Trace int }
type Client struct { Name, Logger string; MaxConnsPerHost, Own int }
type Error struct { Read, Set, Stack string; hidden int }
type secret struct { Field int }
func f(e Error, h HostClient) any { _ = e.Read; _, _ = h.Name, h.MaxConns; return Error{Set: ""} }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	used, declared := map[string]bool{}, map[string]bool{}
	noteFieldUses(typeCheck(fset, []*ast.File{file}, nil), used, declared)
	want := []string{"Client.Logger", "Client.Own", "Error.Stack", "HostClient.Logger", "HostClient.Trace"}
	if got := unusedFields(used, declared); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// claim is a sentence which says that the name it begins with has no effect at all, or none on calls.
var claim = regexp.MustCompile(`(?:^|[.\n] ?)([A-Z]\w*) (?:has no effect(?: on calls| yet)?|is ignored|is never (?:used|returned))[.,]`)

// claims returns the exported names of a file that are said to have no effect.
func claims(file *ast.File) (names []string) {
	note := func(of, name string, doc *ast.CommentGroup) {
		text := strings.Join(strings.Fields(doc.Text()), " ")
		for _, match := range claim.FindAllStringSubmatch(text, -1) {
			if match[1] == name && token.IsExported(name) {
				names = append(names, of+name)
			}
		}
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			note(pagetest.ReceiverOf(decl), decl.Name.Name, decl.Doc)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						note("", name.Name, spec.Doc)
						note("", name.Name, decl.Doc)
					}
				case *ast.TypeSpec:
					note("", spec.Name.Name, spec.Doc)
					note("", spec.Name.Name, decl.Doc)
					structure, ok := spec.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range structure.Fields.List {
						for _, name := range field.Names {
							note(spec.Name.Name+".", name.Name, field.Doc)
						}
					}
				}
			}
		}
	}
	return names
}

func TestNamesThatHaveNoEffectAreDeprecated(t *testing.T) {
	found := 0
	for _, p := range public {
		deprecated := pagetest.Deprecated(t, p)
		files, err := filepath.Glob(filepath.Join(p, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.DeleteFunc(files, isTest) {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, claimed := range claims(file) {
				if found++; !deprecated[claimed] {
					t.Errorf("%s: %s has no effect and is not marked Deprecated", name, claimed)
				}
			}
		}
	}
	if found < len(withoutEffect) {
		t.Errorf("only %d names are said to have no effect", found)
	}
}

func TestClaimsOfNoEffectAreNoticed(t *testing.T) {
	for _, tc := range []struct {
		doc  string
		want []string
	}{
		{"Logger has no effect.", []string{"T.Logger"}},
		{"Logger has no effect, because calls return errors.", []string{"T.Logger"}},
		{"Logger is a logger. Logger has no effect.", []string{"T.Logger"}},
		{"Logger has no effect on calls.", []string{"T.Logger"}},
		{"Logger has no\n// effect.", []string{"T.Logger"}},
		{"Logger is a logger.\n//\n// Logger is ignored.", []string{"T.Logger"}},
		{"Logger has no effect on Windows.", nil},
		{"Logger is a logger. Without Logger, Level has no effect.", nil},
	} {
		src := "package p\ntype T struct {\n// " + tc.doc + "\nLogger int\n}\n"
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := claims(file); !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.doc, got, tc.want)
		}
	}
}
