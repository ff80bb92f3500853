package gallop_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A program can keep everything that a server gives it, and use it when the request is over. So there has to be a test for
// each way in which a server can give away a pointer to its own state. TestEscapes finds all ways in the types of the package,
// and compares them with escapeRows. Each row names a case of TestKeptByHandlers in test/server, or has a reason.
//
// A way starts at Server or RequestHandler, or at a function of the rooms "server" and "handlers". It is one of these:
//
//	RequestCtx.Done          the result of a method or a function
//	RequestCtx.Request       an exported field
//	Server.ErrorHandler(0)   the first argument of a function that the program provides
//
// If the type of a way has exported fields or methods, more ways start there.

// keptBy is the file with the cases.
const keptBy = "test/server/kept_test.go"

// escapeRoots are the types of which every program with a server has a value.
var escapeRoots = []string{"Server", "RequestHandler", "RequestCtx"}

// stateOf are the types whose values belong to the server. Types of the room "server" that lead to one of them do so, too.
var stateOf = []string{"RequestCtx", "exchange", "serverConn"}

// connPackage is the package of the server's connections. A program gets them as values of interfaces.
const connPackage = "/internal/conn"

// escapeRooms are the rooms whose functions give away the state of a server. The interfaces of the rooms in
// apartFromServer never meet a server.
var (
	escapeRooms     = []string{"server", "handlers"}
	apartFromServer = []string{"network", "cookie jar", "client"}
)

// escapes are the ways to the state of a server in one package.
type escapes struct {
	pkg   *types.Package
	state map[*types.TypeName]bool // the types of a server's state, with the parts of a RequestCtx
	memo  map[types.Type]bool
	seen  map[string]bool // types from which ways were followed
	ways  map[string]string
}

// findEscapes returns the ways, each with its type. roomOf returns the name of the room that an object is in.
func findEscapes(pkg *types.Package, roomOf func(types.Object) string) *escapes {
	inServer := func(o types.Object) bool { return slices.Contains(escapeRooms, roomOf(o)) }
	e := &escapes{pkg: pkg, state: map[*types.TypeName]bool{}, memo: map[types.Type]bool{}, seen: map[string]bool{}, ways: map[string]string{}}
	scope := pkg.Scope()
	for _, name := range stateOf {
		if t, ok := scope.Lookup(name).(*types.TypeName); ok {
			e.addParts(t)
		}
	}
	for _, imported := range pkg.Imports() {
		if strings.HasSuffix(imported.Path(), connPackage) {
			e.addConns(imported)
		}
	}
	for grown := true; grown; {
		grown = false
		for _, name := range scope.Names() {
			t, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || t.IsAlias() || name == "Server" || e.state[t] || !inServer(t) {
				continue
			}
			if s, ok := t.Type().Underlying().(*types.Struct); ok && e.leadsToState(s) {
				e.state[t], grown = true, true
			}
		}
	}
	for _, name := range escapeRoots {
		if t, ok := scope.Lookup(name).(*types.TypeName); ok {
			e.follow(t.Type(), name)
		}
	}
	for _, name := range scope.Names() {
		if f, ok := scope.Lookup(name).(*types.Func); ok && f.Exported() && inServer(f) {
			e.function(f.Signature(), name)
		}
	}
	// A stream or a parent context can implement an interface that no signature mentions.
	for _, name := range scope.Names() {
		if t, ok := scope.Lookup(name).(*types.TypeName); ok && t.Exported() && types.IsInterface(t.Type()) && !slices.Contains(apartFromServer, roomOf(t)) {
			e.provided(t.Type(), name)
		}
	}
	return e
}

// addConns adds the types of the package of the server's connections: all of them belong to servers.
func (e *escapes) addConns(conns *types.Package) {
	for _, name := range conns.Scope().Names() {
		if t, ok := conns.Scope().Lookup(name).(*types.TypeName); ok && !types.IsInterface(t.Type()) {
			e.state[t] = true
		}
	}
}

