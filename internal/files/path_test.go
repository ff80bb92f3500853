package files

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	for _, tc := range []struct{ name, path, linux, windows string }{ // "" is refused
		{"root", "/", ".", "."},
		{"nothing", "", ".", "."},
		{"file", "/a/b.txt", "a/b.txt", "a/b.txt"},
		{"a slash at the end", "/a/b/", "a/b", "a/b"},
		{"no slash in front", "a/b", "a/b", "a/b"},
		{"slashes", "//a///b//", "", ""},
		{"two slashes", "//", "", ""},
		{"empty segment in front", "//a", "", ""},
		{"empty segment in the middle", "/a//b", "", ""},
		{"empty segment at the end", "/a//", "", ""},
		{"dot", "/a/./b", "", ""},
		{"up", "/a/../b", "", ""},
		{"up at the end", "/a/..", "", ""},
		{"up without a slash", "..", "", ""},
		{"backslash", `/a\b`, "", ""},
		{"up with backslashes", `/..\..\b`, "", ""},
		{"NUL", "/a\x00b", "", ""},
		{"dots in a name", "/..a/b..c/...d", "..a/b..c/...d", "..a/b..c/...d"},

		// The following names are refused on Windows only.
		{"stream", "/a.txt::$DATA", "a.txt::$DATA", ""},
		{"stream of a name", "/a.txt:secret", "a.txt:secret", ""},
		{"stream of a directory", "/dir::$INDEX_ALLOCATION/a", "dir::$INDEX_ALLOCATION/a", ""},
		{"stream of a directory by its index", "/dir:$I30:$INDEX_ALLOCATION/a", "dir:$I30:$INDEX_ALLOCATION/a", ""},
		{"stream without a name", "/a.txt:", "a.txt:", ""},
		{"stream in front", "/:a", ":a", ""},
		{"stream of a dot", "/.:a", ".:a", ""},
		{"stream of dots", "/..:a", "..:a", ""},
		{"stream of dots behind", "/..::$INDEX_ALLOCATION/a", "..::$INDEX_ALLOCATION/a", ""},
		{"drive alone", "/C:", "C:", ""},
		{"drive without a slash in front", "c:/x", "c:/x", ""},
		{"drive and a relative path", "/C:x", "C:x", ""},
		{"drive that is no letter", "/1:/x", "1:/x", ""},
		{"drive", "/C:/x", "C:/x", ""},
		{"dots at the end", "/a.txt...", "a.txt...", ""},
		{"blank at the end", "/a.txt ", "a.txt ", ""},
		{"dots at the end of a directory", "/a./b", "a./b", ""},
		{"three dots", "/...", "...", ""},
		{"dots and a name", "/.../x", ".../x", ""},
		{"dots and a blank", "/.. /x", ".. /x", ""},
		{"a dot and a blank", "/. /x", ". /x", ""},
		{"dots with a blank between", "/. ./x", ". ./x", ""},
		{"blank alone", "/ ", " ", ""},
		{"blanks and dots at the end", "/a.txt . .", "a.txt . .", ""},
		{"hidden file with a dot at the end", "/.env.", ".env.", ""},
		{"UNC", "//server/share/x", "", ""},
		{"UNC with backslashes", `/\\server\share\x`, "", ""},
		{"UNC without a slash in front", `\\server\share`, "", ""},
		{"UNC with both", `/\/server/share`, "", ""},
		{"device namespace", `/\\.\C:\x`, "", ""},
		{"device namespace with slashes", "//./C:/x", "", ""},
		{"file namespace", "//?/C:/x", "", ""},
		{"file namespace, one slash", "/?/C:/x", "?/C:/x", ""},
		{"NT namespace", "/??/C:/x", "??/C:/x", ""},
		{"root of a drive by a backslash", `/\Windows`, "", ""},
		{"device", "/nul", "nul", ""},
		{"device with an extension", "/Con.txt", "Con.txt", ""},
		{"device with a blank and an extension", "/aux .txt", "aux .txt", ""},
		{"device below", "/a/COM1/b", "a/COM1/b", ""},
		{"device with a superscript", "/lpt²", "lpt²", ""},
		{"console", "/conin$", "conin$", ""},
		{"console for output", "/CONOUT$.log", "CONOUT$.log", ""},
		{"clock", "/Clock$", "Clock$", ""},
		{"device with a colon", "/nul:", "nul:", ""},
		{"device with a stream", "/nul:x", "nul:x", ""},
		{"device with two extensions", "/aux.tar.gz", "aux.tar.gz", ""},
		{"device with an empty extension", "/aux.", "aux.", ""},
		{"device with blanks", "/prn  ", "prn  ", ""},
		{"device with blanks and an extension", "/CON  .x", "CON  .x", ""},
		{"device as a directory", "/nul/x", "nul/x", ""},
		{"device as a directory at the end", "/con/", "con", ""},
		{"port zero", "/COM0", "COM0", ""},
		{"port nine", "/lpt9.txt", "lpt9.txt", ""},
		{"port with superscript one", "/COM¹", "COM¹", ""},
		{"port with superscript three", "/com³.x", "com³.x", ""},
		{"short name", "/GIT~1", "GIT~1", ""},
		{"short name in small letters", "/privat~1/x", "privat~1/x", ""},
		{"short name with an extension", "/SECRET~2.TXT", "SECRET~2.TXT", ""},
		{"short name with a hash", "/SE4F2A~1.HTM", "SE4F2A~1.HTM", ""},
		{"short name with a larger number", "/ABC~1234", "ABC~1234", ""},
		{"short name without letters", "/~1", "~1", ""},
		{"short name with two tildes", "/A~B~1.C", "A~B~1.C", ""},
		{"not quite a device", "/com/lpt10/null/console", "com/lpt10/null/console", "com/lpt10/null/console"},
		{"wildcard", "/*.txt", "*.txt", ""},
		{"wildcard for one", "/a?.txt", "a?.txt", ""},
		{"DOS wildcards", "/a<b", "a<b", ""},
		{"DOS wildcards, the other one", "/a>", "a>", ""},
		{"quote", `/a"b`, `a"b`, ""},
		{"pipe", "/a|b", "a|b", ""},
		{"tab", "/a\tb", "a\tb", ""},
		{"line break", "/a\r\n", "a\r\n", ""},
		{"control character", "/a\x1fb", "a\x1fb", ""},

		// Ordinary names are served everywhere.
		{"dot in front", "/.well-known/x", ".well-known/x", ".well-known/x"},
		{"blank in front", "/ a", " a", " a"},
		{"blank inside", "/a b.txt", "a b.txt", "a b.txt"},
		{"device as an extension", "/a.con", "a.con", "a.con"},
		{"device as a part", "/auxiliary/nul-1/a nul", "auxiliary/nul-1/a nul", "auxiliary/nul-1/a nul"},
		{"ports that are none", "/com10/COMx/lpt¼", "com10/COMx/lpt¼", "com10/COMx/lpt¼"},
		{"tilde in front", "/~user", "~user", "~user"},
		{"tilde at the end", "/a~/b.txt~", "a~/b.txt~", "a~/b.txt~"},
		{"too long for a short name", "/version~2/a~1.html", "version~2/a~1.html", "version~2/a~1.html"},
		{"a tilde and a word", "/a~b1", "a~b1", "a~b1"},
		{"beyond ASCII", "/\u00e9\u4e16", "\u00e9\u4e16", "\u00e9\u4e16"},
	} {
		for goos, want := range map[string]string{"linux": tc.linux, "windows": tc.windows} {
			got, ok := nameOn(goos, []byte(tc.path))
			if got != want || ok != (want != "") {
				t.Errorf("%s on %s: %q, %v, want %q", tc.name, goos, got, ok, want)
			}
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, p := range []string{"/a/../b", `\..\`, "//x", "/nul:", "a\x00"} {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, goos := range []string{"linux", "windows"} {
			name, ok := nameOn(goos, p)
			if !ok {
				continue
			}
			if strings.ToValidUTF8(name, "") == name && !fs.ValidPath(name) {
				t.Fatalf("%q: %q is no valid path", p, name)
			}
			if !filepath.IsLocal(name) {
				t.Fatalf("%q: %q is not local", p, name)
			}
		}
	})
}
