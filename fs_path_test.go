package gallop

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
			got, ok := fileNameOn(goos, []byte(tc.path))
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
			name, ok := fileNameOn(goos, p)
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

func TestParseSpans(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		want        []byteSpan
		ignore      bool
	}{
		{"first", "bytes=0-0", []byteSpan{{0, 1}}, false},
		{"all", "bytes=0-", []byteSpan{{0, 10}}, false},
		{"last", "bytes=-1", []byteSpan{{9, 1}}, false},
		{"more than there is", "bytes=-11", []byteSpan{{0, 10}}, false},
		{"end beyond the end", "bytes=9-10", []byteSpan{{9, 1}}, false},
		{"unit in capitals", "BYTES=1-2", []byteSpan{{1, 2}}, false},
		{"blanks", "bytes= 1-2\t, 4-4 ", []byteSpan{{1, 2}, {4, 1}}, false},
		{"order as asked", "bytes=8-9,0-1", []byteSpan{{8, 2}, {0, 2}}, false},
		{"neighbours", "bytes=0-4,5-9", []byteSpan{{0, 5}, {5, 5}}, false},
		{"one lies outside", "bytes=0-1,10-", []byteSpan{{0, 2}}, false},
		{"number beyond 64 bits", "bytes=1-99999999999999999999", []byteSpan{{1, 9}}, false},

		{"outside", "bytes=10-", nil, false},
		{"none of the last", "bytes=-0", nil, false},
		{"start beyond 64 bits", "bytes=99999999999999999999-", nil, false},

		{"no unit", "0-1", nil, true},
		{"other unit", "lines=0-1", nil, true},
		{"unit alone", "bytes", nil, true},
		{"empty", "bytes=", nil, true},
		{"dash", "bytes=-", nil, true},
		{"backwards", "bytes=2-1", nil, false},
		{"one of two backwards", "bytes=0-1,5-3", nil, false},
		{"sign", "bytes=+1-2", nil, true},
		{"two dashes", "bytes=--1", nil, true},
		{"blank inside", "bytes=1 -2", nil, true},
		{"blank before the unit's end", "bytes =1-2", nil, true},
		{"overlap", "bytes=0-5,5-6", nil, true},
		{"twice the same", "bytes=0-1,0-1", nil, true},
		{"a good one and a bad one", "bytes=0-1,a", nil, true},
		{"33 ranges", "bytes=20-" + strings.Repeat(",20-", 32), nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			spans, ignore := parseSpans([]byte(tc.value), 10)
			if ignore != tc.ignore || len(spans) != len(tc.want) {
				t.Fatalf("%v, %v", spans, ignore)
			}
			for i := range spans {
				if spans[i] != tc.want[i] {
					t.Errorf("%v, want %v", spans, tc.want)
				}
			}
		})
	}
}

func FuzzParseSpans(f *testing.F) {
	f.Add([]byte("bytes=0-1,-5,7-"), int64(10))
	f.Add([]byte("bytes=9223372036854775807-"), int64(1)<<62)
	f.Fuzz(func(t *testing.T, value []byte, size int64) {
		if size < 0 {
			return
		}
		spans, ignore := parseSpans(value, size)
		if ignore && spans != nil || len(spans) > maxSpans {
			t.Fatalf("%v, %v", spans, ignore)
		}
		total := int64(0)
		for _, s := range spans {
			if s.start < 0 || s.length <= 0 || s.length > size-s.start {
				t.Fatalf("%v of %d", s, size)
			}
			total += s.length
		}
		if total > size {
			t.Fatalf("%v: more than %d", spans, size)
		}
	})
}