// addParts adds a type, and the types of the fields that are parts of its values.
func (e *escapes) addParts(t *types.TypeName) {
	if t.Pkg() != e.pkg || e.state[t] {
		return
	}
	s, ok := t.Type().Underlying().(*types.Struct)
	if !ok {
		return
	}
	e.state[t] = true
	for field := range s.Fields() {
		if named, ok := field.Type().(*types.Named); ok {
			e.addParts(named.Obj())
		}
	}
}

// leadsToState reports whether a struct has fields that lead to the state of a server through pointers, arrays and the like.
func (e *escapes) leadsToState(s *types.Struct) bool {
	for field := range s.Fields() {
		t := field.Type()
		for elem := t; elem != nil; elem = elemOf(t) {
			t = elem
		}
		if named, ok := t.(*types.Named); ok && e.state[named.Obj()] {
			return true
		}
	}
	return false
}

// elemOf returns the type of what a pointer, slice, array, map or channel holds, and nil for other types.
func elemOf(t types.Type) types.Type {
	if _, named := t.(*types.Named); named {
		return nil
	}
	if t, ok := t.Underlying().(interface{ Elem() types.Type }); ok {
		return t.Elem()
	}
	return nil
}

// carries reports whether a value of type t can hold a pointer to the state of a server. Functions and channels can, and
// so can interfaces that a type of the state implements, and types with such a field or element.
func (e *escapes) carries(t types.Type) bool {
	if known, ok := e.memo[t]; ok {
		return known
	}
	e.memo[t] = false // for types that lead to themselves
	is := e.carriesNow(t)
	e.memo[t] = is
	return is
}

func (e *escapes) carriesNow(t types.Type) bool {
	if named, ok := t.(*types.Named); ok && e.state[named.Obj()] {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Signature, *types.Chan:
		return true
	case *types.Interface:
		return e.implemented(u)
	case *types.Struct:
		if named, ok := t.(*types.Named); ok && isClosed[named.Obj().Pkg().Path()+"."+named.Obj().Name()] {
			return false
		}
		for field := range u.Fields() {
			if e.carries(field.Type()) {
				return true
			}
		}
		return false
	case *types.Map:
		return e.carries(u.Key()) || e.carries(u.Elem())
	case interface{ Elem() types.Type }:
		return e.carries(u.Elem())
	}
	return false
}

// isClosed has types of other packages that hold interfaces or functions, but none that a server gives them.
var isClosed = map[string]bool{
	"crypto/tls.Config": true, "crypto/x509.Certificate": true, "crypto/x509.CertPool": true, "crypto/tls.Certificate": true,
	"log/slog.Logger": true, "os.File": true, "time.Timer": true, "mime/multipart.Form": true, "mime/multipart.FileHeader": true,
	"math/big.Int": true, "net/url.URL": true, "net.TCPAddr": true,
}

// implemented reports whether a type of the state has the methods of an interface.
func (e *escapes) implemented(i *types.Interface) bool {
	for t := range e.state {
		if types.Implements(types.NewPointer(t.Type()), i) {
			return true
		}
	}
	return false
}

// way notes a way, if it is one, and follows its type.
func (e *escapes) way(name string, t types.Type) {
	if e.carries(t) {
		e.ways[name] = types.TypeString(t, types.RelativeTo(e.pkg))
	}
	e.follow(t, name)
}

// follow finds the ways that start at a value of type t.
func (e *escapes) follow(t types.Type, name string) {
	for elem := t; elem != nil; elem = elemOf(t) {
		t = elem
	}
	named, ok := t.(*types.Named)
	if !ok {
		if f, ok := t.(*types.Signature); ok {
			e.function(f, name)
		}
		return
	}
	own := named.Obj().Pkg() == e.pkg
	if own {
		name = named.Obj().Name()
	} else if named.Obj().Pkg() != nil {
		name = named.Obj().Pkg().Name() + "." + named.Obj().Name()
	}
	if e.seen[name] {
		return
	}
	e.seen[name] = true
	if f, ok := t.Underlying().(*types.Signature); ok {
		e.callback(f, name)
		return
	}
	if s, ok := t.Underlying().(*types.Struct); ok && (own || name == "tls.Config") {
		for field := range s.Fields() {
			if field.Exported() {
				e.field(field, name+"."+field.Name())
			}
		}
	}
	if !own {
		return
	}
	for method := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if f, ok := method.Obj().(*types.Func); ok && f.Exported() {
			e.function(f.Signature(), name+"."+f.Name())
		}
	}
}

