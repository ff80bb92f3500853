package main

import (
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const module = "github.com/gallop-http/gallop/compat/stdtests/"

// imports replaces packages that only the standard library may import. internal/synctest has a public equivalent.
// This module has the required parts of testenv, godebug and nettrace. The remaining packages are copied.
var imports = strings.NewReplacer(
	`"internal/synctest"`, `"testing/synctest"`,
	`"internal/testenv"`, `"`+module+`testenv"`,
	`"internal/godebug"`, `"`+module+`godebug"`,
	`"internal/nettrace"`, `"`+module+`nettrace"`,
	`"net/http/internal"`, `internal "`+module+`chunked"`,
	`"net/http/internal/ascii"`, `"`+module+`ascii"`,
	`"net/http/internal/testcert"`, `"`+module+`testcert"`,
)

// copyTests writes the tests, and the packages that they import, to dir.
func copyTests(src, dir string) {
	http := filepath.Join(src, "net/http")
	copyFiles(http, filepath.Join(dir, "http"), isExternalTest)
	edit := func(name string, edit func(string) string) { write(edit(read(dir, "http", name)), dir, "http", name) }
	edit("clientserver_test.go", withoutHTTP2)
	edit("clientserver_test.go", withNewPath)
	edit("transport_test.go", withoutCancelRequest)
	edit("transport_test.go", withTextOfCanceled)
	edit("transport_test.go", withoutRetried)
	check(os.CopyFS(filepath.Join(dir, "http/testdata"), os.DirFS(filepath.Join(http, "testdata"))))
	useHooks(dir, "http", "http_test")

	// The tests of these two packages are internal, so the packages are copied as well.
	for _, pkg := range []string{"httputil", "httptest"} {
		copyFiles(filepath.Join(http, pkg), filepath.Join(dir, pkg), func(string, string) bool { return true })
		useHooks(dir, pkg, pkg)
	}
	copyFiles(filepath.Join(http, "internal"), filepath.Join(dir, "chunked"), isNoTest)
	copyFiles(filepath.Join(http, "internal/ascii"), filepath.Join(dir, "ascii"), isNoTest)
	copyFiles(filepath.Join(http, "internal/testcert"), filepath.Join(dir, "testcert"), isNoTest)
}

// useHooks makes the tests of a package import the package that sets the hooks.
func useHooks(dir, pkg, name string) {
	write("package "+name+"\n\nimport _ \""+module+"hook\"\n", dir, pkg, "zz_hook_test.go")
}

func copyFiles(from, to string, wanted func(name, text string) bool) {
	names, err := filepath.Glob(filepath.Join(from, "*.go"))
	check(err)
	for _, name := range names {
		if text := read(name); wanted(name, text) {
			write(imports.Replace(text), to, filepath.Base(name))
		}
	}
}

var externalPackage = regexp.MustCompile(`(?m)^package \w+_test$`)

func isExternalTest(name, text string) bool {
	return strings.HasSuffix(name, "_test.go") && externalPackage.MatchString(text)
}

func isNoTest(name, _ string) bool { return !strings.HasSuffix(name, "_test.go") }

// withoutHTTP2 changes the source of the function that runs a test in several modes, so that it skips the HTTP/2
// modes.
func withoutHTTP2(text string) string {
	return withStatement(text, "run", `inner := f; f = func(t T, mode testMode) { if strings.HasPrefix(string(mode), "h2") { t.Skip("HTTP/2") }; inner(t, mode) }`)
}

// withoutCancelRequest changes the source of the cancellation tests, so that those of the deprecated
// Transport.CancelRequest are skipped on gallop's side. gallop lacks this method, so they would never end and stop
// the tests beside them.
func withoutCancelRequest(text string) string {
	return withStatement(text, "runCancelTestTransport", `if os.Getenv("STDTESTS_SIDE") == "client" { t.Skip("Transport.CancelRequest") }`)
}

// withTextOfCanceled changes the source of the cancellation tests, so that they compare the text of an error instead
// of its identity, because gallop has errors of its own.
func withTextOfCanceled(text string) string {
	const identity = "!errors.Is(err, ExportErrRequestCanceled) && !errors.Is(err, ExportErrRequestCanceledConn)"
	return replaced(text, identity, `!strings.Contains(fmt.Sprint(err), "request canceled")`)
}

// withoutRetried changes the source of the retry test, whose log lacks a line from a hook inside net/http's
// Transport. The log of dials, writes and handler calls still shows whether a request was sent again.
func withoutRetried(text string) string {
	return replaced(replaced(text, `logf("Retried.")`, ``), "failure\nRetried.\n", "failure\n")
}

// replaced returns text with every old replaced. It fails if there is none.
func replaced(text, old, by string) string {
	if !strings.Contains(text, old) {
		log.Fatalf("the tests of this release of Go do not have %q", old)
	}
	return strings.ReplaceAll(text, old, by)
}

// withNewPath updates the path in the source of a test that looks for the name of a function in a log.
func withNewPath(text string) string {
	return strings.ReplaceAll(text, `from net/http_test.`, "from "+module+"http_test.")
}

// withStatement returns a source file in which a function begins with the given statement. Lines keep their numbers.
func withStatement(text, name, statement string) string {
	f := findFunc(text, name)
	return text[:f.body] + " " + statement + ";" + text[f.body:]
}