// field finds the ways through an exported field. A function in a field is one that the program provides.
func (e *escapes) field(field *types.Var, name string) {
	if f, ok := field.Type().Underlying().(*types.Signature); ok {
		if named, ok := field.Type().(*types.Named); ok && named.Obj().Pkg() == e.pkg {
			e.follow(named, name)
		} else {
			e.callback(f, name)
		}
		return
	}
	if types.IsInterface(field.Type()) {
		e.provided(field.Type(), name)
	}
	e.way(name, field.Type())
}

// function finds the ways through a function that the program calls.
func (e *escapes) function(f *types.Signature, name string) {
	for result := range f.Results().Variables() {
		e.way(name, result.Type())
	}
	for param := range f.Params().Variables() {
		t := param.Type()
		if named, ok := t.(*types.Named); ok && named.Obj().Pkg() == e.pkg {
			e.follow(named, name)
		} else if f, ok := t.Underlying().(*types.Signature); ok {
			e.callback(f, name)
		}
	}
}

// callback finds the ways through a function that the program provides.
func (e *escapes) callback(f *types.Signature, name string) {
	i := 0
	for param := range f.Params().Variables() {
		e.way(fmt.Sprintf("%s(%d)", name, i), param.Type())
		i++
	}
}

// provided finds the ways through an interface that a program can implement.
func (e *escapes) provided(t types.Type, name string) {
	for method := range types.NewMethodSet(t).Methods() {
		if f, ok := method.Obj().(*types.Func); ok && f.Exported() {
			e.callback(f.Signature(), name+"."+f.Name())
		}
	}
}

// compareEscapes returns the ways without a row, the rows without a way, and the rows that name an unknown case.
func compareEscapes(ways map[string]string, rows map[string]string, cases []string) (broken []string) {
	for _, way := range slices.Sorted(maps.Keys(ways)) {
		if _, ok := rows[way]; !ok {
			broken = append(broken, fmt.Sprintf("%s, a %s, has no row", way, ways[way]))
		}
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		if _, ok := ways[row]; !ok {
			broken = append(broken, fmt.Sprintf("the row %s is for nothing", row))
		}
		if covered := rows[row]; !strings.HasPrefix(covered, "-") && !slices.Contains(cases, covered) {
			broken = append(broken, fmt.Sprintf("the row %s names the case %q, which is unknown", row, covered))
		}
	}
	return broken
}

// keptCases returns the names of the cases in keptBy.
func keptCases(t *testing.T) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(keptBy), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		key, isIdent := pair.Key.(*ast.Ident)
		value, isText := pair.Value.(*ast.BasicLit)
		if isIdent && isText && key.Name == "name" {
			name, _ := strconv.Unquote(value.Value)
			names = append(names, name)
		}
		return true
	})
	return names
}

func TestEscapes(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	h, _ := parseHouse(string(doc))
	c := checkRoot(t, platform{"linux", false})
	found := findEscapes(c.pkg, func(o types.Object) string {
		if room, known := h.room[filepath.Base(c.fset.Position(o.Pos()).Filename)]; known {
			return h.rooms[room]
		}
		return ""
	})
	for _, complaint := range compareEscapes(found.ways, escapeRows, keptCases(t)) {
		t.Error(complaint)
	}
}

// escapeRows have the case of TestKeptByHandlers for each way. A text that begins with - says why no case is needed.
var escapeRows = map[string]string{
	"Args.All":                                          "request",
	"BodyWriterTo.WriteTo(0)":                           "writer of BodyWriterTo",
	"CompressHandler":                                   "- a function that holds no request",
	"CompressHandlerBrotliLevel":                        "- a function that holds no request",
	"CompressHandlerLevel":                              "- a function that holds no request",
	"CompressHandlerOptions":                            "- a function that holds no request",
	"FSHandler":                                         "- a function that holds no request",
	"FormValueFunc(0)":                                  "context of the form value function",
	"HijackHandler(0)":                                  "connection of a HijackHandler",
	"Logger.Printf(1)":                                  "- texts and numbers",
	"MultipartReader.NextPart":                          "multipart reader",
	"MultipartReader.Parts":                             "multipart reader",
	"NewPathPrefixStripper":                             "- a function that holds no request",
	"NewPathSlashesStripper":                            "- a function that holds no request",
	"NewVHostPathRewriter":                              "- a function that holds no request",
	"Part.Fields":                                       "multipart reader",
	"PathRewriteFunc(0)":                                "context",
	"Request.BodyStream":                                "request body",
	"Request.BodyWriter":                                "request",
	"Request.Context":                                   "- the program's own context",
	"Request.Header":                                    "request",
	"Request.MultipartReader":                           "multipart reader",
	"Request.PostArgs":                                  "request",
	"Request.URI":                                       "request",
	"Request.UserValue":                                 "user value",
	"Request.UserValueBytes":                            "user value",
	"Request.VisitUserValues(1)":                        "user value",
	"Request.VisitUserValuesAll(0)":                     "user value",
	"Request.VisitUserValuesAll(1)":                     "user value",
	"RequestCtx.AcceptStream":                           "accepted stream",
	"RequestCtx.AfterFunc":                              "stop of AfterFunc",
	"RequestCtx.Conn":                                   "connection",
	"RequestCtx.Done":                                   "context",
	"RequestCtx.HijackConn":                             "hijacked connection",
	"RequestCtx.HijackHandler":                          "- the program's own function",
	"RequestCtx.LastTimeoutErrorResponse":               "timeout response",
	"RequestCtx.Logger":                                 "logger",
	"RequestCtx.OnDisconnect":                           "stop of OnDisconnect",
	"RequestCtx.Parent":                                 "parent context",
	"RequestCtx.PostArgs":                               "request",
	"RequestCtx.QueryArgs":                              "request",
	"RequestCtx.Request":                                "request",
	"RequestCtx.RequestBodyStream":                      "request body",
	"RequestCtx.Response":                               "response",
	"RequestCtx.StreamResponse":                         "response stream",
	"RequestCtx.TLSConnectionState":                     "- a copy of what crypto/tls knows",
	"RequestCtx.URI":                                    "request",
	"RequestCtx.UserValue":                              "user value",
	"RequestCtx.UserValueBytes":                         "user value",
	"RequestCtx.Value":                                  "user value",
	"RequestCtx.VisitUserValues(1)":                     "user value",
	"RequestCtx.VisitUserValuesAll(0)":                  "user value",
	"RequestCtx.VisitUserValuesAll(1)":                  "user value",
	"RequestHandler(0)":                                 "context",
	"RequestHeader.All":                                 "request",
	"RequestHeader.AllInOrder":                          "request",
	"RequestHeader.AllTrailers":                         "request",
	"RequestHeader.Cookies":                             "request",
	"RequestHeader.Trailers":                            "request",
	"Response.BodyStream":                               "- the program's own stream",
	"Response.BodyWriter":                               "response",
	"Response.Header":                                   "response",
	"Response.TLSConnectionState":                       "- a copy of what crypto/tls knows",
	"Response.TakeBodyStream":                           "- the program's own stream",
	"ResponseHeader.All":                                "response",
	"ResponseHeader.AllTrailers":                        "response",
	"ResponseHeader.Cookies":                            "response",
	"ResponseHeader.Trailers":                           "response",
	"ServeHandler(0)":                                   "- the connection is not served before",
	"Server.BaseContext(0)":                             "- the program's own listener",
	"Server.ConnContext(0)":                             "parent context",
	"Server.ConnContext(1)":                             "connection of ConnContext",
	"Server.ConnState(0)":                               "connection of ConnState",
	"Server.ContinueHandler(0)":                         "header of HeaderReceived",
	"Server.ErrorHandler(0)":                            "context of the error handler",
	"Server.ExpectHandler(0)":                           "context of the expect handler",
	"Server.HTTP2":                                      "- settings",
	"Server.HeaderReceived(0)":                          "header of HeaderReceived",
	"Server.Logger":                                     "- the program's own logger",
	"Server.Logger.Printf(1)":                           "- texts and numbers",
	"Server.OnListen(0)":                                "- the program's own listener",
	"StreamWriter(0)":                                   "writer of a StreamWriter that panics",
	"TimeoutHandler":                                    "- a function that holds no request",
	"TimeoutWithCodeHandler":                            "- a function that holds no request",
	"URI.QueryArgs":                                     "request",
	"iter.Seq(0)":                                       "- a loop's body, which the program provides",
	"iter.Seq2(0)":                                      "- a loop's body, which the program provides",
	"tls.Config.EncryptedClientHelloRejectionVerify(0)": "- a copy of what crypto/tls knows",
	"tls.Config.GetCertificate(0)":                      "- the socket below TLS, during the handshake",
	"tls.Config.GetClientCertificate(0)":                "- the socket below TLS, during the handshake",
	"tls.Config.GetConfigForClient(0)":                  "- the socket below TLS, during the handshake",
	"tls.Config.GetEncryptedClientHelloKeys(0)":         "- the socket below TLS, during the handshake",
	"tls.Config.KeyLogWriter":                           "- the program's own",
	"tls.Config.Rand":                                   "- the program's own",
	"tls.Config.UnwrapSession(1)":                       "- a copy of what crypto/tls knows",
	"tls.Config.VerifyConnection(0)":                    "- a copy of what crypto/tls knows",
	"tls.Config.WrapSession(0)":                         "- a copy of what crypto/tls knows",
}

// The search, on a package that has one way of each kind, and the comparison, broken once in each direction.
func TestEscapesFindsWhatIsMissing(t *testing.T) {
	const source = `package p

type Server struct {
	Hook     func(c *Conn, n int)
	Handler  RequestHandler
	Observer Observer
	Name     string
}
type RequestHandler func(ctx *RequestCtx)
type Observer interface{ Observe(r Reader, p []byte) }
type Reader interface{ Read(p []byte) int }
type Stringer interface{ String() string }
type Conn struct{ conn *serverConn }
type RequestCtx struct {
	Part Part
	conn *serverConn
	buf  []byte
}
type Part struct{ ctx *RequestCtx }
type Away struct{ n int }
type serverConn struct{ ctx *RequestCtx }
type handle struct{ conns []*serverConn }

func (*handle) Read(p []byte) int                { return 0 }
func (*RequestCtx) Number() int                  { return 0 }
func (*RequestCtx) Bytes() []byte                { return nil }
func (*RequestCtx) Away() *Away                  { return nil }
func (*RequestCtx) hidden() *serverConn          { return nil }
func (*RequestCtx) Stop() func()                 { return nil }
func (*RequestCtx) Done() <-chan struct{}        { return nil }
func (*RequestCtx) Body() Reader                 { return nil }
func (*RequestCtx) Text() Stringer               { return nil }
func (*RequestCtx) All() map[string]struct{ r Reader } { return nil }
func (*RequestCtx) Visit(f func(p *Part) bool)   {}
func (*RequestCtx) Own(c *serverConn)            {}
func (*Part) Again() *Part                       { return nil }
func Wrap(h RequestHandler) RequestHandler       { return h }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("p", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := findEscapes(pkg, func(types.Object) string { return "server" })
	want := []string{"Observer.Observe(0)", "Part.Again", "RequestCtx.All", "RequestCtx.Body", "RequestCtx.Done", "RequestCtx.Part",
		"RequestCtx.Stop", "RequestCtx.Visit(0)", "RequestHandler(0)", "Server.Hook(0)", "Server.Observer.Observe(0)", "Wrap"}
	if got := slices.Sorted(maps.Keys(found.ways)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	rows := map[string]string{"RequestCtx.Done": "context", "RequestCtx.Stop": "unknown", "RequestCtx.Gone": "- no reason"}
	ways := map[string]string{"RequestCtx.Done": "chan struct{}", "RequestCtx.Stop": "func()", "RequestCtx.New": "net.Conn"}
	broken := compareEscapes(ways, rows, []string{"context"})
	wantBroken := []string{"RequestCtx.New, a net.Conn, has no row", "the row RequestCtx.Gone is for nothing",
		`the row RequestCtx.Stop names the case "unknown", which is unknown`}
	if !slices.Equal(broken, wantBroken) {
		t.Errorf("got %q, want %q", broken, wantBroken)
	}
}
